// Package eventsource shows faults of launchdarkly/eventsource v1.11.0: a read timeout that begins late, a context
// that does not end the first connection, and goroutines that a read timeout leaves.
//
//  1. "If the stream does not receive new data within this length of time, it will restart the connection"
//     (stream_options.go:55): StreamOptionReadTimeout begins with the body. A server that takes a request and does
//     not answer is waited for, also by a stream that reconnects (stream.go:251). To mend it: cancel the request if
//     its header has not come within the timeout.
//
//  2. With StreamOptionCanRetryFirstConnection(-1), SubscribeWithRequestAndOptions goes on after its request's
//     context has ended (stream.go:151). To mend it: case <-request.Context().Done().
//
//  3. After a read timeout nobody receives what the goroutine that reads lines sends, the error of the connection that
//     is closed (decoder.go:196): one goroutine stays for each. To mend it: a channel for the error with room for one.
package eventsource

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/launchdarkly/eventsource"
)

// run runs a stream for an hour, whose request's context ends after a time. Connections are served, or refused. It
// returns how many there were, and whether the stream has ended before the connections were closed.
func run(t *testing.T, ctxEnds time.Duration, serve func(n int, c net.Conn)) (connections int, ended bool) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var open []net.Conn
		over := false
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			connections++
			if serve == nil {
				return nil, syscall.ECONNREFUSED
			}
			client, server := net.Pipe()
			open = append(open, server)
			go serve(connections, server)
			return client, nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), ctxEnds)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		returned := make(chan struct{})
		go func() {
			defer close(returned)
			stream, err := eventsource.SubscribeWithRequestAndOptions(request,
				eventsource.StreamOptionHTTPClient(&http.Client{Transport: transport}),
				eventsource.StreamOptionReadTimeout(time.Minute),
				eventsource.StreamOptionCanRetryFirstConnection(-1),
				eventsource.StreamOptionErrorHandler(func(error) eventsource.StreamErrorHandlerResult {
					mu.Lock()
					defer mu.Unlock()
					return eventsource.StreamErrorHandlerResult{CloseNow: over}
				}))
			if err != nil {
				return
			}
			for range stream.Events {
			}
		}()
		time.Sleep(time.Hour)
		select {
		case <-returned:
			ended = true
		default:
		}
		mu.Lock()
		over = true
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		cancel()
		<-returned
		transport.CloseIdleConnections()
		time.Sleep(time.Minute)
	})
	return connections, ended
}

func TestReadTimeoutBeforeTheHeader(t *testing.T) {
	connections, _ := run(t, 24*time.Hour, func(n int, c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil && n == 1 {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: event\n\n")
			_ = c.Close()
		}
	})
	if connections == 2 {
		t.Error("the second connection has had no answer for an hour, with a read timeout of a minute; there was no third one")
	}
}

func TestTheContextEndsTheFirstConnection(t *testing.T) {
	if _, ended := run(t, time.Minute, nil); !ended {
		t.Error("the request's context ended an hour ago, while connections were refused, and SubscribeWithRequestAndOptions has not returned")
	}
}

func TestAReadTimeoutLeavesNoGoroutine(t *testing.T) {
	body, silent := io.Pipe()
	defer func() { _ = silent.Close() }()
	decoder := eventsource.NewDecoderWithOptions(body, eventsource.DecoderOptionReadTimeout(time.Millisecond))
	if _, err := decoder.Decode(); err != eventsource.ErrReadTimeout {
		t.Fatal(err)
	}
	_ = body.Close() // as the stream does then
	time.Sleep(time.Second)
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if strings.Contains(string(stacks), "eventsource.newLineStreamChannel.func1(") {
		t.Error("the read has timed out and the body was closed a second ago, and the goroutine that reads lines has not ended")
	}
}
