package operators_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// operator is one operator, set up so that it hands on whatever its source does: each is checked against the contract
// of stream.Stream by the tests of this file.
type operator struct {
	name  string
	apply func(stream.Stream[int]) stream.Stream[int]
	ahead int  // how many values more than the consumer has seen the source may have made
	apart bool // it needs a source whose values and end are apart in time
	plain bool // it relies on its source to stop
	sync  bool // it starts no goroutine
}

// all are the operators, each for each of the sources that it has.
func all() []operator {
	type s = stream.Stream[int]
	id := func(v int) int { return v }
	of := func(v int) s { return stream.Of(v) }
	first := func(a, _ int) int { return a }
	second := func(_, b int) int { return b }
	never := stream.Never[int]()
	first3 := func(a, _, _ int) int { return a }
	last := func(v []int) int { return v[len(v)-1] }
	same := stream.Of(0).Repeat(many)
	zero := stream.Of(0).Concat(never)
	return []operator{
		{name: "Map", plain: true, sync: true, apply: func(src s) s { return operators.Map(src, id) }},
		{name: "MapErr", sync: true, apply: func(src s) s { return operators.MapErr(src, func(err error) error { return err }) }},
		{name: "Scan", plain: true, sync: true, apply: func(src s) s { return operators.Scan(src, 0, second) }},
		{name: "Pairwise", plain: true, sync: true, apply: func(src s) s {
			return operators.Map(operators.Pairwise(stream.Of(0).Concat(src)), func(p operators.Pair[int, int]) int { return p.Second })
		}},
		{name: "Distinct", plain: true, sync: true, apply: operators.Distinct[int]},
		{name: "DistinctBy", plain: true, sync: true, apply: func(src s) s { return operators.DistinctBy(src, id) }},
		{name: "DistinctUntilChanged", plain: true, sync: true, apply: operators.DistinctUntilChanged[int]},
		{name: "DistinctUntilChangedBy", plain: true, sync: true, apply: func(src s) s { return operators.DistinctUntilChangedBy(src, id) }},
		{name: "TryMap", sync: true, apply: func(src s) s {
			return operators.TryMap(src, func(_ context.Context, v int) (int, error) { return v, nil })
		}},
		{name: "TryFilter", sync: true, apply: func(src s) s {
			return operators.TryFilter(src, func(context.Context, int) (bool, error) { return true, nil })
		}},
		{name: "ConcatMap outer", sync: true, apply: func(src s) s { return operators.ConcatMap(src, of) }},
		{name: "ConcatMap inner", sync: true, apply: func(src s) s { return operators.ConcatMap(stream.Of(0), func(int) s { return src }) }},
		{name: "FlatMap(1) outer", sync: true, apply: func(src s) s { return operators.FlatMap(src, 1, of) }},
		{name: "FlatMap(1) inner", sync: true, apply: func(src s) s { return operators.FlatMap(stream.Of(0), 1, func(int) s { return src }) }},
		{name: "FlatMap(2) outer", ahead: 3, apart: true, apply: func(src s) s { return operators.FlatMap(src, 2, of) }},
		{name: "FlatMap(2) inner", apply: func(src s) s { return operators.FlatMap(stream.Of(0), 2, func(int) s { return src }) }},
		{name: "FlatMap(MaxInt) inner", apply: func(src s) s {
			return operators.FlatMap(stream.Of(0), math.MaxInt, func(int) s { return src })
		}},
		{name: "SwitchMap outer", ahead: 1, apart: true, apply: func(src s) s { return operators.SwitchMap(src, of) }},
		{name: "SwitchMap inner", apply: func(src s) s { return operators.SwitchMap(stream.Of(0), func(int) s { return src }) }},
		{name: "ExhaustMap outer", ahead: 20, apart: true, apply: func(src s) s { return operators.ExhaustMap(src, of) }},
		{name: "ExhaustMap inner", apply: func(src s) s { return operators.ExhaustMap(stream.Of(0), func(int) s { return src }) }},
		{name: "TakeUntil", apply: func(src s) s { return operators.TakeUntil(src, never) }},
		{name: "TakeUntil, stop ended", apply: func(src s) s { return operators.TakeUntil(src, stream.Empty[string]()) }},
		{name: "ZipWith first", apply: func(src s) s { return operators.ZipWith(src, stream.Of(0).Repeat(many), first) }},
		{name: "ZipWith second", apply: func(src s) s { return operators.ZipWith(stream.Of(0).Repeat(many), src, second) }},
		{name: "Batch(1, 0)", sync: true, apply: func(src s) s { return flat(operators.Batch(src, 1, 0)) }},
		{name: "Batch(3, 0)", sync: true, ahead: 2, apply: func(src s) s { return flat(operators.Batch(src, 3, 0)) }},
		{name: "Batch(1, 1h)", ahead: 1, apply: func(src s) s { return flat(operators.Batch(src, 1, time.Hour)) }},
		{name: "Batch(3, 1ms)", ahead: 3, apart: true, apply: func(src s) s { return flat(operators.Batch(src, 3, ms)) }},
		{name: "Batch(MaxInt, 1ms)", ahead: 1, apart: true, apply: func(src s) s { return flat(operators.Batch(src, math.MaxInt, ms)) }},
		{name: "ZipWith3 first", apply: func(src s) s { return operators.ZipWith3(src, same, same, first3) }},
		{name: "ZipWith3 third", apply: func(src s) s {
			return operators.ZipWith3(same, same, src, func(_, _, c int) int { return c })
		}},
		{name: "ZipSlice", apply: func(src s) s { return operators.Map(operators.ZipSlice(same, src), last) }},
		{name: "ZipSlice alone", apply: func(src s) s { return flat(operators.ZipSlice(src)) }},
		{name: "CombineLatest3", apart: true, apply: func(src s) s {
			return operators.CombineLatest3(src, stream.Of(0), stream.Of(0), first3)
		}},
		{name: "CombineLatestSlice", apart: true, apply: func(src s) s {
			return operators.Map(operators.CombineLatestSlice(stream.Of(0), src), last)
		}},
		{name: "CombineLatestSlice alone", apply: func(src s) s { return flat(operators.CombineLatestSlice(src)) }},
		{name: "Race", apply: func(src s) s { return operators.Race(never, src, never) }},
		{name: "Race alone", plain: true, sync: true, apply: func(src s) s { return operators.Race(src) }},
		{name: "CombineLatest first", apart: true, apply: func(src s) s { return operators.CombineLatest(src, stream.Of(0), first) }},
		{name: "CombineLatest second", apart: true, apply: func(src s) s { return operators.CombineLatest(stream.Of(0), src, second) }},
		{name: "WithLatestFrom", apart: true, apply: func(src s) s { return operators.WithLatestFrom(src, zero, first) }},
		{name: "WithLatestFrom, other ended", apart: true, apply: func(src s) s { return operators.WithLatestFrom(src, stream.Of(0), first) }},
		{name: "GroupBy one", ahead: 1, apart: true, apply: func(src s) s {
			return operators.GroupBy(src, func(int) string { return "" }, func(_ string, group s) s { return group })
		}},
		{name: "GroupBy each", ahead: 20, apart: true, apply: func(src s) s {
			return operators.GroupBy(src, id, func(_ int, group s) s { return group })
		}},
		{name: "Window(2, 0)", ahead: 1, apply: func(src s) s { return operators.Window(src, 2, 0, func(window s) s { return window }) }},
		{name: "Window(2, 1h)", ahead: 1, apply: func(src s) s { return operators.Window(src, 2, time.Hour, func(window s) s { return window }) }},
		{name: "Window(MaxInt, 2.5s)", ahead: 1, apart: true, apply: func(src s) s {
			return operators.Window(src, math.MaxInt, 2500*ms, func(window s) s { return window })
		}},
		{name: "RepeatWhen", sync: true, apply: func(src s) s {
			return operators.RepeatWhen(src, func(stream.Stream[operators.Completion]) s { return stream.Empty[int]() })
		}},
		{name: "Share", apply: func(src s) s { return operators.Share(src) }},
		{name: "ShareN(1)", apply: func(src s) s { return operators.ShareN(src, 1) }},
		{name: "ShareReplay", apply: func(src s) s {
			return stream.Defer(func(context.Context) s { return operators.ShareReplay(src, 3) }) // or the second run would not run src
		}},
		{name: "all together", ahead: 3, apart: true, apply: func(src s) s {
			src = operators.TakeUntil(operators.Race(src, never), never)
			src = operators.ZipWith(operators.Share(src), stream.Range(0, math.MaxInt), first)
			src = operators.FlatMap(operators.SwitchMap(src, of), 2, of)
			return flat(operators.Batch(operators.MapErr(src, func(err error) error { return err }), 1, time.Hour))
		}},
	}
}

