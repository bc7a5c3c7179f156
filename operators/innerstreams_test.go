package operators_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
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
