package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
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
