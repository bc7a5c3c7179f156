package streamtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

func TestCheck(t *testing.T) {
	for name, src := range map[string]func() stream.Stream[int]{
		"Of":       func() stream.Stream[int] { return stream.Of(1, 2, 3, 4, 5) },
		"Empty":    func() stream.Stream[int] { return stream.Empty[int]() },
		"Fail":     func() stream.Stream[int] { return stream.Fail[int](errBoom) },
		"Never":    func() stream.Stream[int] { return stream.Never[int]() },
		"endless":  func() stream.Stream[int] { return stream.Range(0, math.MaxInt) },
		"FromChan": func() stream.Stream[int] { c := make(chan int, 2); c <- 1; c <- 2; close(c); return stream.FromChan(c) },
		"Merge": func() stream.Stream[int] {
			return stream.Of(1, 2).Merge(stream.Of(3, 4), stream.Of(5).Delay(time.Second))
		},
		"Timeout": func() stream.Stream[int] { return stream.Of(1).Concat(stream.Never[int]()).Timeout(time.Second) },
		"Retry":   func() stream.Stream[int] { return stream.Of(1).Concat(stream.Fail[int](errBoom)).Retry(3) },
		"Delay":   func() stream.Stream[int] { return stream.Of(1, 2, 3).Delay(time.Second) },
		"Take":    func() stream.Stream[int] { return stream.Range(0, 10).Take(1) },
		"ends well when the context has ended in its last yield": func() stream.Stream[int] {
			return func(ctx context.Context, yield func(int) bool) error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				yield(1)
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) { Check(t, src) })
	}
	t.Run("Interval", func(t *testing.T) {
		Check(t, func() stream.Stream[time.Time] { return stream.Interval(time.Second) })
	})
	t.Run("Timer", func(t *testing.T) { Check(t, func() stream.Stream[time.Time] { return stream.Timer(time.Second) }) })
	t.Run("streams", func(t *testing.T) {
		Check(t, func() stream.Stream[stream.Stream[int]] { return stream.Of(stream.Of(1), stream.Of(2)) })
	})
}

// always makes a stream that keeps nothing between its runs.
func always(s stream.Stream[int]) func() stream.Stream[int] {
	return func() stream.Stream[int] { return s }
}

// heeding is always with a stream that does not begin under a context that has ended.
func heeding(s stream.Stream[int]) func() stream.Stream[int] {
	return always(func(ctx context.Context, yield func(int) bool) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return s(ctx, yield)
	})
}

// changing makes a stream that is first in its first run and later in all others.
func changing(first, later stream.Stream[int]) func() stream.Stream[int] {
	return func() stream.Stream[int] {
		var ran atomic.Bool
		return stream.Defer(func(context.Context) stream.Stream[int] {
			if ran.Swap(true) {
				return later
			}
			return first
		})
	}
}

