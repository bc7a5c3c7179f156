package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { killed.Main(m, survivor) }

// survivor stores the id of each event.
func survivor(ctx context.Context, e *killed.Effects, args []string) error {
	f := &feed{url: args[0], client: http.DefaultClient}
	e.Start(&f.last)
	return killed.Follow(ctx, e, 500, f.events(time.Second, retry.Default), func(v sse.Event) (int, any) {
		n, _ := strconv.Atoi(v.LastEventID)
		return n, v.LastEventID
	})
}

func TestEvents_Killed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		for n := last + 1; n <= 500; n++ {
			fmt.Fprintf(w, "id: %d\ndata: x\n\n", n)
		}
	}))
	defer server.Close()
	killed.Check(t, "SSE", 10, 40, 500, "0", server.URL)
}
