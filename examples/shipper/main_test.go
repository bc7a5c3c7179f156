package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestNoLineIsLostInEitherStyle(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	// The collector dies at every 150th and 200th line that it receives.
	want := "loop      1000 lines shipped, none lost, over 11 connections\n" +
		"attempts  1000 lines shipped, none lost, over 11 connections\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

func TestStopping(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	noServer := shipper{addr: check.Port(t), lines: []string{"line 1"}}
	if err := noServer.shipLoop(ctx.Done(), nil); err == nil || !strings.Contains(err.Error(), "1 lines to ship") {
		t.Errorf("loop: got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := noServer.shipAttempts(ctx, retry.New(backoff.Default, retry.OnRetry(func(context.Context, retry.Event) { cancel() })))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("attempts: got %v", err)
	}
}

// A shipper stops also while the collector works.
func TestStoppingInTheMiddle(t *testing.T) {
	c, err := startCollector(time.Hour, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	done := make(chan struct{})
	close(done)
	for range 2 {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			t.Fatal(err)
		}
		s := shipper{lines: []string{"line 1", "line 2"}}
		if err := s.ship(conn, done); !errors.Is(err, errStopped) || len(s.lines) != 2 {
			t.Errorf("got %v, and %d lines to ship", err, len(s.lines))
		}
	}
}
