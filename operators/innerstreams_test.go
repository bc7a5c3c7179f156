package operators_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// withInner are the operators that run a stream for each value.
var withInner = map[string]func(s strs, f func(string) strs) strs{
	"ConcatMap":  operators.ConcatMap[string, string],
	"FlatMap":    func(s strs, f func(string) strs) strs { return operators.FlatMap(s, 2, f) },
	"SwitchMap":  operators.SwitchMap[string, string],
	"ExhaustMap": operators.ExhaustMap[string, string],
}

// What they have in common: at any end, the source and the inner stream have returned at that instant.
func TestInnerStreams(t *testing.T) {
	for name, apply := range withInner {
		for what, c := range map[string]struct{ source, inner, during, want, subs, inners string }{
			"no value":                                {source: "--|", want: "--|", subs: "^-!"},
			"a failure without a value":               {source: "--#", want: "--#", subs: "^-!"},
			"the inner stream ends last":              {source: "a-|", inner: "-x--|", want: "-x--|", subs: "^-!", inners: "^---!"},
			"the source ends last":                    {source: "a-----|", inner: "-x--|", want: "-x----|", subs: "^-----!", inners: "^---!"},
			"the inner stream's error":                {source: "a-------b", inner: "-x#", want: "-x#", subs: "^-!", inners: "^-!"},
			"the source's error":                      {source: "a--#", inner: "-x", want: "-x-#", subs: "^--!", inners: "^--!"},
			"cancelled in the inner stream":           {source: "a---", inner: "-x--", during: "------!", want: "-x-----", subs: "^-----!", inners: "^-----!"},
			"cancelled when the inner stream is over": {source: "a---", inner: "-x|", during: "------!", want: "-x-----", subs: "^-----!", inners: "^-!"},
		} {
			if name == "ConcatMap" { // its source waits while the inner stream runs
				switch what {
				case "the source's error":
					continue
				case "the inner stream ends last":
					c.subs = "^---!"
				}
			}
			t.Run(name+"/"+what, func(t *testing.T) {
				streamtest.Run(t, func(s *streamtest.Session) {
					src, inner := streamtest.Cold[string](s, c.source), streamtest.Cold[string](s, c.inner)
					streamtest.ExpectDuring(s, apply(src.Stream, func(string) strs { return inner.Stream }), c.during).ToBe(c.want)
					src.Subscriptions(c.subs)
					if c.inners != "" {
						inner.Subscriptions(c.inners)
					}
				})
			})
		}
	}
}

// A panic of the source cancels the inner stream, and is raised on the caller's goroutine.
func TestInnerStreams_APanicOfTheSource(t *testing.T) {
	for name, apply := range withInner {
		if name == "ConcatMap" {
			continue
		}
		bubble(t, name, func(t *testing.T) {
			src := fromScript("0a 10|").Concat(stream.Defer(func(context.Context) strs { panic(errBoom) }))
			v := recovered(func() { _, _ = apply(src, func(string) strs { return stream.Never[string]() }).Collect(t.Context()) })
			if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
				t.Errorf("%v", v)
			}
		})
	}
}

// At a cancel, the last failure of a stream that is retried inside is not lost.
func TestARetriedStreamInside_ACancelKeepsItsFailure(t *testing.T) {
	all := map[string]strs{
		"ZipWith":        operators.ZipWith(waitingForRetry, fromScript(""), join),
		"TakeUntil":      operators.TakeUntil(waitingForRetry, stream.Never[int]()),
		"Merge":          stream.Never[string]().Merge(waitingForRetry),
		"CombineLatest":  operators.CombineLatest(fromScript("0a"), waitingForRetry, join),
		"WithLatestFrom": operators.WithLatestFrom(fromScript(""), waitingForRetry, join),
		"Race":           operators.Race(fromScript(""), waitingForRetry),
		"Sample":         operators.Sample(waitingForRetry, stream.Never[int]()),
		"Buffer":         waitingForRetry.Buffer(1),
		"Share":          operators.Share(waitingForRetry),
		"Debounce":       waitingForRetry.Debounce(time.Second),
		"Batch":          operators.ConcatMap(operators.Batch(waitingForRetry, 3, time.Second), stream.FromSlice[string]),
	}
	for name, apply := range withInner {
		all[name] = apply(fromScript("0a"), func(string) strs { return waitingForRetry })
	}
	for name, s := range all {
		bubble(t, name, func(t *testing.T) {
			for range 20 { // its streams return at the same time
				if _, err := s.Collect(cancelAt(t, time.Minute)); !errors.Is(err, errCause) || !errors.Is(err, errBoom) {
					t.Fatal(err)
				}
			}
		})
	}
}

// If several of them are retried, a cancel keeps the failure of each.
func TestRetriedStreamsInside_ACancelKeepsAllFailures(t *testing.T) {
	other := errors.New("another failure")
	retried := func(err error) strs {
		return stream.Fail[string](err).RetryWhen(retry.New(backoff.Constant(time.Hour)))
	}
	boom, late := retried(errBoom), retried(other)
	pick := func(v string) strs { return map[string]strs{"a": boom, "b": late}[v] }
	for name, s := range map[string]strs{
		"Merge":          boom.Merge(late),
		"ZipWith":        operators.ZipWith(boom, late, join),
		"ZipWith3":       operators.ZipWith3(fromScript(""), boom, late, func(string, string, string) string { return "" }),
		"CombineLatest":  operators.CombineLatest(boom, late, join),
		"WithLatestFrom": operators.WithLatestFrom(boom, late, join),
		"TakeUntil":      operators.TakeUntil(boom, late),
		"Sample":         operators.Sample(boom, late),
		"Race":           operators.Race(boom, late),
		"FlatMap":        operators.FlatMap(fromScript("0a 1b"), 2, pick),
		"FlatMap, s too": operators.FlatMap(stream.Of("a").Concat(late), 2, pick),
		"SwitchMap":      operators.SwitchMap(stream.Of("a").Concat(late), pick),
		"ExhaustMap":     operators.ExhaustMap(stream.Of("a").Concat(late), pick),
		"GroupBy":        operators.GroupBy(fromScript("0a 1b"), func(v string) string { return v }, func(v string, group strs) strs { return group.Take(1).Concat(pick(v)) }),
		"Window":         operators.Window(stream.Of("a").Concat(late), 9, 0, func(window strs) strs { return window.Take(1).Concat(boom) }),
	} {
		bubble(t, name, func(t *testing.T) {
			for range 20 {
				if _, err := s.Collect(cancelAt(t, time.Minute)); !errors.Is(err, errCause) || !errors.Is(err, errBoom) || !errors.Is(err, other) {
					t.Fatal(err)
				}
			}
		})
	}
}