// wrong are streams that break the contract, each in one way, with what Check says of them.
var wrong = map[string]struct {
	stream func() stream.Stream[int]
	want   string
}{
	"yields on another goroutine": {heeding(func(ctx context.Context, yield func(int) bool) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			yield(1)
		}()
		<-done
		return nil
	}), "run: yield was called on another goroutine than the one that runs the stream"},
	"yields twice at once": {always(func(ctx context.Context, yield func(int) bool) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			yield(1)
		}()
		yield(2)
		<-done
		return nil
	}), "yield was called on another goroutine"},
	"yields after the return": {always(func(ctx context.Context, yield func(int) bool) error {
		time.AfterFunc(time.Second, func() { yield(1) })
		return nil
	}), "run: yield was called after the stream had returned"},
	"leaves a goroutine after a late value": {always(func(ctx context.Context, yield func(int) bool) error {
		time.AfterFunc(time.Second, func() {
			yield(1)
			<-ctx.Done()
		})
		return nil
	}), "run: the stream has returned and left 1 goroutine running"},
	"goes on after false": {always(func(ctx context.Context, yield func(int) bool) error {
		for i := range 5 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			yield(i)
		}
		return nil
	}), "stop at value 1: yield was called again after it had returned false"},
	"fails after false": {heeding(func(ctx context.Context, yield func(int) bool) error {
		if !yield(1) {
			return errBoom
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}), `stop at value 1: it returned the error "boom", want nil`},
	"fails after false at its last value": {always(func(ctx context.Context, yield func(int) bool) error {
		failed := false
		err := stream.Of(1, 2, 3, 4, 5)(ctx, func(v int) bool {
			more := yield(v)
			failed = !more && v == 5
			return more
		})
		if failed {
			return errBoom
		}
		return err
	}), `stop at value 5: it returned the error "boom", want nil`},
	"takes its time after false": {heeding(func(ctx context.Context, yield func(int) bool) error {
		if !yield(1) {
			time.Sleep(time.Second)
			return nil
		}
		return context.Cause(ctx)
	}), "[sleep]\n        streamtest.init"},
	"does not look at the context first": {always(func(ctx context.Context, yield func(int) bool) error {
		if yield(1) && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}), "cancelled before the run: it yielded 1 value, want none"},
	"ends well under a context that has ended": {func() stream.Stream[int] {
		return func(context.Context, func(int) bool) error { return nil }
	}, `cancelled before the run: it has ended after 0s; want an error that matches context.Cause(ctx), which is "streamtest: the cause`},
	"returns ctx.Err and not the cause": {always(func(ctx context.Context, _ func(int) bool) error {
		<-ctx.Done()
		return ctx.Err()
	}), `has failed after 0s with "context canceled"; want an error that matches`},
	"yields more after a cancel": {heeding(func(ctx context.Context, yield func(int) bool) error {
		for i := range 5 {
			if !yield(i) {
				return nil
			}
		}
		return context.Cause(ctx)
	}), "cancelled in the yield of value 1: it yielded 4 values more"},
	"ends well when the context has ended in a yield": {heeding(func(ctx context.Context, yield func(int) bool) error {
		for i := 0; i < 5 && ctx.Err() == nil && yield(i); i++ {
		}
		return nil
	}), "cancelled in the yield of value 1: it has ended after 0s; want an error that matches context.Cause(ctx)"},
	"ends well when the context has ended in a yield before a wait": {heeding(func(ctx context.Context, yield func(int) bool) error {
		if !yield(1) || ctx.Err() != nil {
			return nil
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}), "cancelled in the yield of value 1: it has ended after 0s; want an error that matches context.Cause(ctx)"},
	"ends well when the context has ended in a yield before a failure": {heeding(func(ctx context.Context, yield func(int) bool) error {
		if !yield(1) || ctx.Err() != nil {
			return nil
		}
		return errBoom
	}), "cancelled in the yield of value 1: it has ended after 0s; want an error that matches context.Cause(ctx)"},
	"fails otherwise when the context has ended in its last yield": {heeding(func(ctx context.Context, yield func(int) bool) error {
		if yield(1) && ctx.Err() != nil {
			return errBoom
		}
		return nil
	}), `cancelled in the yield of value 1: it has failed after 0s with "boom"; want an error that matches context.Cause(ctx)`},
	"takes its time after a cancel in a yield": {heeding(func(ctx context.Context, yield func(int) bool) error {
		if yield(1) && ctx.Err() != nil {
			time.Sleep(time.Second)
		}
		return context.Cause(ctx)
	}), "cancelled in the yield of value 1: the stream does not return at once"},
	"yields more when the context ends in a wait": {always(func(ctx context.Context, yield func(int) bool) error {
		err := stream.Of(1).Delay(time.Second)(ctx, yield)
		if errors.Is(err, errCause) && ctx.Err() != nil {
			yield(2)
		}
		return err
	}), "cancelled in a wait, at 500ms: it yielded 1 value more"},
	"panics after false": {always(func(ctx context.Context, yield func(int) bool) error {
		return stream.Of(1, 2, 3)(ctx, func(v int) bool {
			if !yield(v) {
				panic("ouch")
			}
			return true
		})
	}), "stop at value 1: it has panicked with ouch, want nil"},
	"sleeps through a cancel": {heeding(func(ctx context.Context, yield func(int) bool) error {
		time.Sleep(time.Second)
		return context.Cause(ctx)
	}), "cancelled in a wait, at 500ms: the stream does not return at once"},
	"does not heed the context": {func() stream.Stream[int] {
		return func(ctx context.Context, yield func(int) bool) error { select {} }
	}, "run: the stream does not return at once"},
	"sleeps through a later cancel": {func() stream.Stream[int] {
		return stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
			if err := stream.Of(1).Delay(time.Second)(ctx, yield); err != nil {
				return err
			}
			time.Sleep(time.Second)
			return context.Cause(ctx)
		})
	}, "deadline at 1.5s: the stream does not return at once"},
	"panics by itself": {func() stream.Stream[int] {
		return stream.Of(1).Concat(stream.Defer(func(context.Context) stream.Stream[int] { panic("ouch") }))
	}, "run: the stream has panicked with ouch"},
	"ends its goroutine": {func() stream.Stream[int] {
		return stream.Of(1).Concat(stream.Defer(func(context.Context) stream.Stream[int] { runtime.Goexit(); return nil }))
	}, "run: the stream has called runtime.Goexit"},
	"eats a panic": {always(func(ctx context.Context, yield func(int) bool) error {
		defer func() { _ = recover() }()
		return stream.Of(1)(ctx, yield)
	}), "a panic in the yield of value 1: the caller of the stream saw <nil>, want the panic's own value"},
	"wraps a panic": {always(func(ctx context.Context, yield func(int) bool) error {
		defer func() {
			if v := recover(); v != nil {
				panic(errors.New("wrapped"))
			}
		}()
		return stream.Of(1)(ctx, yield)
	}), "a panic in the yield of value 1: the caller of the stream saw wrapped, want"},
	"hangs at a panic": {always(func(ctx context.Context, yield func(int) bool) error {
		ended := false
		defer func() {
			if !ended {
				<-ctx.Done()
			}
		}()
		err := stream.Of(1)(ctx, yield)
		ended = true
		return err
	}), "a panic in the yield of value 1: the stream does not return at once"},
	"goes on after a Goexit": {always(func(ctx context.Context, yield func(int) bool) error {
		stopped, exited := false, true
		var thrown any
		done := make(chan struct{})
		var err error
		values := make(chan int)
		go func() {
			defer close(done)
			defer close(values)
			err = stream.Of(1)(ctx, func(v int) bool { values <- v; return true })
		}()
		for v := range values {
			func() {
				defer func() {
					if thrown = recover(); thrown == nil && exited {
						select {} // a Goexit
					}
				}()
				stopped = !yield(v)
				exited = false
			}()
			if thrown != nil {
				<-done
				panic(thrown)
			}
		}
		<-done
		if stopped {
			return nil
		}
		return err
	}), "runtime.Goexit in the yield of value 1: the stream does not return at once"},
	"panics at a Goexit": {always(func(ctx context.Context, yield func(int) bool) error {
		exited := true
		defer func() {
			if v := recover(); v != nil {
				panic(v)
			}
			if exited {
				panic("ouch")
			}
		}()
		err := stream.Of(1)(ctx, yield)
		exited = false
		return err
	}), "runtime.Goexit in the yield of value 1: the caller's goroutine has gone on"},
	"leaves a goroutine": {heeding(func(ctx context.Context, yield func(int) bool) error {
		go func() { <-ctx.Done() }()
		return nil
	}), "run: the stream has returned and left 1 goroutine running:"},
	"leaves a goroutine when stopped": {always(func(ctx context.Context, yield func(int) bool) error {
		return stream.Of(1)(ctx, func(v int) bool {
			if yield(v) {
				return true
			}
			go func() { <-ctx.Done() }()
			return false
		})
	}), "stop at value 1: the stream has returned and left 1 goroutine running:"},
	"leaves a timer": {heeding(func(ctx context.Context, yield func(int) bool) error {
		stream.ClockFrom(ctx).AfterFunc(time.Hour, func() {})
		return nil
	}), "run: the stream has returned and left 1 timer armed:\n    1h0m0s, armed at 0s by streamtest."},
	"runs once": {func() stream.Stream[int] {
		var ran atomic.Bool
		return func(ctx context.Context, yield func(int) bool) error {
			if ctx.Err() != nil || ran.Swap(true) {
				return context.Cause(ctx)
			}
			return stream.Of(1)(ctx, yield)
		}
	}, "second run: 0 values, while the first run had 1"},
	"has other values each time":          {changing(stream.Of(1), stream.Of(2)), "second run: value 1 is 2, which the first run did not have then"},
	"has one value twice the second time": {changing(stream.Of(1, 2), stream.Of(1, 1)), "second run: value 2 is 1, which the first run did not have then"},
	"has its values in another order the second time": {
		changing(stream.Of(1).Concat(stream.Of(2).Delay(time.Second)), stream.Of(2).Concat(stream.Of(1).Delay(time.Second))),
		"second run: value 1 is 2, which the first run did not have then"},
	"has other times each time": {changing(stream.Of(1).Delay(time.Second), stream.Of(1).Delay(2*time.Second)), "second run: value 1 came after 2s, in the first run after 1s"},
	"fails the second time":     {changing(stream.Empty[int](), stream.Fail[int](errBoom)), `second run: has failed after 0s with "boom", while the first run has ended after 0s`},
	"shares state between runs": {func() stream.Stream[int] {
		var left atomic.Int64
		left.Store(3)
		return func(ctx context.Context, yield func(int) bool) error {
			defer left.CompareAndSwap(0, 3)
			for left.Load() > 0 {
				if err := stream.Of(int(left.Load())).Delay(time.Second)(ctx, yield); err != nil {
					return err
				}
				left.Add(-1)
			}
			return nil
		}
	}, "of two runs side by side: "},
	"is never made": {func() stream.Stream[int] { select {} }, "deadlock"},
	"is nil":        {func() stream.Stream[int] { return nil }, "newStream returned a nil stream"},
}