func flat(s stream.Stream[[]int]) stream.Stream[int] {
	return operators.ConcatMap(s, stream.FromSlice[int])
}

// eachOperator runs f for each operator, in a bubble of its own; probe makes its sources.
func eachOperator(t *testing.T, f func(t *testing.T, op operator, p *probe)) {
	for _, op := range all() {
		bubble(t, op.name, func(t *testing.T) { f(t, op, &probe{apart: op.apart}) })
	}
}

// probe makes sources that note how they fare.
type probe struct {
	apart   bool // sources wait before each value and before their end
	runs    atomic.Int64
	returns atomic.Int64
	made    atomic.Int64
}

// source yields 1 to n, then does as end says.
func (p *probe) source(n int, end func(ctx context.Context) error) stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		p.runs.Add(1)
		defer p.returns.Add(1)
		for i := range n + 1 {
			if p.apart {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if i == n {
				break
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
func (p *probe) over(t *testing.T) {
	t.Helper()
	if p.runs.Load() != p.returns.Load() {
		t.Errorf("%d runs of the source, %d have returned", p.runs.Load(), p.returns.Load())
	}
}

func well(context.Context) error { return nil }
func fail(context.Context) error { return errBoom }
func wait(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

const many = 1 << 20

// expectValues runs s and checks its values and the error that ended it.
func expectValues[T comparable](t *testing.T, s stream.Stream[T], want []T, end error) {
	t.Helper()
	got, err := s.Collect(t.Context())
	if !slices.Equal(got, want) || !errors.Is(err, end) {
		t.Errorf("got %v, %v, want %v, %v", got, err, want, end)
	}
}

func TestContract_ValuesAndEnd(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		expectValues(t, op.apply(p.source(7, well)), []int{1, 2, 3, 4, 5, 6, 7}, nil)
		p.over(t)
	})
}

func TestContract_Empty(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		expectValues(t, op.apply(p.source(0, well)), nil, nil)
		p.over(t)
	})
}

