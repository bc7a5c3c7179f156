package operators_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestFlatMap_FirstErrorCancelsTheOthers(t *testing.T) {
	session(t, "it is returned when the slowest has wound down", func(s *streamtest.Session) {
		slow := windingDown(cold(s, "-x"), 3*ms)
		streamtest.Expect(s, operators.FlatMap(cold(s, "a-#"), 2, func(string) strs { return slow })).ToBe("-x---#")
	})
}

// windingDown takes d to return when its context has ended.
func windingDown[T any](s stream.Stream[T], d time.Duration) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		defer func() {
			if ctx.Err() != nil {
				time.Sleep(d)
			}
		}()
		return s(ctx, yield)
	}
}

// The end of the context frees the inner streams and the source that are in their yields, though the consumer is busy;
// the one whose value the consumer has in hand is held until that is processed.
func TestFlatMap_CancelledWhileTheConsumerIsBusy(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		start := time.Now()
		freed, taken := make(map[string]time.Duration), make(map[string]int)
		var mu sync.Mutex
		rude := func(name string) strs {
			return func(_ context.Context, yield func(string) bool) error {
				time.Sleep(10 * ms)
				n := 0
				for yield(name) {
					n++
				}
				more := yield(name)
				mu.Lock()
				defer mu.Unlock()
				taken[name] = n
				if freed[name] = time.Since(start); more {
					t.Errorf("%s: yield returned true after false", name)
				}
				return nil
			}
		}
		src := stream.Of("a", "b", "c").Concat(strs(func(ctx context.Context, yield func(string) bool) error {
			time.Sleep(10 * ms) // then the consumer is busy
			return rude("source")(ctx, yield)
		}))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		var got []string
		err := operators.FlatMap(src, 9, rude).ForEach(ctx, func(v string) {
			if got = append(got, v); len(got) == 20 {
				time.Sleep(time.Minute)
			}
		})
		if len(got) != 20 || !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) {
			t.Errorf("%d values, %v", len(got), err)
		}
		for name, at := range freed {
			want := time.Second
			if name == got[19] {
				want = time.Minute + 10*ms
			}
			if at != want {
				t.Errorf("%s is freed after %v, want %v", name, at, want)
			}
		}
		if len(freed) < 4 || taken["a"]+taken["b"]+taken["c"]+taken["source"] != len(got) {
			t.Errorf("freed: %v, taken: %v", freed, taken)
		}
	})
}

// A value that was there when the context ended is not delivered.
func TestFlatMap_CancelledWithValuesThatWait(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		err := operators.FlatMap(stream.Range(0, 4), 5, func(int) ints { return stream.Range(0, 1000) }).ForEach(ctx, func(int) {
			if n++; n >= 10 {
				for range 10 {
					runtime.Gosched()
				}
				cancel(errCause)
			}
		})
		if n != 10 || !errors.Is(err, errCause) {
			t.Fatalf("%d values, %v", n, err)
		}
	}
}

func TestFlatMap_FunctionIsCalledOnTheCallersGoroutine(t *testing.T) {
	caller := virtual.Current().ID
	s := operators.FlatMap(stream.Range(0, 10), 4, func(v int) stream.Stream[int] {
		if id := virtual.Current().ID; id != caller {
			t.Errorf("f is called on goroutine %d, not on %d", id, caller)
		}
		return stream.Of(v)
	})
	got, err := s.Collect(t.Context())
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Error(got, err)
	}
}

func TestFlatMap_Panics(t *testing.T) {
	session(t, "of the function pass through untouched", func(s *streamtest.Session) {
		ofA := streamtest.Cold[string](s, "-")
		flat := operators.FlatMap(cold(s, "a-b"), 2, func(v string) strs {
			if v == "b" {
				panic("mine")
			}
			return ofA.Stream
		})
		if v := recovered(func() { _, _ = flat.Collect(s.Context()) }); v != "mine" {
			s.T().Errorf("%v", v)
		}
		ofA.Subscriptions("^-!")
	})
	session(t, "of an inner stream are raised on the caller's goroutine", func(s *streamtest.Session) {
		ofA := streamtest.Cold[string](s, "-")
		flat := operators.FlatMap(cold(s, "a-b"), 2, func(v string) strs {
			if v == "b" {
				return stream.Defer(func(context.Context) strs { panic(errBoom) })
			}
			return ofA.Stream
		})
		expectBoom(s.T(), func() { _, _ = flat.Collect(s.Context()) })
		ofA.Subscriptions("^-!")
	})
}

