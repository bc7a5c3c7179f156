package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

func TestEveryEventArrivesOnce(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), 10_000, usual, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		`(?m)^10000 events, 0 lost, 0 duplicates, [1-9]\d* reconnects, waited `,
		`(?m)^the server resets the connection amid an event: retry 1 in \d+ ms, because of: .*(reset|unexpected)`,
		`(?m)^the server falls silent: retry 1 in \d+ ms, because of: stream: .*timeout`,
		`(?m)^the server ends the response: retry 1 in \d+ ms, because of: the server ended the feed`,
		`(?m)^the server closes connections for a while: retry [12] in \d+ ms, because of: .*(refused|EOF|reset)`,
		`(?m)^the server answers 503: retry \d in 1\d\d\d ms, because of: .*: 503 Service Unavailable: try again later`,
		`(?m)^the server ends the response amid an event: retry 1 in \d+ ms, because of: .*unexpected (EOF|end of input)`,
		`(?m)^recovered [1-9]\d* times, longest outage [1-9]\S*s$`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no match for %s in\n%s", want, &out)
		}
	}
}

func TestAPolicyOfOnesOwn(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), 1500, retry.New(backoff.Constant(time.Millisecond), retry.Limit(1000)), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "1500 events, 0 lost") || !strings.Contains(out.String(), "in 1 ms") {
		t.Errorf("got\n%s", &out)
	}
}

func TestCancelEndsItInTheMiddle(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	err := run(ctx, 1_000_000, usual, &out)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "events of 1000000") {
		t.Errorf("got %v", err)
	}
}

// The loop takes the half of event 301 for a whole one, and hangs when the server falls silent.
func TestTheUsualLoopHangs(t *testing.T) {
	var out bytes.Buffer
	check.Must(t, runUsual(t.Context(), 10_000, 5*time.Second, time.Minute, &out))
	if want := "\n600 events, 1 lost, 0 duplicates, 1 half-read: the server falls silent, and the loop has waited for 5s\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s\nwant the end %q", &out, want)
	}
}

func TestTheUsualLoopIsCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var out bytes.Buffer
	if err := runUsual(ctx, 10_000, time.Minute, time.Minute, &out); err != nil || !strings.HasSuffix(out.String(), ": context deadline exceeded\n") {
		t.Errorf("got %v\n%s", err, &out)
	}
}

func TestNoServer(t *testing.T) {
	hasty := retry.New(backoff.Constant(time.Millisecond), retry.Limit(2))
	for url, want := range map[string]string{"http://" + check.Port(t): "limit of 2 retries: 3 failures", "::": "missing protocol scheme"} {
		if err := read(t.Context(), url, func() string { return "there is no server" }, 1, hasty, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to contain %q", url, err, want)
		}
	}
}

func TestTheLedgerFindsWhatIsWrong(t *testing.T) {
	event := func(id, data string) sse.Event { return sse.Event{LastEventID: id, Data: data} }
	for _, test := range []struct {
		name   string
		events []sse.Event
		want   string
	}{
		{"lost", []sse.Event{event("1", `{"n":1}`), event("3", `{"n":3}`)}, "1 lost, 0 duplicates, 0 broken"},
		{"duplicate", []sse.Event{event("1", `{"n":1}`), event("1", `{"n":1}`)}, "0 lost, 1 duplicates, 0 broken"},
		{"broken", []sse.Event{event("1", `{"n":1}`), event("2", `{"n":`)}, "0 lost, 0 duplicates, 1 broken"},
		{"too few", []sse.Event{event("1", `{"n":1}`)}, "1 events of 2"},
	} {
		l := ledger{}
		for _, e := range test.events {
			l.enter(e)
		}
		if err := l.check(2); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want it to contain %q", test.name, err, test.want)
		}
	}
}

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
