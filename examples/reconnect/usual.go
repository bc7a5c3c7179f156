package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"
)

// usualLoop is the loop of docs/recipes.md for server-sent events, with all its bugs: it does not notice silence, takes
// half an event for a whole one, spins when the server ends the response, never resets its delay and cannot be
// cancelled.
func usualLoop(client *http.Client, url string, handle func(sse.Event)) error {
	last, delay := 0, time.Second
	for {
		request, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Last-Event-ID", strconv.Itoa(last))
		response, err := client.Do(request)
		if err != nil {
			time.Sleep(delay)
			if delay *= 2; delay > time.Hour {
				return err
			}
			continue
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				last++
				handle(sse.Event{LastEventID: strconv.Itoa(last), Data: data})
			}
		}
		response.Body.Close()
		if lines.Err() != nil {
			time.Sleep(delay)
			delay *= 2
		}
	}
}

// runUsual lets the usual loop read n events from a flaky server. It ends when they have come, after most, or when none
// has come for quiet: then the loop hangs.
func runUsual(ctx context.Context, n int, quiet, most time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	server, err := startFlaky(n)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the usual loop reads %d events from %s\n", n, server.url)

	events, ended := make(chan sse.Event), make(chan struct{})
	go func() {
		defer close(ended)
		_ = usualLoop(&http.Client{Transport: untilDone{ctx}}, server.url, func(e sse.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
	}()
	defer func() { // the loop ends at its next request
		cancel()
		server.close()
		<-ended
	}()

	l, why := ledger{}, "all have come"
	hang := time.NewTimer(quiet)
	defer hang.Stop()
	for l.last < n && why == "all have come" {
		select {
		case e := <-events:
			l.enter(e)
			hang.Reset(quiet)
		case <-hang.C:
			why = server.playing() + ", and the loop has waited for " + quiet.String()
		case <-ctx.Done():
			why = context.Cause(ctx).Error()
		}
	}
	fmt.Fprintf(out, "%d events, %d lost, %d duplicates, %d half-read: %s\n", l.events-l.broken, l.lost, l.duplicates, l.broken, why)
	return nil
}

// untilDone is the default transport, which ends the goroutine of the caller once ctx has ended: nothing else ends the
// usual loop.
type untilDone struct{ ctx context.Context }

func (u untilDone) RoundTrip(r *http.Request) (*http.Response, error) {
	if u.ctx.Err() != nil {
		runtime.Goexit()
	}
	return http.DefaultTransport.RoundTrip(r)
}