// A burst leaves workers behind, more than are kept; those that were dismissed get no stream of the next burst.
func TestFlatMap_Bursts(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		src := stream.Range(0, 40).Concat(stream.Range(40, 40).Delay(ms).Filter(func(int) bool { return false }), stream.Range(80, 40))
		got, err := operators.FlatMap(src, 40, func(v int) ints { return stream.Of(v).Delay(10 * ms) }).Collect(t.Context())
		slices.Sort(got)
		if want := append(inARow(0, 40), inARow(80, 40)...); err != nil || !slices.Equal(got, want) {
			t.Error(got, err)
		}
	})
}

func inARow(first, n int) (all []int) {
	for i := range n {
		all = append(all, first+i)
	}
	return all
}

// A stream that FlatMap has accepted runs while the consumer is busy with values of the others.
func TestFlatMap_BeginsAStreamBeforeTheNextDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		epoch := time.Now()
		var begin time.Duration
		source := stream.Interval(time.Second).Take(3)
		waits := []time.Duration{1500 * time.Millisecond, 2500 * time.Millisecond, 0} // values at 2.5s and 4.5s; the third stream comes at 3s
		all := operators.FlatMap(operators.Scan(source, -1, func(n int, _ time.Time) int { return n + 1 }), 5, func(n int) stream.Stream[int] {
			return func(_ context.Context, yield func(int) bool) error {
				if n == 2 {
					begin = time.Since(epoch)
				}
				time.Sleep(waits[n])
				yield(n)
				time.Sleep(time.Hour)
				return nil
			}
		})
		if err := all.ForEach(t.Context(), func(int) { time.Sleep(10 * time.Second) }); err != nil {
			t.Fatal(err)
		}
		if want := 12500 * time.Millisecond; begin != want {
			t.Errorf("the third stream began at %v, want %v: when the consumer was done with the first value", begin, want)
		}
	})
}

func add(a, b int) int            { return a + b }
func join(a, b string) string     { return a + b }
func prefixed(p string) stringMap { return func(v string) string { return p + v } }

type stringMap = func(string) string

func TestMapErr(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("reading: %w", err) }
	t.Run("answers the failure", func(t *testing.T) {
		_, err := operators.MapErr(stream.Fail[int](errBoom), wrap).Collect(t.Context())
		if !errors.Is(err, errBoom) || err.Error() != "reading: boom" {
			t.Error(err)
		}
	})
	t.Run("nil is a good end", func(t *testing.T) {
		s := operators.MapErr(stream.Of(1).Concat(stream.Fail[int](io.EOF)), func(error) error { return nil })
		expectValues(t, s, []int{1}, nil)
	})
	never := func(err error) error { t.Errorf("asked for %v", err); return nil }
	t.Run("is not asked for a good end", func(t *testing.T) {
		expectValues(t, operators.MapErr(stream.Of(1), never), []int{1}, nil)
	})
	t.Run("is not asked for the consumer's stop", func(t *testing.T) {
		expectValues(t, operators.MapErr(stream.Of(1, 2), never).Take(1), []int{1}, nil)
	})
	session(t, "is not asked for the end of the context", func(s *streamtest.Session) {
		expectCancelled(s, operators.MapErr(cold(s, "-a"), never), "--!", "-a-")
	})
}

func TestTryMap(t *testing.T) {
	bubble(t, "f has the context of the run; at its end its cause comes first", func(t *testing.T) {
		slow := func(ctx context.Context, v string) (string, error) {
			select {
			case <-time.After(20 * ms):
				return v, nil
			case <-ctx.Done():
				return "", errBoom
			}
		}
		_, err := operators.TryMap(stream.Of("a", "b").Delay(10*ms), slow).Collect(cancelAt(t, 45*ms))
		if !errors.Is(err, errCause) || !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
}
