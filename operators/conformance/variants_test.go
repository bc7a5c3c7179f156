package conformance_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// variant makes an entry that is not drawn: another way to use an operator, in which it passes on everything that its
// source does.
func variant(name string, apply func(text) text, isRacing ...bool) entry {
	e := op(name, "", given("x"), func(in []text) text { return apply(in[0]) }, isRacing...)
	e.apply = apply
	return e
}

// variants are checked with the catalogue. If a variant has several sources, its name says which one is checked.
var variants = []entry{
	variant("Concat/second", func(s text) text { return stream.Empty[string]().Concat(s) }).with(synchronous),
	variant("Skip/what Concat prepends", func(s text) text { return stream.Of("").Concat(s).Skip(1) }).with(synchronous),
	variant("SwitchIfEmpty/second", func(s text) text { return stream.Empty[string]().SwitchIfEmpty(s) }).with(synchronous | trusting),
	variant("Catch/second", func(s text) text { return stream.Fail[string](errBoom).Catch(func(error) text { return s }) }).with(synchronous | trusting),
	variant("Merge/alone", func(s text) text { return s.Merge() }).with(passing | trusting),
	variant("Merge/with nothing", func(s text) text { return s.Merge(stream.Empty[string]()) }),
	variant("TakeUntilDone/never", func(s text) text { return s.TakeUntilDone(make(chan struct{})) }).with(careless),
	variant("Timeout/1h", func(s text) text { return s.Timeout(time.Hour) }).with(synchronous | looking | stopping),
	variant("Delay/none", func(s text) text { return s.Delay(0) }).with(passing | trusting),
	variant("Debounce/1ms", func(s text) text { return s.Debounce(ms) }, racing).readsAhead(1),
	variant("Throttle/1ms", func(s text) text { return s.Throttle(ms) }, racing).with(passing | trusting),
	variant("ThrottleLatest/1ms", func(s text) text { return s.ThrottleLatest(ms) }, racing).readsAhead(1),
	variant("TimeShift/1", func(s text) text { return s.TimeShift(ms, 1) }).with(passing | stopping),
	variant("TimeShift/5", func(s text) text { return s.TimeShift(ms, 5) }).readsAhead(4),
	variant("Using", func(s text) text {
		open := func(context.Context) (int, error) { return 0, nil }
		return stream.Using(open, func(int) text { return s }, func(int) error { return nil })
	}).with(synchronous),
	variant("Buffer/1", func(s text) text { return s.Buffer(1) }).readsAhead(1),
	variant("Buffer/5", func(s text) text { return s.Buffer(5) }).readsAhead(5),
	variant("Repeat/once", func(s text) text { return s.Repeat(1) }).with(synchronous | looking),
	variant("All", func(s text) text { return stream.FromSeq2(s.All) }).with(synchronous),
	variant("MustNotEnd/caught", func(s text) text {
		end := errors.New("end")
		return s.MustNotEnd(end).Catch(func(err error) text {
			if err == end {
				return stream.Empty[string]()
			}
			return stream.Fail[string](err)
		})
	}).with(passing | looking),
	variant("Merge, Timeout, Buffer and Retry", func(s text) text {
		return s.Merge(stream.Empty[string]()).Timeout(time.Hour).Buffer(2).Retry(0).Merge(stream.Empty[string]()).Take(1000)
	}).readsAhead(2),

	variant("MapRetry/one worker, in order", func(s text) text {
		return operators.MapRetry(s, constant(0), func(_ context.Context, v string) (string, error) { return v, nil },
			operators.MapRetryOptions[string]{Workers: 1, Ordered: true})
	}).readsAhead(9),
	variant("ConcatMap/outer", func(s text) text { return operators.ConcatMap(s, only) }).with(passing | looking | stopping),
	variant("ConcatMap/inner", func(s text) text { return operators.ConcatMap(one, always(s)) }).with(synchronous | looking),
	variant("FlatMap(1)/outer", func(s text) text { return operators.FlatMap(s, 1, only) }).with(passing | stopping),
	variant("FlatMap(1)/inner", func(s text) text { return operators.FlatMap(one, 1, always(s)) }).with(synchronous),
	variant("FlatMap(2)/outer", func(s text) text { return operators.FlatMap(s, 2, only) }, racing).readsAhead(3),
	variant("FlatMap(2)/inner", func(s text) text { return operators.FlatMap(one, 2, always(s)) }),
	variant("FlatMap(MaxInt)/inner", func(s text) text { return operators.FlatMap(one, math.MaxInt, always(s)) }),
	variant("SwitchMap/outer", func(s text) text { return operators.SwitchMap(s, only) }, racing).readsAhead(1),
	variant("SwitchMap/inner", func(s text) text { return operators.SwitchMap(one, always(s)) }).with(careless),
	variant("ExhaustMap/outer", func(s text) text { return operators.ExhaustMap(s, only) }, racing).readsAhead(-1),
	variant("ExhaustMap/inner", func(s text) text { return operators.ExhaustMap(one, always(s)) }).with(careless),
	variant("TakeUntil/never", func(s text) text { return operators.TakeUntil(s, stream.Never[int]()) }).with(careless),
	variant("TakeUntil/stop ended", func(s text) text { return operators.TakeUntil(s, stream.Empty[int]()) }).with(careless),
	variant("ZipWith/first", func(s text) text { return operators.ZipWith(s, ones, first) }),
	variant("ZipWith/second", func(s text) text { return operators.ZipWith(ones, s, second) }),
	variant("Batch(1, 0)", func(s text) text { return flat(operators.Batch(s, 1, 0)) }).with(passing),
	variant("Batch(3, 0)", func(s text) text { return flat(operators.Batch(s, 3, 0)) }).readsAhead(2).with(passing),
	variant("Batch(1, 1h)", func(s text) text { return flat(operators.Batch(s, 1, time.Hour)) }).readsAhead(1),
	variant("Batch(3, 1ms)", func(s text) text { return flat(operators.Batch(s, 3, ms)) }, racing).readsAhead(3),
	variant("Batch(MaxInt, 1ms)", func(s text) text { return flat(operators.Batch(s, math.MaxInt, ms)) }, racing).readsAhead(1),
	variant("ZipWith3/first", func(s text) text { return operators.ZipWith3(s, ones, ones, first3) }),
	variant("ZipWith3/third", func(s text) text { return operators.ZipWith3(ones, ones, s, func(_, _, c string) string { return c }) }),
	variant("ZipSlice/second", func(s text) text { return operators.Map(operators.ZipSlice(ones, s), last) }),
	variant("ZipSlice/alone", func(s text) text { return flat(operators.ZipSlice(s)) }).with(synchronous),
	variant("CombineLatest3/first", func(s text) text { return operators.CombineLatest3(s, one, one, first3) }, racing),
	variant("CombineLatestSlice/second", func(s text) text { return operators.Map(operators.CombineLatestSlice(one, s), last) }, racing),
	variant("CombineLatestSlice/alone", func(s text) text { return flat(operators.CombineLatestSlice(s)) }),
	variant("Race/second of three", func(s text) text { return operators.Race(stream.Never[string](), s, stream.Never[string]()) }),
	variant("Race/alone", func(s text) text { return operators.Race(s) }).with(passing | trusting),
	variant("CombineLatest/first", func(s text) text { return operators.CombineLatest(s, one, first) }, racing),
	variant("CombineLatest/second", func(s text) text { return operators.CombineLatest(one, s, second) }, racing),
	variant("WithLatestFrom/one", func(s text) text { return operators.WithLatestFrom(s, one, first) }, racing).with(careless),
	variant("WithLatestFrom/one and no end", func(s text) text {
		return operators.WithLatestFrom(s, one.Concat(stream.Never[string]()), first)
	}, racing).with(careless),
	variant("GroupBy/one group", func(s text) text {
		return operators.GroupBy(s, func(string) string { return "" }, func(_ string, group text) text { return group })
	}, racing).readsAhead(1),
	variant("GroupBy/a group each", func(s text) text {
		return operators.GroupBy(s, func(v string) string { return v }, func(_ string, group text) text { return group })
	}, racing).readsAhead(-1),
	variant("Window(2, 0)", func(s text) text { return operators.Window(s, 2, 0, same) }).readsAhead(1),
	variant("Window(2, 1h)", func(s text) text { return operators.Window(s, 2, time.Hour, same) }).readsAhead(1),
	variant("Window(MaxInt, 15ms)", func(s text) text { return operators.Window(s, math.MaxInt, 15*ms, same) }, racing).readsAhead(1),
	variant("RepeatWhen/not", func(s text) text {
		return operators.RepeatWhen(s, func(stream.Stream[operators.Completion]) text { return stream.Empty[string]() })
	}).with(passing | looking),
	variant("Resume/without a failure", func(s text) text {
		return operators.Resume("", func(string) text { return s }, join, handler(func(f failures) failures { return f.Take(0) }))
	}).with(passing),
	variant("ResumeMarked/without a failure", func(s text) text {
		return operators.ResumeMarked("", func(at string) stream.Stream[operators.Marked[string, string]] {
			return operators.ConcatMap(s, func(v string) stream.Stream[operators.Marked[string, string]] {
				return stream.Of(operators.Marked[string, string]{At: at, Bookmark: true}, operators.Marked[string, string]{Value: v, At: v})
			})
		}, handler(func(f failures) failures { return f.Take(0) }))
	}).with(passing),
	variant("FromCallbacks", func(s text) text { return stream.FromCallbacks(s) }),
	variant("ShareReplay", func(s text) text {
		return stream.Defer(func(context.Context) text { return operators.ShareReplay(s, 3) }) // else the second run would not run s
	}),
	variant("TakeUntil, Race, ZipWith, Share, SwitchMap, FlatMap and Batch", func(s text) text {
		s = operators.TakeUntil(operators.Race(s, stream.Never[string]()), stream.Never[string]())
		s = operators.ZipWith(operators.Share(s), ones, first)
		s = operators.FlatMap(operators.SwitchMap(s, only), 2, only)
		return flat(operators.Batch(operators.MapErr(s, func(err error) error { return err }), 1, time.Hour))
	}, racing).readsAhead(3),
}

