package main

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestEveryJobIsAccountedFor(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), config{5000, time.Second, 32, 500, usual.policy}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		`(?m)^5000 jobs: 4995 done \+ 5 dead = 5000; [1-9]\d{2,} retries in [1-9]`,
		`(?m)^the last dead job: retry: not retryable: \d failures? in .*: 422 Unprocessable Entity: this job makes no sense$`,
		`(?s)the server is down for 1s\n.*the server is back\n.*100 %: 5000 of 5000, 5 dead, 0 waiting`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no match for %s in\n%s", want, &out)
		}
	}
}

// The server is not back before the policy gives up. Those jobs are dead, and none is lost.
func TestAPolicyThatGivesUp(t *testing.T) {
	var out bytes.Buffer
	hasty := retry.New(backoff.Constant(50*time.Millisecond), retry.Limit(2))
	if err := run(t.Context(), config{2000, time.Hour, 32, 100, hasty}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if !regexp.MustCompile(`(?m)^2000 jobs: \d+ done \+ (9\d\d|1\d{3}) dead = 2000;`).Match(out.Bytes()) {
		t.Errorf("want half of the jobs dead, got\n%s", &out)
	}
}

func TestCancelInTheMiddle(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	policy := usual.policy.With(retry.OnRetry(func(context.Context, retry.Event) { cancel() }))
	var out bytes.Buffer
	err := run(ctx, config{1_000_000, time.Hour, 32, 10_000, policy}, &out)
	if !errors.Is(err, context.Canceled) || !regexp.MustCompile(`done \+ dead = \d+, want 1000000`).MatchString(err.Error()) {
		t.Errorf("got %v", err)
	}
	if !regexp.MustCompile(`(?m)^[1-9]\d* jobs abandoned$`).Match(out.Bytes()) {
		t.Errorf("got\n%s", &out)
	}
}

func TestTheLedgerFindsWhatIsWrong(t *testing.T) {
	for want, enter := range map[string]func(l *ledger){
		"done + dead = 1, want 2":                       func(l *ledger) { l.finish(0) },
		"job 1 has ended more than once":                func(l *ledger) { l.finish(1); l.finish(1) },
		"job 0 has ended more than":                     func(l *ledger) { l.finish(0); _ = l.deadLetter(t.Context(), 0, &retry.Error{}) },
		"job 1 is done, but the server has not done it": func(l *ledger) { l.finish(0); l.finish(1) },
	} {
		l := newLedger(2)
		enter(l)
		if err := l.check([]bool{true, false}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
