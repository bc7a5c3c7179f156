package operators_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

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

// A function that returns a nil stream at run time is a clear error, and what runs concurrently has returned.
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
			runs, returned := 0, 0
			src := stream.Defer(func(context.Context) s { runs++; return stream.Range(1, 3).Delay(ms) })
			_, err := apply(returns(src, &returned)).Collect(t.Context())
			if err == nil || err.Error() != want || runs != returned {
				t.Errorf("got %v; %d runs of the source, %d have returned", err, runs, returned)
			}
		})
	}
}
