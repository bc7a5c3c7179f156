package retry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// A feed that is stopped from outside ends at once with its last failure, also in a wait. The policy reports that end.
func ExamplePolicy_Around() {
	policy := retry.New(backoff.Constant(time.Hour), retry.OnDone(func(_ context.Context, r retry.Result) {
		fmt.Println("done after", r.Attempts, "attempt:", r.Err)
	}))
	stop := make(chan struct{})
	close(stop)
	handler := policy.Around(func(answers stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return answers.TakeUntilDone(stop)
	})
	err := stream.Fail[int](errors.New("refused")).RetryWhen(handler).ForEach(context.Background(), func(int) {})
	fmt.Println(err)
	// Output:
	// done after 1 attempt: refused
	// refused
}

// A watch that its server ends after a while, with an announcement, is no outage.
func ExamplePlanned() {
	errGoAway := errors.New("GOAWAY")
	policy := retry.New(backoff.Constant(time.Millisecond),
		retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) {
			fmt.Println("attempt", a.N, "ended:", a.Err, "planned:", retry.IsPlanned(a.Err))
		}),
		retry.OnRetry(func(_ context.Context, e retry.Event) { fmt.Println("retry after:", e.Err) }),
		retry.OnDone(func(_ context.Context, r retry.Result) { fmt.Println(r.Attempts, "attempts,", r.Retries, "retry") }))
	run := 0
	watch := stream.Stream[string](func(_ context.Context, yield func(string) bool) error {
		switch run++; {
		case run == 2:
			return errors.New("refused")
		case !yield("event"):
			return nil
		case run == 1:
			return retry.Planned(errGoAway)
		}
		return nil
	})
	_ = watch.RetryWhen(policy).ForEach(context.Background(), func(string) {})
	// Output:
	// attempt 1 ended: GOAWAY planned: true
	// attempt 2 ended: refused planned: false
	// retry after: refused
	// attempt 3 ended: <nil> planned: false
	// 3 attempts, 1 retry
}

// readiness says whether a feed works, for a health check.
type readiness struct {
	now  func() time.Time
	mu   sync.Mutex
	ever bool
	last error // nil while it works
	at   time.Time
}

func (r *readiness) set(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if (r.last == nil) != (err == nil) || !r.ever {
		r.at = r.now()
	}
	r.last, r.ever = err, r.ever || err == nil
}

func (r *readiness) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.ever:
		return fmt.Sprint("never up, ", r.last)
	case r.last != nil:
		return fmt.Sprint("down since ", r.at.UTC().Format(time.TimeOnly), ", ", r.last)
	}
	return fmt.Sprint("up since ", r.at.UTC().Format(time.TimeOnly))
}

// options make a policy report to r. A planned end changes nothing.
func (r *readiness) options() retry.Option {
	return retry.JoinOptions(
		retry.OnWorks(func(context.Context, int) { r.set(nil) }),
		retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) {
			if a.Err != nil && !a.Planned {
				r.set(a.Err)
			}
		}))
}

// A readiness probe.
func ExampleOnWorks() {
	mock := clock.NewMock()
	ready := &readiness{now: mock.Now}
	policy := retry.New(backoff.Constant(0), ready.options())
	run := 0
	feed := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
		fmt.Println(ready)
		run++
		mock.Add(time.Minute)
		switch run {
		case 1, 4:
			return errors.New("refused")
		case 2:
			stream.Works(ctx) // it is connected, and has nothing to deliver
			fmt.Println(ready)
			return retry.Planned(errors.New("GOAWAY"))
		case 3:
			yield(1)
			return errors.New("cut off")
		}
		return nil
	})
	_ = feed.RetryWhen(policy).ForEach(context.Background(), func(int) {})
	fmt.Println(ready)
	// Output:
	// never up, <nil>
	// never up, refused
	// up since 00:02:00
	// up since 00:02:00
	// down since 00:03:00, cut off
	// down since 00:03:00, refused
	// up since 00:05:00
}
