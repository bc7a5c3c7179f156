package stream_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// operator is one operator, set up so that it hands on whatever its source does: each is checked against the contract
// of Stream by the tests of this file.
type operator struct {
	name  string
	apply func(stream.Stream[int]) stream.Stream[int]
	ahead int  // how many values more than the consumer has seen the source may have made
	apart bool // it needs values that are apart in time
	alone bool // what it runs is not waited for
	plain bool // it relies on its source to stop
}

// allOperators are all that have a source.
func allOperators() []operator {
	yes := func(int) bool { return true }
	no := func(int) bool { return false }
	type s = stream.Stream[int]
	return []operator{
		{name: "nothing", plain: true, apply: func(s s) s { return s }},
		{name: "Filter", plain: true, apply: func(s s) s { return s.Filter(yes) }},
		{name: "Take", apply: func(s s) s { return s.Take(1000) }},
		{name: "Skip", apply: func(s s) s { return stream.Of(-1).Concat(s).Skip(1) }},
		{name: "TakeWhile", apply: func(s s) s { return s.TakeWhile(yes) }},
		{name: "SkipWhile", plain: true, apply: func(s s) s { return s.SkipWhile(no) }},
		{name: "Tap", plain: true, apply: func(s s) s { return s.Tap(func(int) {}) }},
		{name: "OnEnd", apply: func(s s) s { return s.OnEnd(func(error) {}) }},
		{name: "Concat", apply: func(s s) s { return s.Concat() }},
		{name: "Concat last", apply: func(s s) s { return stream.Empty[int]().Concat(s) }},
		{name: "StartWith", apply: func(s s) s { return s.StartWith() }},
		{name: "DefaultIfEmpty", plain: true, apply: func(s s) s { return s.DefaultIfEmpty(-1).Filter(func(v int) bool { return v != -1 }) }},
		{name: "SwitchIfEmpty", plain: true, apply: func(s s) s { return s.SwitchIfEmpty(stream.Empty[int]()) }},
		{name: "SwitchIfEmpty second", plain: true, apply: func(s s) s { return stream.Empty[int]().SwitchIfEmpty(s) }},
		{name: "SkipLast", plain: true, apply: func(s s) s { return s.SkipLast(0) }},
		{name: "TakeUntilDone", apply: func(s s) s { return s.TakeUntilDone(make(chan struct{})) }},
		{name: "Merge", apply: func(s s) s { return s.Merge(stream.Empty[int]()) }},
		{name: "Merge alone", plain: true, apply: func(s s) s { return s.Merge() }},
		{name: "Catch", apply: func(s s) s { return s.Catch(stream.Fail[int]) }},
		{name: "Catch second", plain: true, apply: func(src s) s { return stream.Fail[int](errBoom).Catch(func(error) s { return src }) }},
		{name: "MustNotEnd", apply: func(s s) s {
			end := errors.New("end")
			return s.MustNotEnd(end).Catch(func(err error) stream.Stream[int] {
				if err == end {
					return stream.Empty[int]()
				}
				return stream.Fail[int](err)
			})
		}},
		{name: "Retry", apply: func(s s) s { return s.Retry(0) }},
		{name: "Repeat", apply: func(s s) s { return s.Repeat(1) }},
		{name: "Timeout", apply: func(s s) s { return s.Timeout(time.Hour) }},
		{name: "Delay", apply: func(s s) s { return s.Delay(ms) }},
		{name: "Debounce", apply: func(s s) s { return s.Debounce(ms) }, ahead: 1, apart: true},
		{name: "Throttle", apply: func(s s) s { return s.Throttle(ms) }, apart: true, plain: true},
		{name: "ThrottleLatest", apply: func(s s) s { return s.ThrottleLatest(ms) }, ahead: 1, apart: true},
		{name: "TimeShift(1)", apply: func(s s) s { return s.TimeShift(ms, 1) }},
		{name: "TimeShift(5)", apply: func(s s) s { return s.TimeShift(ms, 5) }, ahead: 4},
		{name: "Buffer(1)", apply: func(s s) s { return s.Buffer(1) }, ahead: 1},
		{name: "Buffer(5)", apply: func(s s) s { return s.Buffer(5) }, ahead: 5},
		{name: "Defer", plain: true, apply: func(src s) s { return stream.Defer(func(context.Context) s { return src }) }},
		{name: "Using", apply: func(src s) s {
			open := func(context.Context) (int, error) { return 0, nil }
			return stream.Using(open, func(int) s { return src }, func(int) error { return nil })
		}},
		{name: "All", apply: func(s s) s { return stream.FromSeq2(s.All) }},
		{name: "FromSeq2", apply: func(s s) s {
			return stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] { return s.All(ctx) })
		}},
		{name: "Chans", apply: func(s s) s {
			return stream.FromChans(func(ctx context.Context) (<-chan int, <-chan error) { return s.Chans(ctx, 0) })
		}, ahead: 1, alone: true},
		{name: "all together", ahead: 2, apply: func(s s) s {
			return s.Merge(stream.Empty[int]()).Timeout(time.Hour).Buffer(2).Retry(0).Merge(stream.Empty[int]()).Take(1000)
		}},
	}
}

