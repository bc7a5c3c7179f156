// Package main reads a feed from a server that breaks every connection, as a service would: docs/tutorial.md.
package main

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// serve sends a number each 100 ms, from the one after the position, and resets the connection after three.
func serve(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	for id := after + 1; id <= after+3; id++ {
		time.Sleep(100 * time.Millisecond)
		fmt.Fprintln(w, id)
		_ = http.NewResponseController(w).Flush()
	}
	panic(http.ErrAbortHandler)
}

// connect is one connection, without any retry.
func connect(url string, last int) stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint(url, "?after=", last), nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return retryhttp.NewStatusError(resp)
		}
		stream.Works(ctx)
		for lines := json.NewDecoder(resp.Body); ; {
			var id int
			if err := lines.Decode(&id); err != nil || !yield(id) {
				return err
			}
		}
	}
}

var retries = expvar.NewInt("feed.retries") // a metric, on /debug/vars of a server with http.DefaultServeMux

var reconnect = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal),
	retry.ResetAfterItems(1), retry.ResetAfter(time.Minute), retry.Name("feed"), retry.Log(nil),
	retry.OnRetry(func(context.Context, retry.Event) { retries.Add(1) }))

// feed continues after last until ctx ends.
func feed(url string, last int) stream.Stream[int] {
	open := func(last int) stream.Stream[int] {
		return connect(url, last).Timeout(time.Minute).MustNotEnd(io.ErrUnexpectedEOF)
	}
	return operators.Resume(last, open, func(_, id int) int { return id }, reconnect)
}

// run handles the feed. It returns nil if ctx has ended.
func run(ctx context.Context, url string, handle func(context.Context, int) error) error {
	err := feed(url, 0).TryForEach(ctx, handle)
	if err != nil && ctx.Err() == nil {
		return err // of handle: the policy has no limit
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := httptest.NewServer(http.HandlerFunc(serve))
	defer server.Close()
	if err := run(ctx, server.URL, func(_ context.Context, id int) error { fmt.Println("event", id); return nil }); err != nil {
		log.Print(err)
	}
}
