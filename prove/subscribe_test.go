package prove_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/retrywhen/retrywhen/prove"
)

// subscriber gets what comes from when it subscribes on, which it does after so many events, and goes on from there.
func subscriber(s *server, after int) func(context.Context, prove.Run, func(string)) error {
	return func(ctx context.Context, r prove.Run, got func(string)) error {
		for ctx.Err() == nil {
			lines, more := s.read(r.Name)
			if len(lines) >= after {
				break
			}
			select {
			case <-more:
			case <-ctx.Done():
			}
		}
		return client{now: true}.run(ctx, r, got)
	}
}

// connected makes a connection first, and holds it.
func connected(then func(context.Context, prove.Run, func(string)) error) func(context.Context, prove.Run, func(string)) error {
	return func(ctx context.Context, r prove.Run, got func(string)) error {
		var task sync.WaitGroup
		defer task.Wait()
		task.Go(func() {
			_ = client{leaves: true}.run(ctx, prove.Run{Name: "nothing" + r.Name, Addr: r.Addr}, func(string) {})
		})
		return then(ctx, r, got)
	}
}

// Events begin when a program has subscribed. If it does so later, the error says what may be wrong.
func TestCheck_Subscribers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var checks sync.WaitGroup
	for name, test := range map[string]struct {
		client func(context.Context, prove.Run, func(string)) error
		values int
		want   []string // in the error
	}{
		"in time":  {subscriber(s, 0), 6, nil},
		"too late": {connected(subscriber(s, 6)), 0, []string{"the program delivered no value in ", ", although all 6 events were made", "Did it subscribe after the events?"}},
		"one is late": {func() func(context.Context, prove.Run, func(string)) error {
			var runs atomic.Int64
			return func(ctx context.Context, r prove.Run, got func(string)) error {
				if runs.Add(1)%2 == 0 {
					return client{}.run(ctx, r, func(value string) { // as if it were late, which it cannot be on time
						if value > "event 3" {
							got(value)
						}
					})
				}
				return subscriber(s, 0)(ctx, r, got)
			}
		}(), 0, []string{"prove: two undisturbed runs differ: ", "; did it subscribe after the events?"}},
	} {
		checks.Go(func() {
			target := s.target(test.client)
			target.Ways, target.Places = []prove.Way{prove.End}, 1
			checked(t, target, func(report prove.Report, err error) {
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want %s", name, err, want)
					}
				}
				if test.want == nil && (err != nil || report.Values != test.values) {
					t.Errorf("%s: got %v and %+v", name, err, report)
				}
			})
		})
	}
	checks.Wait()
}

// A program that has not subscribed yet when its first connection breaks may have lost the first event for that only.
func TestCheck_FirstEventLost(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	target := s.target(client{now: true}.run)
	target.Ways, target.Places = []prove.Way{prove.Silence}, 1
	checked(t, target, func(report prove.Report, err error) {
		if err != nil || len(report.Findings) != 1 || report.Findings[0].Kind != prove.Lost ||
			!strings.HasPrefix(report.Findings[0].Mend, "does the server keep events for a program that has not subscribed yet?") {
			t.Errorf("got %v and %+v", err, report)
		}
	})
}