// eachOperator runs f for each operator, in a bubble of its own; probe makes its sources.
func eachOperator(t *testing.T, f func(t *testing.T, op operator, p *probe)) {
	for _, op := range allOperators() {
		bubble(t, op.name, func(t *testing.T) { f(t, op, &probe{apart: op.apart}) })
	}
}

// probe makes sources that note how they fare.
type probe struct {
	apart   bool // sources wait between values
	runs    int
	returns int
	made    atomic.Int64
}

// source yields 1 to n, then does as end says.
func (p *probe) source(n int, end func(ctx context.Context) error) stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		p.runs++
		defer func() { p.returns++ }()
		for i := range n {
			if p.apart {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				return errors.Join(context.Cause(ctx), ctx.Err())
			}
			p.made.Store(int64(i + 1))
			if !yield(i + 1) {
				return nil
			}
		}
		return end(ctx)
	}
}

// over checks that each run has returned.
func (p *probe) over(t *testing.T, op operator) {
	t.Helper()
	if op.alone {
		synctest.Wait()
	}
	if p.runs != p.returns {
		t.Errorf("%d runs of the source, %d have returned", p.runs, p.returns)
	}
}

func well(context.Context) error { return nil }
func fail(context.Context) error { return errBoom }
func wait(ctx context.Context) error {
	<-ctx.Done()
	return errors.Join(context.Cause(ctx), ctx.Err())
}

const many = 1 << 20

func TestContract_ValuesAndEnd(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		expect(t, op.apply(p.source(3, well)), []int{1, 2, 3}, nil)
		p.over(t, op)
	})
}

func TestContract_Empty(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		expect(t, op.apply(p.source(0, well)), nil, nil)
		p.over(t, op)
	})
}

func TestContract_Failing(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		expect(t, op.apply(p.source(2, fail)), []int{1, 2}, errBoom)
		p.over(t, op)
	})
}

func TestContract_ConsumerStops(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		n := 0
		err := op.apply(p.source(many, well))(t.Context(), func(int) bool { n++; return n < 3 })
		if err != nil || n != 3 {
			t.Errorf("%d values, %v", n, err)
		}
		p.over(t, op)
	})
}

func TestContract_CancelWhileTheConsumerWorks(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		err := op.apply(p.source(many, well))(ctx, func(int) bool {
			if n++; n == 3 {
				cancel(errCause)
			}
			return true
		})
		if !endedBy(ctx, err) || n != 3 {
			t.Errorf("%d values, %v", n, err)
		}
		p.over(t, op)
	})
}

func TestContract_CancelWhileTheSourceWaits(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errCause) })
		start := time.Now()
		got, err := op.apply(p.source(2, wait)).Collect(ctx)
		if !endedBy(ctx, err) || !slices.Equal(got, []int{1, 2}) || time.Since(start) != time.Minute {
			t.Errorf("%v, %v after %v", got, err, time.Since(start))
		}
		p.over(t, op)
	})
}

func TestContract_CancelledBefore(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		got, err := op.apply(p.source(3, well)).Collect(ctx)
		if !endedBy(ctx, err) || got != nil || p.made.Load() != 0 {
			t.Errorf("%v, %v; the source has made %d values", got, err, p.made.Load())
		}
		p.over(t, op)
	})
}