func TestContract_Failing(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		expectValues(t, op.apply(p.source(2, fail)), []int{1, 2}, errBoom)
		p.over(t)
	})
}

func TestContract_ConsumerStops(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		n := 0
		err := op.apply(p.source(many, well))(t.Context(), func(int) bool { n++; return n < 3 })
		if err != nil || n != 3 {
			t.Errorf("%d values, %v", n, err)
		}
		p.over(t)
	})
}

func TestContract_CancelWhileTheConsumerWorks(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		if op.name == "Batch(3, 0)" {
			return // what it has buffered is delivered by ConcatMap, which is another matter
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		err := op.apply(p.source(many, well))(ctx, func(int) bool {
			if n++; n == 3 {
				cancel(errCause)
			}
			return true
		})
		if !errors.Is(err, errCause) || n != 3 {
			t.Errorf("%d values, %v", n, err)
		}
		p.over(t)
	})
}

func TestContract_CancelWhileTheSourceWaits(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		want := []int{1, 2}
		if op.name == "Batch(3, 0)" {
			want = nil
		}
		start := time.Now()
		got, err := op.apply(p.source(2, wait)).Collect(cancelAt(t, time.Minute))
		if !errors.Is(err, errCause) || !slices.Equal(got, want) || time.Since(start) != time.Minute {
			t.Errorf("%v, %v after %v", got, err, time.Since(start))
		}
		p.over(t)
	})
}

func TestContract_CancelledBefore(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		got, err := op.apply(p.source(3, well)).Collect(ctx)
		if !errors.Is(err, errCause) || got != nil || p.made.Load() != 0 {
			t.Errorf("%v, %v; the source has made %d values", got, err, p.made.Load())
		}
		p.over(t)
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
		p.over(t)
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
		p.over(t)
	})
}

func TestContract_ConsumerExits(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		if !exits(func() { _ = op.apply(p.source(many, well)).ForEach(t.Context(), func(int) { runtime.Goexit() }) }) {
			t.Error("the goroutine went on")
		}
		p.over(t)
	})
}

