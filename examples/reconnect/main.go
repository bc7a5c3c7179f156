// Reconnect reads 10,000 server-sent events from a server that drops and refuses connections, truncates events and
// falls silent. It loses no event.
//
//	go run ./examples/reconnect
//	go run ./examples/reconnect --usual-loop    # the loop of docs/recipes.md against the same server
//
// The client consists of a stream of events and a policy that decides when to reconnect.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/examples/internal/program"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
)

func main() {
	if len(os.Args) == 2 && strings.TrimLeft(os.Args[1], "-") == "usual-loop" {
		program.Main("reconnect", nil, func(ctx context.Context, out io.Writer) error {
			return runUsual(ctx, 10_000, 30*time.Second, 100*time.Second, out)
		})
	}
	program.Main("reconnect", os.Args[1:], func(ctx context.Context, out io.Writer) error { return run(ctx, 10_000, usual, out) })
}

// silence is how long the server may send nothing. Against a real server it would be half a minute.
const silence = 500 * time.Millisecond

var usual = operators.ExpBackoff(jitter.Default, 50*time.Millisecond, 8, retry.ResetAfterItems(1))

// run starts a flaky server and reads n events from it.
func run(ctx context.Context, n int, policy retry.Policy, out io.Writer) error {
	server, err := startFlaky(n)
	if err != nil {
		return err
	}
	defer server.close()
	return read(ctx, server.url, server.playing, n, policy, out)
}

// read reads n events from the server at url, and checks that each of them comes once.
func read(ctx context.Context, url string, playing func() string, n int, policy retry.Policy, out io.Writer) error {
	feed := feed{url: url, client: &http.Client{}}
	defer feed.client.CloseIdleConnections()
	ledger, retries, recoveries := ledger{}, 0, 0
	var waited, longest time.Duration
	policy = policy.With(retry.OnRetry(func(_ context.Context, e retry.Event) {
		retries++
		waited += e.Delay
		fmt.Fprintf(out, "%s: retry %d in %d ms, because of: %v\n", playing(), e.N, e.Delay.Milliseconds(), e.Err)
	}), retry.OnRecovered(func(_ context.Context, r retry.Recovery) {
		recoveries++
		longest = max(longest, r.Down)
	}))
	fmt.Fprintf(out, "reading %d events from %s\n", n, feed.url)
	began := time.Now()
	err := feed.events(silence, policy).Take(n).ForEach(ctx, func(e sse.Event) {
		if ledger.enter(e); ledger.events%1000 == 0 {
			fmt.Fprintf(out, "%d events\n", ledger.events)
		}
	})
	took := time.Since(began)
	fmt.Fprintf(out, "recovered %d times, longest outage %v\n", recoveries, longest.Round(time.Millisecond))
	fmt.Fprintf(out, "%d events, %d lost, %d duplicates, %d reconnects, waited %v of %v\n", ledger.events, ledger.lost, ledger.duplicates,
		retries, min(waited, took).Round(time.Millisecond), took.Round(time.Millisecond)) // the last wait may have been cut off
	return errors.Join(err, ledger.check(n))
}

// ledger counts the events of the stream.
type ledger struct {
	events     int
	last       int // the ids are 1, 2, 3 …
	lost       int
	duplicates int
	broken     int
}

func (l *ledger) enter(e sse.Event) {
	l.events++
	id, err := strconv.Atoi(e.LastEventID)
	switch {
	case err != nil || e.Data != fmt.Sprintf(`{"n":%d}`, id):
		l.broken++
	case id <= l.last:
		l.duplicates++
	default:
		l.lost += id - l.last - 1
		l.last = id
	}
}

// check returns an error unless there are n events in order, each once and complete.
func (l *ledger) check(n int) error {
	if l.events != n || l.lost+l.duplicates+l.broken > 0 {
		return fmt.Errorf("%d events of %d: %d lost, %d duplicates, %d broken", l.events, n, l.lost, l.duplicates, l.broken)
	}
	return nil
}