var (
	one  = stream.Of("")
	ones = one.Repeat(1 << 20)
)

func first3(a, _, _ string) string        { return a }
func last(v []string) string              { return v[len(v)-1] }
func only(v string) text                  { return stream.Of(v) }
func same(s text) text                    { return s }
func second(_, b string) string           { return b }
func always(s text) func(string) text     { return func(string) text { return s } }
func flat(s stream.Stream[[]string]) text { return operators.ConcatMap(s, stream.FromSlice[string]) }

// A run that has ended leaves no context that its parent would keep.
func TestVariants_ContextsOfARunEndWithIt(t *testing.T) {
	for _, e := range variants {
		bubble(t, e.name, func(t *testing.T) {
			ctx := &check.Parent{Context: t.Context()}
			for _, end := range []text{stream.Empty[string](), stream.Fail[string](errBoom)} {
				for _, stop := range []int{1, 9} {
					n := 0
					_ = e.run(ctx, paced("abc", 6*ms, end), func(any) bool { n++; return n < stop })
				}
			}
			if n := ctx.Waiting.Load(); n != 0 {
				t.Errorf("%d contexts are left", n)
			}
		})
	}
}

// A variant passes on the values and the end of its source.
func TestVariants_ValuesAndEnd(t *testing.T) {
	for _, e := range variants {
		bubble(t, e.name, func(t *testing.T) {
			for letters, end := range map[string]text{"abcdefg": stream.Empty[string](), "ab": stream.Fail[string](errBoom), "": stream.Empty[string]()} {
				var came strings.Builder
				err := e.run(t.Context(), paced(letters, 6*ms, end), func(v any) bool {
					came.WriteString(v.(string))
					return true
				})
				if failed := letters == "ab"; came.String() != letters || errors.Is(err, errBoom) != failed || (err != nil) != failed {
					t.Errorf("got %s, %v, want %s", &came, err, letters)
				}
			}
		})
	}
}