func TestContract_DeadlineOfTheContext(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := op.apply(p.source(2, wait)).Collect(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		p.over(t, op)
	})
}

func TestContract_ConsumerPanics(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		type mine struct{ int }
		v := recovered(func() {
			_ = op.apply(p.source(many, well)).ForEach(t.Context(), func(v int) {
				if v == 2 {
					panic(mine{v})
				}
			})
		})
		if v != (mine{2}) {
			t.Errorf("panicked with %v", v)
		}
		p.over(t, op)
	})
}

func TestContract_ConsumerExits(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		if !exits(func() { _ = op.apply(p.source(many, well)).ForEach(t.Context(), func(int) { runtime.Goexit() }) }) {
			t.Error("the goroutine went on")
		}
		p.over(t, op)
	})
}

func TestContract_SourcePanics(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		if op.alone {
			return // it would crash the program, as the comment of Chans says
		}
		v := recovered(func() {
			_, _ = op.apply(p.source(1, func(context.Context) error { panic(errBoom) })).Collect(t.Context())
		})
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("panicked with %v", v)
		} else if err != errBoom && !strings.Contains(err.Error(), "TestContract_SourcePanics") {
			t.Errorf("the stack of the source is lost: %v", err)
		}
		p.over(t, op)
	})
}

func TestContract_SourceExits(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		exit := func(context.Context) error { runtime.Goexit(); return nil }
		if op.alone {
			if got, err := op.apply(p.source(1, exit)).Collect(t.Context()); err == nil {
				t.Errorf("%v and no error", got)
			}
			return
		}
		if !exits(func() { _, _ = op.apply(p.source(1, exit)).Collect(t.Context()) }) {
			t.Error("the goroutine went on")
		}
		p.over(t, op)
	})
}

func TestContract_ValuesComeOnTheCallersGoroutine(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		caller := goroutine.Current().ID
		err := op.apply(p.source(3, well)).ForEach(t.Context(), func(v int) {
			if id := goroutine.Current().ID; id != caller {
				t.Errorf("value %d came on goroutine %d, not on %d", v, id, caller)
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A source that goes on after yield has returned false, and fails then, is a bad source: nothing of that gets through.
func TestContract_SourceThatDoesNotStop(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, _ *probe) {
		if op.plain {
			return
		}
		n := 0
		bad := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
			for range 5 {
				if op.apart {
					time.Sleep(time.Second)
				}
				yield(1)
			}
			return errBoom
		})
		err := op.apply(bad)(t.Context(), func(int) bool { n++; return n < 2 })
		if err != nil || n != 2 {
			t.Errorf("%d values, %v", n, err)
		}
	})
}

func TestContract_RunAgain(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		s := op.apply(p.source(3, well))
		for range 3 {
			expect(t, s, []int{1, 2, 3}, nil)
		}
	})
}

func TestContract_RunSideBySide(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		s := op.apply(stream.Of(1, 2, 3).Delay(time.Second))
		done := make(chan struct{})
		go func() {
			defer close(done)
			expect(t, s, []int{1, 2, 3}, nil)
		}()
		_ = s(t.Context(), func(int) bool {
			expect(t, s, []int{1, 2, 3}, nil) // a run inside a run
			return false
		})
		<-done
	})
}

func TestContract_SlowConsumerSlowsTheSource(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		got := 0
		err := op.apply(p.source(20, well)).ForEach(t.Context(), func(v int) {
			time.Sleep(time.Minute)
			if made := int(p.made.Load()); made > v+op.ahead {
				t.Errorf("%d made while %d was in hand, want at most %d more", made, v, op.ahead)
			}
			got++
		})
		if err != nil || got != 20 {
			t.Errorf("%d values, %v", got, err)
		}
	})
}