func TestContract_SourcePanics(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		v := recovered(func() {
			_, _ = op.apply(p.source(1, func(context.Context) error { panic(errBoom) })).Collect(t.Context())
		})
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("panicked with %v", v)
		} else if err != errBoom && !strings.Contains(err.Error(), "TestContract_SourcePanics") {
			t.Errorf("the stack of the source is lost: %v", err)
		}
		p.over(t)
	})
}

func TestContract_SourceExits(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		exit := func(context.Context) error { runtime.Goexit(); return nil }
		if !exits(func() { _, _ = op.apply(p.source(1, exit)).Collect(t.Context()) }) {
			t.Error("the goroutine went on")
		}
		p.over(t)
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

func TestContract_SynchronousOperatorsStartNoGoroutine(t *testing.T) {
	for _, op := range all() {
		if !op.sync {
			continue
		}
		bubble(t, op.name, func(t *testing.T) {
			caller, before := goroutine.Current().ID, goroutine.Count()
			src := stream.Defer(func(context.Context) stream.Stream[int] {
				if id := goroutine.Current().ID; id != caller {
					t.Errorf("the source runs on goroutine %d, not on %d", id, caller)
				}
				return stream.Range(1, 3)
			})
			err := op.apply(src).ForEach(t.Context(), func(int) {
				if n := goroutine.Count(); n > before {
					t.Errorf("%d goroutines, %d before", n, before)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
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
			expectValues(t, s, []int{1, 2, 3}, nil)
		}
		if p.runs.Load() != 3 {
			t.Errorf("the source was run %d times", p.runs.Load())
		}
	})
}

func TestContract_RunSideBySide(t *testing.T) {
	eachOperator(t, func(t *testing.T, op operator, p *probe) {
		if strings.HasPrefix(op.name, "Share") || op.name == "all together" {
			return // not these
		}
		s := op.apply(stream.Of(1, 2, 3).Delay(time.Second))
		done := make(chan struct{})
		go func() {
			defer close(done)
			expectValues(t, s, []int{1, 2, 3}, nil)
		}()
		_ = s(t.Context(), func(int) bool {
			expectValues(t, s, []int{1, 2, 3}, nil) // a run inside a run
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
			got++
			if made := int(p.made.Load()); made > got+op.ahead {
				t.Errorf("%d made when %d have come, want at most %d more", made, got, op.ahead)
			}
		})
		if err != nil || got < 20 {
			if op.name != "SwitchMap outer" && op.name != "ExhaustMap outer" && op.name != "all together" {
				t.Errorf("%d values, %v", got, err)
			}
		}
	})
}

// Cancelling at any point gives either all the values and no error, or the cause, and leaves nothing behind.
func TestContract_CancelAtAnyMoment(t *testing.T) {
	for _, op := range all() {
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
				last := -1
				err := op.apply(stream.Range(0, 30)).ForEach(ctx, func(v int) {
					if v != last+1 {
						t.Errorf("%d came after %d", v, last)
					}
					last = v
				})
				if err != nil && !errors.Is(err, errCause) || err == nil && last != 29 {
					t.Errorf("%v after %d", err, last)
				}
				<-done
			}
		})
	}
}

// What an operator is built with is checked when it is built.
func TestContract_MistakesPanicAtConstruction(t *testing.T) {
	type ints = stream.Stream[int]
	s, none := stream.Of(1), ints(nil)
	id := func(v int) int { return v }
	of := func(v int) ints { return s }
	add := func(a, b int) int { return a + b }
	by := func(_ int, group ints) ints { return group }
	all := func(window ints) ints { return window }
	for want, build := range map[string]func(){
		"operators: Map: s is nil": func() { operators.Map(none, id) },
		"operators: Map: f is nil": func() { operators.Map[int, int](s, nil) },
		"operators: TryMap: s is nil": func() {
			operators.TryMap(none, func(context.Context, int) (int, error) { return 0, nil })
		},
		"operators: TryMap: f is nil": func() { operators.TryMap[int, int](s, nil) },
		"operators: TryFilter: s is nil": func() {
			operators.TryFilter(none, func(context.Context, int) (bool, error) { return true, nil })
		},
		"operators: TryFilter: keep is nil":                      func() { operators.TryFilter(s, nil) },
		"operators: ExhaustMap: s is nil":                        func() { operators.ExhaustMap(none, of) },
		"operators: ExhaustMap: f is nil":                        func() { operators.ExhaustMap[int, int](s, nil) },
		"operators: MapErr: s is nil":                            func() { operators.MapErr(none, func(err error) error { return err }) },
		"operators: MapErr: f is nil":                            func() { operators.MapErr(s, nil) },
		"operators: Scan: s is nil":                              func() { operators.Scan(none, 0, add) },
		"operators: Scan: f is nil":                              func() { operators.Scan(s, 0, nil) },
		"operators: Reduce: s is nil":                            func() { operators.Reduce(none, 0, add) },
		"operators: Reduce: f is nil":                            func() { operators.Reduce(s, 0, nil) },
		"operators: Count: s is nil":                             func() { operators.Count(none) },
		"operators: First: s is nil":                             func() { operators.First(none) },
		"operators: Last: s is nil":                              func() { operators.Last(none) },
		"operators: ConcatMap: s is nil":                         func() { operators.ConcatMap(none, of) },
		"operators: ConcatMap: f is nil":                         func() { operators.ConcatMap[int, int](s, nil) },
		"operators: FlatMap: s is nil":                           func() { operators.FlatMap(none, 1, of) },
		"operators: FlatMap: concurrency is 0, want at least 1":  func() { operators.FlatMap(s, 0, of) },
		"operators: FlatMap: concurrency is -7, want at least 1": func() { operators.FlatMap(s, -7, of) },
		"operators: FlatMap: f is nil":                           func() { operators.FlatMap[int, int](s, 1, nil) },
		"operators: SwitchMap: s is nil":                         func() { operators.SwitchMap(none, of) },
		"operators: SwitchMap: f is nil":                         func() { operators.SwitchMap[int, int](s, nil) },
		"operators: Zip: a is nil":                               func() { operators.Zip(none, s) },
		"operators: Zip: b is nil":                               func() { operators.Zip(s, none) },
		"operators: ZipWith: a is nil":                           func() { operators.ZipWith(none, s, add) },
		"operators: ZipWith: b is nil":                           func() { operators.ZipWith(s, none, add) },
		"operators: ZipWith: f is nil":                           func() { operators.ZipWith[int, int, int](s, s, nil) },
		"operators: TakeUntil: s is nil":                         func() { operators.TakeUntil(none, s) },
		"operators: TakeUntil: stop is nil":                      func() { operators.TakeUntil(s, none) },
		"operators: Batch: s is nil":                             func() { operators.Batch(none, 1, 0) },
		"operators: Batch: most is 0, want at least 1":           func() { operators.Batch(s, 0, 0) },
		"operators: Batch: wait is -1ns, want at least 0":        func() { operators.Batch(s, 1, -1) },
		"operators: ShareReplay: s is nil":                       func() { operators.ShareReplay(none, 1) },
		"operators: ShareReplay: n is 0, want at least 1":        func() { operators.ShareReplay(s, 0) },
		"operators: ZipWith3: a is nil":                          func() { operators.ZipWith3(none, s, s, add3) },
		"operators: ZipWith3: b is nil":                          func() { operators.ZipWith3(s, none, s, add3) },
		"operators: ZipWith3: c is nil":                          func() { operators.ZipWith3(s, s, none, add3) },
		"operators: ZipWith3: f is nil":                          func() { operators.ZipWith3[int, int, int, int](s, s, s, nil) },
		"operators: ZipSlice: s[0] is nil":                       func() { operators.ZipSlice(none, s) },
		"operators: CombineLatest3: a is nil":                    func() { operators.CombineLatest3(none, s, s, add3) },
		"operators: CombineLatest3: b is nil":                    func() { operators.CombineLatest3(s, none, s, add3) },
		"operators: CombineLatest3: c is nil":                    func() { operators.CombineLatest3(s, s, none, add3) },
		"operators: CombineLatest3: f is nil":                    func() { operators.CombineLatest3[int, int, int, int](s, s, s, nil) },
		"operators: CombineLatestSlice: s[1] is nil":             func() { operators.CombineLatestSlice(s, none) },
		"operators: Race: s[1] is nil":                           func() { operators.Race(s, none) },
		"operators: CombineLatest: a is nil":                     func() { operators.CombineLatest(none, s, add) },
		"operators: CombineLatest: b is nil":                     func() { operators.CombineLatest(s, none, add) },
		"operators: CombineLatest: f is nil":                     func() { operators.CombineLatest[int, int, int](s, s, nil) },
		"operators: WithLatestFrom: s is nil":                    func() { operators.WithLatestFrom(none, s, add) },
		"operators: WithLatestFrom: other is nil":                func() { operators.WithLatestFrom(s, none, add) },
		"operators: WithLatestFrom: f is nil":                    func() { operators.WithLatestFrom[int, int, int](s, s, nil) },
		"operators: Sample: s is nil":                            func() { operators.Sample(none, s) },
		"operators: Sample: sampler is nil":                      func() { operators.Sample(s, none) },
		"operators: Pairwise: s is nil":                          func() { operators.Pairwise(none) },
		"operators: Distinct: s is nil":                          func() { operators.Distinct(none) },
		"operators: DistinctBy: s is nil":                        func() { operators.DistinctBy(none, id) },
		"operators: DistinctBy: key is nil":                      func() { operators.DistinctBy[int, int](s, nil) },
		"operators: DistinctUntilChanged: s is nil":              func() { operators.DistinctUntilChanged(none) },
		"operators: DistinctUntilChangedBy: s is nil":            func() { operators.DistinctUntilChangedBy(none, id) },
		"operators: DistinctUntilChangedBy: key is nil":          func() { operators.DistinctUntilChangedBy[int, int](s, nil) },
		"operators: GroupBy: s is nil":                           func() { operators.GroupBy(none, id, by) },
		"operators: GroupBy: key is nil":                         func() { operators.GroupBy[int, int](s, nil, by) },
		"operators: GroupBy: f is nil":                           func() { operators.GroupBy[int, int, int](s, id, nil) },
		"operators: Window: s is nil":                            func() { operators.Window(none, 1, 0, all) },
		"operators: Window: most is 0, want at least 1":          func() { operators.Window(s, 0, 0, all) },
		"operators: Window: span is -1s, want at least 0":        func() { operators.Window(s, 1, -time.Second, all) },
		"operators: Window: f is nil":                            func() { operators.Window[int, int](s, 1, 0, nil) },
		"operators: RepeatWhen: s is nil":                        func() { operators.RepeatWhen(none, func(stream.Stream[operators.Completion]) ints { return s }) },
		"operators: RepeatWhen: h is nil":                        func() { operators.RepeatWhen[int, int](s, nil) },
		"operators: Share: s is nil":                             func() { operators.Share(none) },
		"operators: ShareN: s is nil":                            func() { operators.ShareN(none, 2) },
		"operators: ShareN: n is 0, want at least 1":             func() { operators.ShareN(s, 0) },
	} {
		t.Run(want, func(t *testing.T) { expectPanic(t, want, build) })
	}
}

// A function that returns a nil stream at run time is a clear error, and what runs beside it has returned.
func TestContract_NilInnerStream(t *testing.T) {
	type s = stream.Stream[int]
	bad := func(v int) s {
		if v == 2 {
			return nil
		}
		return stream.Of(v)
	}
	for want, apply := range map[string]func(s) s{
		"operators: ConcatMap: f returned a nil stream":  func(src s) s { return operators.ConcatMap(src, bad) },
		"operators: FlatMap: f returned a nil stream":    func(src s) s { return operators.FlatMap(src, 2, bad) },
		"operators: SwitchMap: f returned a nil stream":  func(src s) s { return operators.SwitchMap(src, bad) },
		"operators: ExhaustMap: f returned a nil stream": func(src s) s { return operators.ExhaustMap(src, bad) },
		"operators: GroupBy: f returned a nil stream": func(src s) s {
			return operators.GroupBy(src, func(v int) int { return v }, func(k int, _ s) s { return bad(k) })
		},
		"operators: Window: f returned a nil stream": func(src s) s { return operators.Window(src, 1, 0, func(s) s { return nil }) },
		"operators: RepeatWhen: h returned a nil stream": func(src s) s {
			return operators.RepeatWhen(src, func(stream.Stream[operators.Completion]) s { return nil })
		},
	} {
		bubble(t, want, func(t *testing.T) {
			p := &probe{apart: true}
			_, err := apply(p.source(3, well)).Collect(t.Context())
			if err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
			p.over(t)
		})
	}
}
