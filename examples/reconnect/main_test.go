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
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryEventArrivesOnce(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		`(?m)^10000 events, 0 lost, 0 duplicates, [1-9]\d* reconnects, waited `,
		`attempt 1 in a row, in +\d+ms: .*unexpected (EOF|end of input)`,
		`attempt 1 in a row, in +\d+ms: the server ended the feed`,
		`attempt 1 in a row, in +\d+ms: stream: .*timeout`,
		`attempt \d in a row, in +1\d\d\dms: the server responded 503`,
		`connection refused`,
		`(?m)^recovered [1-9]\d* times, longest outage [1-9]\S*s$`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no match for %s in\n%s", want, &out)
		}
	}
}

func TestAPolicyOfOnesOwn(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-n", "1500", "-policy", "constant d=1ms limit=1000"}, &out); err != nil {
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
	err := run(ctx, []string{"-n", "1000000"}, &out)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "events of 1000000") {
		t.Errorf("got %v", err)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-n", "0"}, "-n is 0"},
		{[]string{"-silence", "0s"}, "-silence is 0s"},
		{[]string{"-policy", "expnential base=1s factor=2"}, "exponential"},
		{[]string{"extra"}, `"extra"`},
		{[]string{"-url", "http://127.0.0.1:1/", "-policy", "constant d=1ms limit=2"}, "limit of 2 retries: 3 failures"},
		{[]string{"-url", "::"}, "missing protocol scheme"},
	} {
		if err := run(t.Context(), test.args, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want it to contain %q", test.args, err, test.want)
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
		l := ledger{numbered: true}
		for _, e := range test.events {
			l.enter(e)
		}
		if err := l.check(2); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want it to contain %q", test.name, err, test.want)
		}
	}
}
