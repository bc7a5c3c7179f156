package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

// The client comes back from every break of its connection, before and in the middle of each of the server's writes.
func TestItComesBack(t *testing.T) {
	policy := operators.ExpBackoff(jitter.Default, 50*time.Millisecond, 8, retry.ResetAfterItems(1))
	reconnecttest.Check(t, func() reconnecttest.Run[string] {
		return reconnecttest.Run[string]{Serve: twelveEvents, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			transport := &http.Transport{DialContext: dial}
			defer transport.CloseIdleConnections()
			feed := feed{url: "http://server/", client: &http.Client{Transport: transport}}
			return feed.events(30*time.Second, policy).ForEach(ctx, func(e sse.Event) { got(e.LastEventID + " " + e.Data) })
		}}
	}, reconnecttest.GivesUp())
}

// twelveEvents serves the events 1 to 12, and then comments.
func twelveEvents(ctx context.Context, l net.Listener) {
	check.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		for n := last + 1; r.Context().Err() == nil; n++ {
			if n <= 12 {
				time.Sleep(100 * time.Millisecond)
				fmt.Fprintf(w, "id: %d\ndata: {\"n\":%[1]d}\n\n", n)
			} else {
				time.Sleep(10 * time.Second)
				fmt.Fprint(w, ":\n\n")
			}
			_ = http.NewResponseController(w).Flush()
		}
	}))
}