func TestCheck_CatchesEachViolation(t *testing.T) {
	leavesGoroutines(t)
	for name, test := range wrong {
		t.Run(name, func(t *testing.T) {
			catch(t, clauses[int](), false, test.stream, test.want)
			if name != "leaves a timer" { // behind the session's back
				catch(t, clauses[int](), true, test.stream, test.want)
			}
		})
	}
}

// catch checks that one of the clauses reports what is wanted.
func catch(t *testing.T, all []clause[int], system bool, newStream func() stream.Stream[int], want string) {
	t.Helper()
	r := new(recorder)
	for _, c := range all {
		inspect(t, r, system, c, newStream)
	}
	if !slices.ContainsFunc(r.texts, func(s string) bool { return strings.Contains(s, want) }) {
		t.Errorf("system clock %v: not caught; reports:\n%s", system, strings.Join(r.texts, "\n"))
	}
}

// A report points at the call of Check.
func TestCheck_ReportsTheLineOfItsCall(t *testing.T) {
	_, _, line, _ := runtime.Caller(0)
	out := inProcess(t, func() { Check(t, func() stream.Stream[int] { return nil }) })
	if want := fmt.Sprintf("check_test.go:%d: streamtest: Check: newStream returned a nil stream", line+1); !strings.Contains(out, want) {
		t.Errorf("%q is not in\n%s", want, out)
	}
}

// Each of the values at which a clause is checked is taken once.
func TestSome(t *testing.T) {
	for n, want := range [][]int{nil, {1}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 5}} {
		if got := some(n); !slices.Equal(got, want) {
			t.Errorf("%d values: got %v, want %v", n, got, want)
		}
	}
}

// Each clause is checked, on both clocks.
func TestCheck_ChecksEachClause(t *testing.T) {
	t.Run("checked", func(t *testing.T) {
		bubbles := make(map[int]bool)
		clocks := make(map[bool]int)
		Check(t, func() stream.Stream[int] {
			return stream.Defer(func(ctx context.Context) stream.Stream[int] {
				_, session := stream.ClockFrom(ctx).(virtual.View)
				if id := virtual.Current().Bubble; !bubbles[id] {
					bubbles[id] = true
					clocks[session]++
				}
				return stream.Of(1)
			})
		})
		if n := len(clauses[int]()) - 1; clocks[true] != n || clocks[false] != n { // one runs nothing
			t.Errorf("%d bubbles with the session's clock, %d with the system's; want %d each", clocks[true], clocks[false], n)
		}
	})
}
