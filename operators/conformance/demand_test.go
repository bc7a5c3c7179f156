package conformance_test

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// feed makes total numbers, in attempts that fail after perAttempt of them. Each attempt continues where the last one
// stopped.
type feed struct {
	total, perAttempt int
	made              atomic.Int64
}

func (f *feed) stream() stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		for range f.perAttempt {
			if int(f.made.Load()) == f.total {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !yield(int(f.made.Add(1))) {
				return nil
			}
		}
		return errBoom
	}
}

// ahead runs s with a consumer that takes d for each value. It checks that the consumer receives the numbers 1 to
// total, none lost and none doubled, and returns the maximum number of values that the feed was ahead of the consumer.
func (f *feed) ahead(t *testing.T, s *session, src stream.Stream[int], d time.Duration) (most int) {
	t.Helper()
	want := 1
	err := src(s.Context(), func(v int) bool {
		if v != want {
			t.Fatalf("got %d, want %d", v, want)
		}
		want++
		wait(s.Context(), d)
		most = max(most, int(f.made.Load())-v)
		return true
	})
	if err != nil || want != f.total+1 {
		t.Fatalf("ended with %v before %d", err, want)
	}
	return most
}

// Backpressure: the consumer takes values one by one, and the source is retried now and then. No value is lost, none is
// doubled unless the source emits it again, and the source produces no more than was requested. RxJava's Flowable and
// Reactor carry the outstanding request over to the next subscription. RxJS has no backpressure.
func TestBackpressure_OneByOne(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		f := &feed{total: 100, perAttempt: 7}
		src := f.stream().RetryWhen(constant(3 * ms))
		if n := f.ahead(t, s, src, 10*ms); n != 0 {
			t.Errorf("the source was ahead by %d", n)
		}
	})
}

// Backpressure over 4,096 values: as above, at full speed, with thousands of attempts. RxJava's Flowable and Reactor do
// the same. RxJS has no backpressure.
func TestBackpressure_4096Values(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		for _, perAttempt := range []int{1, 2, 1000, 4096} {
			f := &feed{total: 4096, perAttempt: perAttempt}
			src := f.stream().RetryWhen(again(0))
			if n := f.ahead(t, s, src, 0); n != 0 {
				t.Errorf("%d values an attempt: the source was ahead by %d", perAttempt, n)
			}
		}
	})
}

// Backpressure: only values that the source emits again are doubled. RxJava, RxJS and Reactor do the same.
func TestBackpressure_DoublesOnlyWhatTheSourceEmitsAgain(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := attempts(
			stream.Range(1, 1000).Concat(stream.Fail[int](errBoom)),
			stream.Range(1, 500).Concat(stream.Fail[int](errBoom)),
			stream.Range(1, 4096),
		)
		got, err := src.Retry(2).Collect(s.Context())
		if err != nil || len(got) != 1000+500+4096 || !slices.Equal(got[1500:1503], []int{1, 2, 3}) {
			t.Errorf("%d values, %v", len(got), err)
		}
	})
}

// Backpressure: the source never produces more than was requested plus the number that the operator's comment names. In
// RxJava and Reactor each asynchronous boundary has a prefetch, of 128 and 256 by default. RxJS queues without bound.
func TestBackpressure_NeverAheadByMoreThanIsNamed(t *testing.T) {
	number := func(v int) stream.Stream[int] { return stream.Of(v) }
	for name, test := range map[string]struct {
		apply func(stream.Stream[int]) stream.Stream[int]
		ahead int
	}{
		"RetryWhen":  {func(s stream.Stream[int]) stream.Stream[int] { return s.RetryWhen(again(ms)) }, 0},
		"Delay":      {func(s stream.Stream[int]) stream.Stream[int] { return s.Retry(1000).Delay(ms) }, 0},
		"Timeout":    {func(s stream.Stream[int]) stream.Stream[int] { return s.Retry(1000).Timeout(time.Hour) }, 0},
		"Merge":      {func(s stream.Stream[int]) stream.Stream[int] { return s.Retry(1000).Merge(stream.Empty[int]()) }, 0},
		"ConcatMap":  {func(s stream.Stream[int]) stream.Stream[int] { return operators.ConcatMap(s.Retry(1000), number) }, 0},
		"FlatMap(1)": {func(s stream.Stream[int]) stream.Stream[int] { return operators.FlatMap(s.Retry(1000), 1, number) }, 0},
		"Buffer(1)":  {func(s stream.Stream[int]) stream.Stream[int] { return s.Retry(1000).Buffer(1) }, 1},
		"Buffer(16)": {func(s stream.Stream[int]) stream.Stream[int] { return s.Retry(1000).Buffer(16) }, 16},
		"below Buffer(16)": {func(s stream.Stream[int]) stream.Stream[int] {
			return s.Buffer(16).Retry(1000)
		}, 8}, // of the 9 of one attempt
		"Share": {func(s stream.Stream[int]) stream.Stream[int] { return operators.Share(s.Retry(1000)) }, 0},
		"Zip": {func(s stream.Stream[int]) stream.Stream[int] {
			return operators.ZipWith(s.Retry(1000), stream.Range(1, math.MaxInt32), func(a, _ int) int { return a })
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			streamtest.Run(t, func(s *session) {
				f := &feed{total: 200, perAttempt: 9}
				if n := f.ahead(t, s, test.apply(f.stream()), 10*ms); n != test.ahead {
					t.Errorf("the source was ahead by %d, want %d", n, test.ahead)
				}
			})
		})
	}
}

// A million failures in a row, without a wait: the stack and the heap stay flat. RxJava and Reactor trampoline (a
// work-in-progress count), RxJS loops over synchronous errors.
func TestMillionFailures(t *testing.T) {
	for name, retried := range map[string]func(stream.Stream[int]) stream.Stream[int]{
		"Retry":   func(s stream.Stream[int]) stream.Stream[int] { return s.Retry(math.MaxInt32) },
		"handler": func(s stream.Stream[int]) stream.Stream[int] { return s.RetryWhen(again(0)) },
		"policy":  func(s stream.Stream[int]) stream.Stream[int] { return s.RetryWhen(constant(0)) },
	} {
		t.Run(name, func(t *testing.T) {
			const failures = 1_000_000 / slowdown
			var deepest, n int
			var before, after runtime.MemStats
			pcs := make([]uintptr, 1000)
			src := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				switch n++; n {
				case 1000:
					runtime.GC()
					runtime.ReadMemStats(&before)
					deepest = runtime.Callers(0, pcs)
				case failures:
					runtime.GC()
					runtime.ReadMemStats(&after)
					if depth := runtime.Callers(0, pcs); depth != deepest {
						t.Errorf("the stack is %d calls deep, at first %d", depth, deepest)
					}
					yield(n)
					return nil
				}
				return errBoom
			})
			got, err := retried(src).Collect(t.Context())
			if err != nil || !slices.Equal(got, []int{failures}) {
				t.Fatalf("got %v, %v", got, err)
			}
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
				t.Errorf("the heap has grown by %d bytes", grown)
			}
		})
	}
}
