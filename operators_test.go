package retrywhen_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// numbered is a numbered feed that continues where it stopped, in attempts of the given numbers of items. It records
// when they began.
type numbered struct {
	perAttempt []int
	total      int
	next       int
	now        func() time.Time
	began      []time.Time
}

var errCut = errors.New("connection reset")

func (f *numbered) stream() stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		now := time.Now
		if f.now != nil {
			now = f.now
		}
		items := f.total
		if run := len(f.began); run < len(f.perAttempt) {
			items = f.perAttempt[run]
		}
		f.began = append(f.began, now())
		for range items {
			if f.next == f.total {
				return nil
			}
			v := f.next
			f.next++
			if !yield(v) {
				return nil
			}
		}
		if f.next == f.total {
			return nil
		}
		return errCut
	}
}

// waits returns the times between attempts.
func (f *numbered) waits() (waits []time.Duration) {
	for i := 1; i < len(f.began); i++ {
		waits = append(waits, f.began[i].Sub(f.began[i-1]))
	}
	return waits
}

func counting(n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = i
	}
	return v
}

func TestMain(m *testing.M) { check.Main(m) }

func TestExpBackoffWaitsDelayTimesRetriesSquared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := numbered{perAttempt: []int{1, 1, 1}, total: 10}
		got, err := f.stream().RetryWhen(operators.ExpBackoff(jitter.None, time.Second, 3)).Collect(t.Context())
		if err != nil || !slices.Equal(got, counting(10)) {
			t.Errorf("got %v, %v", got, err)
		}
		if want := []time.Duration{1e9, 4e9, 9e9}; !slices.Equal(f.waits(), want) {
			t.Errorf("waited %v, want %v", f.waits(), want)
		}
	})
}

func TestExpBackoffGivesUpWithTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		runs := 0
		_, err := stream.Defer(func(context.Context) stream.Stream[int] {
			runs++
			return stream.Fail[int](fmt.Errorf("run %d: %w", runs, errCut))
		}).RetryWhen(operators.ExpBackoff(jitter.None, time.Second, 3)).Collect(t.Context())
		if !errors.Is(err, retry.ErrExhausted) || !errors.Is(err, errCut) || runs != 4 || time.Since(start) != 14*time.Second {
			t.Errorf("got %v after %d runs and %v; want it exhausted after 4 runs and 14s", err, runs, time.Since(start))
		}
		if want := "retry: limit of 3 retries: 4 failures in 14s: run 4: connection reset"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	})
}

func TestExpBackoffOnAMockClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		f := numbered{perAttempt: []int{3, 0, 4}, total: 10, now: mock.Now}
		ctx := stream.WithClock(t.Context(), mock)
		values, errs := f.stream().RetryWhen(operators.ExpBackoff(jitter.None, time.Second, 3)).Chans(ctx, 10)
		for range 14 {
			synctest.Wait()
			mock.Add(time.Second)
		}
		var got []int
		for v := range values {
			got = append(got, v)
		}
		if err := <-errs; err != nil || !slices.Equal(got, counting(10)) {
			t.Errorf("got %v, %v", got, err)
		}
		if want := []time.Duration{1e9, 4e9, 9e9}; !slices.Equal(f.waits(), want) {
			t.Errorf("waited %v, want %v", f.waits(), want)
		}
	})
}

func TestJitterSpreadsEveryWait(t *testing.T) {
	for u, want := range map[float64][]time.Duration{
		0:    {850 * time.Millisecond, 3400 * time.Millisecond},
		0.5:  {time.Second, 4 * time.Second},
		0.75: {1075 * time.Millisecond, 4300 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(u), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := numbered{perAttempt: []int{0, 0}, total: 1}
				p := operators.ExpBackoff(jitter.Default, time.Second, 3, retry.WithRand(func() float64 { return u }))
				if _, err := f.stream().RetryWhen(p).Collect(t.Context()); err != nil {
					t.Error(err)
				}
				if !slices.Equal(f.waits(), want) {
					t.Errorf("waited %v, want %v", f.waits(), want)
				}
			})
		})
	}
}

func TestAReconnectingFeedLosesAndDoublesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		per := make([]int, 500)
		for i := range per {
			per[i] = i * 7 % 11
		}
		f := numbered{perAttempt: per, total: 2000}
		p := operators.ExpBackoff(jitter.Default, time.Second, 3, retry.ResetAfterItems(1))
		got, err := f.stream().MustNotEnd(errCut).RetryWhen(p).Take(2000).Collect(t.Context())
		if err != nil || !slices.Equal(got, counting(2000)) {
			t.Errorf("%d items, %v", len(got), err)
		}
	})
}

func TestOnePolicyDrivesStreamsCallsLoopsAndChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := retry.New(backoff.Fibonacci(time.Second), retry.Limit(4))
		want := []time.Duration{1e9, 1e9, 2e9, 3e9}
		check := func(name string, f *numbered, err error) {
			if !errors.Is(err, retry.ErrExhausted) || !slices.Equal(f.waits(), want) {
				t.Errorf("%s: waited %v, %v; want %v", name, f.waits(), err, want)
			}
		}
		failing := func() *numbered { return &numbered{perAttempt: make([]int, 10), total: 1} }

		f := failing()
		_, err := f.stream().RetryWhen(policy).Collect(t.Context())
		check("stream", f, err)

		f = failing()
		_, err = retry.Do(t.Context(), policy, func(ctx context.Context) ([]int, error) { return f.stream().Collect(ctx) })
		check("call", f, err)

		f = failing()
		for a, gaveUp := range policy.Attempts(t.Context()) {
			if err = gaveUp; err == nil {
				_, fault := f.stream().Collect(t.Context())
				a.Fail(fault)
			}
		}
		check("loop", f, err)

		f = failing()
		open := func(ctx context.Context) (<-chan int, <-chan error) { return f.stream().Chans(ctx, 0) }
		values, errs := operators.RetryChans(t.Context(), open, policy)
		for range values {
			t.Error("a value")
		}
		check("channels", f, <-errs)

		f = failing()
		_, err = operators.RetryWhen(f.stream(), policy.Handle).Collect(t.Context())
		check("operators.RetryWhen", f, err)
	})
}
