package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/retry"
)

var (
	errBusy      = errors.New("busy")
	errPermanent = errors.New("no such address")
)

// Each job is an operation of the policy. Its hooks are called as in Do, with the job's context.
func TestHooks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	say := func(ctx context.Context, format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("%v: ", ctx.Value(spanKey{}))+fmt.Sprintf(format, args...))
	}
	short := func(d time.Duration) bool { return d >= 0 && d < time.Minute }
	q := open(t, start(t), durable.Config{
		Policy: retry.New(backoff.Constant(time.Millisecond), retry.Limit(2),
			retry.OnRetry(func(ctx context.Context, e retry.Event) { say(ctx, "retry %d", e.N) }),
			retry.OnGiveUp(func(ctx context.Context, e *retry.Error) { say(ctx, "give up after %d", e.Attempts) }),
			retry.OnRecovered(func(ctx context.Context, r retry.Recovery) {
				say(ctx, "recovered after %d, last %v, %t", r.Retries, r.Last, short(r.Down) && r.Down > 0)
			}),
			retry.OnDone(func(ctx context.Context, r retry.Result) {
				say(ctx, "done: %d attempts, %v, %t", r.Attempts, r.Err, short(r.Elapsed) && r.Elapsed > 0)
			})),
		Context: func(ctx context.Context, job *durable.Job) context.Context {
			return context.WithValue(ctx, spanKey{}, job.ID)
		},
	})
	fails := map[string]error{"first": nil, "third": errBusy, "never": errBusy, "permanent": retry.Permanent(errPermanent)}
	for id := range fails {
		put(t, q, "", durable.PutID(id))
	}
	work(t, q, 1, func(_ context.Context, job *durable.Job) error {
		if job.ID == "third" && job.Attempt == 3 {
			return nil
		}
		return fails[job.ID]
	})
	eventually(t, "all jobs have ended", func() bool { c := q.Counts(); return c.Done == 2 && c.Died == 2 })
	want := []string{
		"first: done: 1 attempts, <nil>, true",
		"never: done: 3 attempts, retry: limit of 2 retries: 3 failures in",
		"never: give up after 3",
		"never: retry 1",
		"never: retry 2",
		"permanent: done: 1 attempts, no such address, true",
		"third: done: 3 attempts, <nil>, true",
		"third: recovered after 2, last busy, true",
		"third: retry 1",
		"third: retry 2",
	}
	eventually(t, "all hooks were called", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= len(want) })
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(got)
	for i, s := range got {
		if i >= len(want) || len(s) < len(want[i]) || s[:len(want[i])] != want[i] {
			t.Errorf("got\n%q\nwant\n%q", got, want)
			break
		}
	}
}
