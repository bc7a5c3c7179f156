// Package resubscribe measures a source that fails 10,000 times in a row, without delays, and then delivers one item:
// the cost of one failure and the subscription after it, and the memory that each library holds when the last attempt
// runs.
package resubscribe

import (
	"context"
	"errors"
	"runtime"
	"testing"

	backoff4 "github.com/cenkalti/backoff/v4"
	ciliumstream "github.com/cilium/stream"
	"github.com/reactivex/rxgo/v2"
	"github.com/samber/ro"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// failures is the number of failures of the source.
const failures = 10_000

var (
	errBoom    = errors.New("boom")
	errNothing = errors.New("not the one item came out")
)

// source counts its subscriptions. Each library calls it from a source of its own that is made at each subscription.
type source struct {
	attempts int
	last     func() // called in the attempt that succeeds, if not nil
}

// fails reports whether this attempt must fail.
func (s *source) fails() bool {
	if s.attempts++; s.attempts <= failures {
		return true
	}
	if s.last != nil {
		s.last()
	}
	return false
}

var libraries = []struct {
	name string
	run  func(context.Context, *source) (int, error)
}{
	{"loop", loop},
	{"retrywhen-Retry", func(ctx context.Context, s *source) (int, error) {
		return collect(ctx, ours(s).Retry(failures))
	}},
	{"retrywhen-RetryWhen", func(ctx context.Context, s *source) (int, error) {
		return collect(ctx, ours(s).RetryWhen(policy))
	}},
	{"samber-ro", samber},
	{"cilium-stream", cilium},
	{"rxgo-Retry", func(ctx context.Context, s *source) (int, error) {
		return get(rx(ctx, s).Retry(failures, func(error) bool { return true }))
	}},
	{"rxgo-BackOffRetry", func(ctx context.Context, s *source) (int, error) {
		return get(rx(ctx, s).BackOffRetry(backoff4.WithMaxRetries(&backoff4.ZeroBackOff{}, failures)))
	}},
}

var policy = retry.New(backoff.Backoff{}, retry.Limit(failures))

func loop(ctx context.Context, s *source) (int, error) {
	open := func(context.Context) (int, error) {
		if s.fails() {
			return 0, errBoom
		}
		return 1, nil
	}
	for retries := 0; ; retries++ {
		v, err := open(ctx)
		if err == nil || retries == failures {
			return v, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
}

func ours(s *source) stream.Stream[int] {
	return stream.Defer(func(context.Context) stream.Stream[int] {
		if s.fails() {
			return stream.Fail[int](errBoom)
		}
		return stream.Of(1)
	})
}

func collect(ctx context.Context, s stream.Stream[int]) (int, error) { return only(s.Collect(ctx)) }

func samber(ctx context.Context, s *source) (int, error) {
	got, _, err := ro.CollectWithContext(ctx, ro.RetryWithConfig[int](ro.RetryConfig{MaxRetries: failures})(
		ro.Defer(func() ro.Observable[int] {
			if s.fails() {
				return ro.Throw[int](errBoom)
			}
			return ro.Just(1)
		})))
	return only(got, err)
}

func cilium(ctx context.Context, s *source) (int, error) {
	src := ciliumstream.FuncObservable[int](func(ctx context.Context, next func(int), complete func(error)) {
		if s.fails() {
			ciliumstream.Error[int](errBoom).Observe(ctx, next, complete)
			return
		}
		ciliumstream.Just(1).Observe(ctx, next, complete)
	})
	return only(ciliumstream.ToSlice(ctx, ciliumstream.Retry(src, ciliumstream.LimitRetries(ciliumstream.AlwaysRetry, failures))))
}

func rx(ctx context.Context, s *source) rxgo.Observable {
	return rxgo.Defer([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
		if s.fails() {
			next <- rxgo.Error(errBoom)
			return
		}
		next <- rxgo.Of(1)
	}}, rxgo.WithContext(ctx))
}

func get(o rxgo.Observable) (int, error) {
	var got []int
	for item := range o.Observe() {
		if item.Error() {
			return 0, item.E
		}
		got = append(got, item.V.(int))
	}
	return only(got, nil)
}

func only(got []int, err error) (int, error) {
	if err == nil && len(got) != 1 {
		err = errNothing
	}
	if err != nil {
		return 0, err
	}
	return got[0], nil
}

func TestEveryLibraryRetries(t *testing.T) {
	for _, l := range libraries {
		s := &source{}
		got, err := l.run(t.Context(), s)
		if err != nil || got != 1 || s.attempts != failures+1 {
			t.Errorf("%s: got %d, %v after %d attempts, want 1 after %d", l.name, got, err, s.attempts, failures+1)
		}
	}
}

func BenchmarkResubscribe(b *testing.B) {
	for _, l := range libraries {
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := &source{}
				if got, err := l.run(b.Context(), s); err != nil || got != 1 || s.attempts != failures+1 {
					b.Fatalf("got %d, %v after %d attempts", got, err, s.attempts)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/failures, "ns/failure")
			b.ReportMetric(held(b, l.run)/failures, "B-held/failure")
		})
	}
}

// held returns how many more bytes of heap and stacks are in use when a run's last attempt begins than before the run.
func held(b *testing.B, run func(context.Context, *source) (int, error)) float64 {
	var during uint64
	before := inUse()
	if _, err := run(b.Context(), &source{last: func() { during = inUse() }}); err != nil {
		b.Fatal(err)
	}
	return max(0, float64(during)-float64(before))
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC() // frees what the first GC has left in sync.Pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
