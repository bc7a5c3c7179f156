package durable

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

func TestHandle(t *testing.T) {
	q := fakeQueue(t, new(server), Config{})
	if q.kinds.any() {
		t.Error("a queue without Handle handles kinds")
	}
	var called string
	handler := func(name string) func(context.Context, *Job) error {
		return func(context.Context, *Job) error { called += name; return nil }
	}
	own := retry.Default.With(retry.Limit(1), retry.AttemptTimeout(time.Hour))
	q.Handle("own", own, handler("own"))
	q.Handle("default", retry.Policy{}, handler("default"))
	q.Handle("untimed", retry.Default, handler("untimed"))
	if k, _ := q.kinds.all.Load("untimed"); k.(kind).policy == retry.Default {
		t.Error("a policy without an AttemptTimeout gets none")
	}
	if !q.kinds.any() {
		t.Error("it handles no kinds")
	}
	for name, want := range map[string]retry.Policy{"own": own, "default": q.config.Policy, "other": q.config.Policy} {
		if q.kindOf(name, nil).policy != want {
			t.Errorf("%s has another policy", name)
		}
	}
	for _, name := range []string{"own", "default", "other"} {
		called = ""
		q.kindOf(name, handler("other")).handler(t.Context(), nil)
		if called != name {
			t.Errorf("%s went to %s", name, called)
		}
	}
	if q.kindOf("other", nil).handler != nil {
		t.Error("a kind without a handler has one")
	}
	for want, handle := range map[string]func(){
		`durable: Handle: kind is "a b", want 1 to 64 letters, digits, - or _`: func() { q.Handle("a b", own, handler("")) },
		`durable: Handle: handler is nil`:                                      func() { q.Handle("new", own, nil) },
		`durable: Handle: kind "own" has a handler already`:                    func() { q.Handle("own", own, handler("")) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panicked with %q, want %q", got, want)
				}
			}()
			handle()
		}()
	}
}

// A success refunds the budget of the job's kind, not that of the queue.
func TestDone_RefundsTheKindsBudget(t *testing.T) {
	s := new(server)
	own, queues := retry.NewBudget(10, 1, 1), retry.NewBudget(10, 1, 1)
	own.Add(-5)
	queues.Add(-5)
	q := fakeQueue(t, s, Config{Policy: retry.Default.With(retry.WithBudget(queues))})
	q.Handle("k", retry.Default.With(retry.WithBudget(own)), noHandler)
	d := deliver(q, s, first, func(d *delivery) { d.state.kind = "k" })
	must(t, q.newJob(d).Done())
	if own.Tokens() != 6 || queues.Tokens() != 5 {
		t.Errorf("the kind's budget has %v tokens, the queue's %v, want 6 and 5", own.Tokens(), queues.Tokens())
	}
}

// A kind that has no handler is handed back for a moment, and logged once a minute.
func TestUnknownKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{})
		const line = "log: a job's kind has no handler here, such jobs are handed back; "
		for _, test := range []struct {
			kind       string
			deliveries uint64
			want       string
			after      time.Duration
		}{
			{"a", 1, line + "nak in 100ms", 0}, {"a", 2, "nak in 200ms", 0}, {"b", 3, line + "nak in 300ms", 59 * time.Second}, {"a", 4, "nak in 300ms", time.Second}, {"a", 900, line + "nak in 300ms", 0},
		} {
			d := deliver(q, s, first, func(d *delivery) { d.state.kind, d.deliveries = test.kind, test.deliveries })
			q.unknownKind(t.Context(), d)
			if got := s.took(); got != test.want {
				t.Errorf("%+v: it did %q", test, got)
			}
			time.Sleep(test.after)
		}
	})
}