// However a run ends, it leaves no timer armed.
func TestContract_NoTimerLeft(t *testing.T) {
	for name, run := range map[string]func(ctx context.Context, s stream.Stream[int]){
		"ends":    func(ctx context.Context, s stream.Stream[int]) { _, _ = s.Take(3).Collect(ctx) },
		"fails":   func(ctx context.Context, s stream.Stream[int]) { _, _ = s.Collect(ctx) },
		"stopped": func(ctx context.Context, s stream.Stream[int]) { _ = s(ctx, func(int) bool { return false }) },
		"panics": func(ctx context.Context, s stream.Stream[int]) {
			recovered(func() { _ = s.ForEach(ctx, func(int) { panic(1) }) })
		},
		"cancelled": func(ctx context.Context, s stream.Stream[int]) {
			ctx, cancel := context.WithTimeout(ctx, time.Second+ms/2)
			defer cancel()
			_, _ = s.Collect(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachOperator(t, func(t *testing.T, op operator, p *probe) {
				c := &countingClock{}
				run(stream.WithClock(t.Context(), c), op.apply(p.source(5, fail)))
				synctest.Wait()
				if n := c.armed.Load(); n != 0 {
					t.Errorf("%d timers are left", n)
				}
			})
		})
	}
}

// countingClock is the system's clock; it counts the timers that are armed.
type countingClock struct{ armed atomic.Int64 }

func (c *countingClock) Now() time.Time { return time.Now() }

func (c *countingClock) AfterFunc(d time.Duration, f func()) *countedTimer {
	c.armed.Add(1)
	t := &countedTimer{clock: c}
	t.timer = time.AfterFunc(d, func() {
		c.armed.Add(-1)
		f()
	})
	return t
}

type countedTimer struct {
	clock *countingClock
	timer *time.Timer
}

func (t *countedTimer) Stop() bool {
	stopped := t.timer.Stop()
	if stopped {
		t.clock.armed.Add(-1)
	}
	return stopped
}

// A source that does not look at its context is stopped by the operators that run it on a goroutine of its own, and the
// cause is returned although the source says that all is well.
func TestContract_SourceThatDoesNotLookAtItsContext(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, _ *probe) {
		switch op.name {
		case "Merge", "Timeout", "Buffer(1)", "Buffer(5)", "Chans", "Debounce", "ThrottleLatest", "TimeShift(5)", "all together":
		default:
			return
		}
		for range 30 {
			ctx, cancel := context.WithCancelCause(t.Context())
			careless := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				for i := range 1000 {
					if op.apart {
						time.Sleep(time.Second)
					}
					if !yield(i) {
						break
					}
				}
				return nil
			})
			n := 0
			err := op.apply(careless).ForEach(ctx, func(int) {
				if n++; n == 2 {
					cancel(errCause)
				}
			})
			if n != 2 || !endedBy(ctx, err) {
				t.Errorf("%d values, %v", n, err)
			}
		}
	})
}

// A cancel in the last value of a source that ends well, without looking at its context, is no good end.
func TestContract_CancelledInTheLastValue(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, _ *probe) {
		switch op.name {
		case "Merge", "TakeUntilDone", "Timeout", "Buffer(1)", "Buffer(5)", "Debounce", "ThrottleLatest", "TimeShift(5)", "MustNotEnd", "Repeat", "all together":
		default:
			return
		}
		for range 30 {
			ctx, cancel := context.WithCancelCause(t.Context())
			careless := stream.Stream[int](func(_ context.Context, yield func(int) bool) error { yield(1); return nil })
			if err := op.apply(careless).ForEach(ctx, func(int) { cancel(errCause) }); !endedBy(ctx, err) {
				t.Error(err)
			}
		}
	})
}

// No timer runs while the consumer has a value in hand, but for the one of Timeout, which stays as it was set.
func TestContract_NoTimerWhileTheConsumerWorks(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		if op.ahead > 0 {
			return // there the source works meanwhile
		}
		want := int64(0)
		if op.name == "Timeout" {
			want = 1
		}
		c := &countingClock{}
		_ = op.apply(p.source(3, well)).ForEach(stream.WithClock(t.Context(), c), func(int) {
			if n := c.armed.Load(); n != want {
				t.Errorf("%d timers are armed, want %d", n, want)
			}
		})
	})
}