// Cancelling at any moment gives either all the values and no error, or the cause, and leaves nothing behind.
func TestVariants_CancelAtAnyMoment(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	for _, e := range variants {
		if e.racing {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			for round := range 50 {
				ctx, cancel := context.WithCancelCause(t.Context())
				done := check.After(round*3, func() { cancel(errCause) })
				var came strings.Builder
				err := e.run(ctx, stream.FromSlice(strings.Split(letters, "")), func(v any) bool {
					came.WriteString(v.(string))
					return true
				})
				if got := came.String(); !strings.HasPrefix(letters, got) || err == nil && got != letters ||
					err != nil && (!errors.Is(err, errCause) || !errors.Is(err, context.Canceled)) {
					t.Errorf("%v after %s", err, got)
				}
				<-done
			}
		})
	}
}

// Inside Resume's open or after Resume, a variant neither loses nor doubles a value, because the position follows
// Resume's own consumer.
func TestVariants_WithResume(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvw"
	chans := variant("Chans", func(s text) text {
		return stream.FromChans(func(ctx context.Context) (<-chan string, <-chan error) { return s.Chans(ctx, 2) })
	})
	for _, e := range append(slices.Clone(variants), chans) {
		for place, isInside := range map[string]bool{"inside": true, "behind": false} {
			bubble(t, e.name+"/"+place, func(t *testing.T) {
				var taken, came strings.Builder
				resumed := operators.Resume("", func(at string) text {
					if at != taken.String() {
						t.Errorf("open(%s), but the consumer has taken %s", at, &taken)
					}
					src := paced(letters[len(at):], 6*ms, stream.Empty[string]())
					if len(at)+7 < len(letters) {
						src = paced(letters[len(at):len(at)+7], 6*ms, stream.Fail[string](errBoom))
					}
					if isInside {
						return e.apply(src)
					}
					return src
				}, join, again(0))
				all := text(func(ctx context.Context, yield func(string) bool) error {
					return resumed(ctx, func(v string) bool {
						goesOn := yield(v)
						if goesOn {
							taken.WriteString(v)
						}
						return goesOn
					})
				})
				if !isInside {
					all = e.apply(all)
				}
				err := all.ForEach(t.Context(), func(v string) { came.WriteString(v) })
				if err != nil || came.String() != letters {
					t.Errorf("got %s, %v", &came, err)
				}
			})
		}
	}
}
