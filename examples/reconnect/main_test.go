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

func TestMain(m *testing.M) { check.Main(m) }

func TestEveryEventArrivesOnce(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), 10_000, usual, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		`(?m)^10000 events, 0 lost, 0 duplicates, [1-9]\d* reconnects, waited `,
		`attempt 1 in a row, in +\d+ms: .*unexpected (EOF|end of input)`,
		`attempt 1 in a row, in +\d+ms: the server ended the feed`,
		`attempt 1 in a row, in +\d+ms: stream: .*timeout`,
		`attempt \d in a row, in +1\d\d\dms: .*: 503 Service Unavailable: try again later`,
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
	if !strings.Contains(out.String(), "1500 events, 0 lost") || !strings.Contains(out.String(), "in     1ms") {
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

func TestNoServer(t *testing.T) {
	hasty := retry.New(backoff.Constant(time.Millisecond), retry.Limit(2))
	for url, want := range map[string]string{"http://" + check.Port(t): "limit of 2 retries: 3 failures", "::": "missing protocol scheme"} {
		if err := read(t.Context(), url, 1, hasty, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
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