// Cancelling at any point gives either all the values and no error, or the cause, and leaves nothing behind.
func TestContract_CancelAtAnyMoment(t *testing.T) {
	for _, op := range allOperators() {
		if op.apart {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			for round := range 50 {
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range round * 3 {
						runtime.Gosched()
					}
					cancel(errCause)
				}()
				s := stream.Range(0, 30)
				if op.name == "Delay" {
					s = s.Take(1)
				}
				last := -1
				err := op.apply(s).ForEach(ctx, func(v int) {
					if v != last+1 {
						t.Errorf("%d came after %d", v, last)
					}
					last = v
				})
				if err != nil && !endedBy(ctx, err) {
					t.Error(err)
				}
				<-done
			}
		})
	}
}

// What an operator is built with is checked when it is built.
func TestContract_MistakesPanicAtConstruction(t *testing.T) {
	s, none := stream.Of(1), stream.Stream[int](nil)
	opened := func(context.Context) (int, error) { return 1, nil }
	of := func(v int) stream.Stream[int] { return stream.Of(v) }
	closed := func(int) error { return nil }
	const max = int(^uint(0) >> 1)
	most := uint64(1<<47) / (8 + 64) // an address space, by an int and what stands beside it
	if strconv.IntSize == 32 {
		most = (1 << 30) / (4 + 64)
	}
	for want, build := range map[string]func(){
		"stream: FromSeq: seq is nil":           func() { stream.FromSeq[int](nil) },
		"stream: FromSeq2: open is nil":         func() { stream.FromSeq2[int](nil) },
		"stream: FromFunc: f is nil":            func() { stream.FromFunc[int](nil) },
		"stream: FromChan: ch is nil":           func() { stream.FromChan[int](nil) },
		"stream: FromChans: open is nil":        func() { stream.FromChans[int](nil) },
		"stream: Defer: f is nil":               func() { stream.Defer[int](nil) },
		"stream: Using: open is nil":            func() { stream.Using(nil, of, closed) },
		"stream: Using: use is nil":             func() { stream.Using[int, int](opened, nil, closed) },
		"stream: Using: close is nil":           func() { stream.Using(opened, of, nil) },
		"stream: Fail: err is nil":              func() { stream.Fail[int](nil) },
		"stream: Range: count is -1, want >= 0": func() { stream.Range(0, -1) },
		fmt.Sprintf("stream: Range: first is %d and count is 2, which leads past the largest int", max): func() { stream.Range(max, 2) },
		"stream: Interval: d is 0s, want > 0":                             func() { stream.Interval(0) },
		"stream: TryForEach: f is nil":                                    func() { _ = s.TryForEach(t.Context(), nil) },
		"stream: SwitchIfEmpty: other is nil":                             func() { s.SwitchIfEmpty(nil) },
		"stream: TakeLast: n is -1, want >= 0":                            func() { s.TakeLast(-1) },
		"stream: SkipLast: n is -1, want >= 0":                            func() { s.SkipLast(-1) },
		"stream: ForEach: f is nil":                                       func() { _ = s.ForEach(t.Context(), nil) },
		"stream: Chans: buffer is -1, want >= 0":                          func() { s.Chans(t.Context(), -1) },
		"stream: Filter: keep is nil":                                     func() { s.Filter(nil) },
		"stream: Take: n is -1, want >= 0":                                func() { s.Take(-1) },
		"stream: Skip: n is -1, want >= 0":                                func() { s.Skip(-1) },
		"stream: TakeWhile: f is nil":                                     func() { s.TakeWhile(nil) },
		"stream: SkipWhile: f is nil":                                     func() { s.SkipWhile(nil) },
		"stream: Tap: f is nil":                                           func() { s.Tap(nil) },
		"stream: OnEnd: f is nil":                                         func() { s.OnEnd(nil) },
		"stream: Concat: others[1] is nil":                                func() { s.Concat(s, none) },
		"stream: Merge: others[0] is nil":                                 func() { s.Merge(none) },
		"stream: Catch: f is nil":                                         func() { s.Catch(nil) },
		"stream: MustNotEnd: err is nil":                                  func() { s.MustNotEnd(nil) },
		"stream: Repeat: n is -1, want >= 0":                              func() { s.Repeat(-1) },
		"stream: Timeout: d is 0s, want > 0":                              func() { s.Timeout(0) },
		"stream: Delay: d is -1ns, want >= 0":                             func() { s.Delay(-1) },
		"stream: Debounce: d is -1ns, want >= 0":                          func() { s.Debounce(-1) },
		"stream: Throttle: d is -1ns, want >= 0":                          func() { s.Throttle(-1) },
		"stream: ThrottleLatest: d is -1ns, want >= 0":                    func() { s.ThrottleLatest(-1) },
		"stream: TimeShift: d is -1ns, want >= 0":                         func() { s.TimeShift(-1, 1) },
		"stream: TimeShift: n is 0, want >= 1":                            func() { s.TimeShift(1, 0) },
		"stream: Buffer: n is -1, want >= 0":                              func() { s.Buffer(-1) },
		"stream: WithClock: c is nil":                                     func() { stream.WithClock[stream.Stopper](t.Context(), nil) },
		fmt.Sprintf("stream: Buffer: n is %d, want <= %d", max, most):     func() { s.Buffer(max) },
		fmt.Sprintf("stream: Chans: buffer is %d, want <= %d", max, most): func() { s.Chans(t.Context(), max) },
	} {
		t.Run(want, func(t *testing.T) { expectPanic(t, want, build) })
	}
}

