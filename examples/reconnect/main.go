// Reconnect reads 10,000 server-sent events from a server that drops and refuses connections, truncates events and
// falls silent. It loses no event.
//
//	go run ./examples/reconnect
//	go run ./examples/reconnect -policy "exponential base=100ms factor=2 cap=5s jitter=full"
//	go run ./examples/reconnect -url https://example.org/events -n 100
//
// The client consists of a stream of events and a policy that decides when to reconnect.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reconnect:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("reconnect", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints errors
	url := flags.String("url", "", "URL of server-sent events; by default the program starts a flaky server")
	n := flags.Int("n", 10_000, "number of events to read")
	silence := flags.Duration("silence", 500*time.Millisecond, "reconnect when the server sends nothing for this long (30s with -url)")
	text := flags.String("policy", "", "the retry policy, such as \"exponential base=100ms factor=2 cap=5s jitter=full\"")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(out)
		flags.Usage()
		return nil
	case err != nil:
		return fmt.Errorf("%w; -h lists the flags", err)
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q, want only flags", flags.Arg(0))
	case *n <= 0:
		return fmt.Errorf("-n is %d, want at least 1", *n)
	case *silence <= 0:
		return fmt.Errorf("-silence is %v, want more than 0", *silence)
	}

	show := newDisplay(out, *n)
	options := []retry.Option{retry.ResetAfterItems(1), retry.OnRetry(show.retry), retry.OnRecovered(show.recovered)}
	policy := operators.ExpBackoff(jitter.Default, 50*time.Millisecond, 8, options...)
	if *text != "" {
		var err error
		if policy, err = retry.Parse(*text, options...); err != nil {
			return fmt.Errorf("-policy: %w", err)
		}
	}

	feed := feed{url: *url, client: &http.Client{}}
	defer feed.client.CloseIdleConnections()
	ledger := ledger{}
	if *url == "" {
		server, err := startFlaky(*n)
		if err != nil {
			return err
		}
		defer server.close()
		feed.url, ledger.numbered = server.url(), true
	} else if !given(flags, "silence") {
		*silence = 30 * time.Second
	}

	show.printf("reading %d events from %s\n", *n, feed.url)
	began := time.Now()
	err := feed.events(*silence, policy).
		Take(*n).
		ForEach(ctx, func(e sse.Event) {
			ledger.enter(e)
			show.event(ledger.events)
		})
	show.summary(ledger, time.Since(began))
	return errors.Join(err, ledger.check(*n))
}

func given(flags *flag.FlagSet, name string) (yes bool) {
	flags.Visit(func(f *flag.Flag) { yes = yes || f.Name == name })
	return yes
}

// ledger counts the events of the stream.
type ledger struct {
	events     int
	numbered   bool // the ids are 1, 2, 3 …, so lost events and duplicates can be detected
	last       int
	lost       int
	duplicates int
	broken     int
}

func (l *ledger) enter(e sse.Event) {
	l.events++
	if !l.numbered {
		return
	}
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