// ofANilStream calls each method on a nil stream.
func ofANilStream(ctx context.Context) map[string]func() {
	none := stream.Stream[int](nil)
	yes := func(int) bool { return true }
	return map[string]func(){
		"All":            func() { none.All(ctx) },
		"Buffer":         func() { none.Buffer(0) },
		"Catch":          func() { none.Catch(stream.Fail) },
		"Chans":          func() { none.Chans(ctx, 0) },
		"Collect":        func() { _, _ = none.Collect(ctx) },
		"Concat":         func() { none.Concat() },
		"Debounce":       func() { none.Debounce(0) },
		"DefaultIfEmpty": func() { none.DefaultIfEmpty(1) },
		"Delay":          func() { none.Delay(0) },
		"Filter":         func() { none.Filter(yes) },
		"ForEach":        func() { _ = none.ForEach(ctx, func(int) {}) },
		"IgnoreElements": func() { none.IgnoreElements() },
		"Merge":          func() { none.Merge() },
		"MustNotEnd":     func() { none.MustNotEnd(errBoom) },
		"OnEnd":          func() { none.OnEnd(func(error) {}) },
		"Repeat":         func() { none.Repeat(1) },
		"Retry":          func() { none.Retry(1) },
		"RetryWhen":      func() { none.RetryWhen(retry.Default) },
		"Skip":           func() { none.Skip(0) },
		"SkipLast":       func() { none.SkipLast(0) },
		"SkipWhile":      func() { none.SkipWhile(yes) },
		"StartWith":      func() { none.StartWith(1) },
		"SwitchIfEmpty":  func() { none.SwitchIfEmpty(stream.Of(1)) },
		"Take":           func() { none.Take(1) },
		"TakeLast":       func() { none.TakeLast(0) },
		"TakeUntilDone":  func() { none.TakeUntilDone(nil) },
		"TakeWhile":      func() { none.TakeWhile(yes) },
		"Tap":            func() { none.Tap(func(int) {}) },
		"ThrottleLatest": func() { none.ThrottleLatest(0) },
		"TimeShift":      func() { none.TimeShift(0, 1) },
		"Throttle":       func() { none.Throttle(0) },
		"Timeout":        func() { none.Timeout(1) },
		"TryForEach":     func() { _ = none.TryForEach(ctx, func(context.Context, int) error { return nil }) },
	}
}

// A nil stream is refused where an operator is built of it, or a sink runs it, by that operator's name.
func TestContract_ANilStreamPanicsAtConstruction(t *testing.T) {
	for name, build := range ofANilStream(t.Context()) {
		t.Run(name, func(t *testing.T) { expectPanic(t, "stream: "+name+": the stream is nil", build) })
	}
}

// ofANilStreamSince127 has the methods that are there from Go 1.27 on.
var ofANilStreamSince127 map[string]func()

func TestContract_ANilStreamPanicsInEveryMethod(t *testing.T) {
	built := ofANilStream(t.Context())
	maps.Copy(built, ofANilStreamSince127)
	for method := range reflect.TypeFor[stream.Stream[int]]().Methods() {
		if built[method.Name] == nil {
			t.Errorf("%s is not in the table", method.Name)
		}
	}
}
