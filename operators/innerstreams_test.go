package operators_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// A panic of the source cancels the inner stream, and is raised on the caller's goroutine.
func TestInnerStreams_APanicOfTheSource(t *testing.T) {
	for name, apply := range map[string]func(s strs, f func(string) strs) strs{
		"FlatMap":    func(s strs, f func(string) strs) strs { return operators.FlatMap(s, 2, f) },
		"SwitchMap":  operators.SwitchMap[string, string],
		"ExhaustMap": operators.ExhaustMap[string, string],
	} {
		bubble(t, name, func(t *testing.T) {
			src := fromScript("0a 10|").Concat(stream.Defer(func(context.Context) strs { panic(errBoom) }))
			expectBoom(t, func() { _, _ = apply(src, func(string) strs { return stream.Never[string]() }).Collect(t.Context()) })
		})
	}
}

// If several of them are retried, a cancel keeps the failure of each.
func TestRetriedStreamsInside_ACancelKeepsAllFailures(t *testing.T) {
	other := errors.New("another failure")
	retried := func(err error) strs {
		return stream.Fail[string](err).RetryWhen(constant(time.Hour))
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
		"Buffer":         boom.Buffer(1).Merge(late),
		"Share":          operators.Share(boom).Merge(late),
		"Debounce":       boom.Debounce(time.Second).Merge(late),
		"Batch":          operators.ConcatMap(operators.Batch(boom, 3, time.Second), stream.FromSlice[string]).Merge(late),
		"ConcatMap":      operators.ConcatMap(fromScript("0a"), pick).Merge(late),
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

func TestSwitchMap_LatestOnly(t *testing.T) {
	session(t, "of values that come at once the last one counts", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.SwitchMap(cold(s, "(abc)|"), inner(s, "-x--X|"))).ToBe("-c--C|")
	})
}

func TestSwitchMap_InnerStreamHasReturnedBeforeTheNextStarts(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		var log []string
		each := windingDown(cold(s, "-x--|"), 2*ms)
		switched := operators.SwitchMap(cold(s, "a--b-|"), func(v string) stream.Stream[string] {
			log = append(log, "made "+v)
			return func(ctx context.Context, yield func(string) bool) error {
				log = append(log, "begun "+v)
				defer func() { log = append(log, "over "+v) }()
				return each(ctx, yield)
			}
		})
		streamtest.Expect(s, switched).ToBe("-x----x--|")
		if got := strings.Join(log, ", "); got != "made a, begun a, over a, made b, begun b, over b" {
			s.T().Error(got)
		}
	})
}

// deaf yields v three times, and ignores its context. Its error does not count: it is cancelled when it returns it.
func deaf(v string) strs {
	return func(_ context.Context, yield func(string) bool) error {
		for range 3 {
			time.Sleep(2 * ms)
			if !yield(v) {
				return errCause
			}
		}
		return nil
	}
}

// Even a stream that ignores its context delivers no value after the switch.
func TestSwitchMap_NoValueAfterTheNewOne(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		streamtest.Expect(s, operators.SwitchMap(cold(s, "a--b------|"), deaf)).ToBe("--a---b-b-(b|)")
	})
}

func TestSwitchMap_Errors(t *testing.T) {
	session(t, "one that a cancelled inner stream returns does not count", func(s *streamtest.Session) {
		each := cold(s, "-x---|")
		switched := operators.SwitchMap(cold(s, "a--b-|"), func(string) strs {
			return func(ctx context.Context, yield func(string) bool) error {
				if each(ctx, yield) != nil {
					return errBoom
				}
				return nil
			}
		})
		streamtest.Expect(s, switched).ToBe("-x--x---|")
	})
	t.Run("a panic of an inner stream passes through untouched", func(t *testing.T) {
		v := recovered(func() {
			_, _ = operators.SwitchMap(stream.Of("a"), func(string) stream.Stream[int] {
				return stream.Defer(func(context.Context) stream.Stream[int] { panic("mine") })
			}).Collect(t.Context())
		})
		if v != "mine" {
			t.Errorf("%v", v)
		}
	})
}

// While the consumer is busy the inner stream is cancelled, and s waits with its new value.
func TestSwitchMap_BusyConsumer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		cancelled := make(chan time.Duration, 10)
		start := time.Now()
		s := operators.SwitchMap(fromScript("0a 20b 30c 200|"), func(v string) stream.Stream[string] {
			return func(ctx context.Context, yield func(string) bool) error {
				context.AfterFunc(ctx, func() { cancelled <- time.Since(start) })
				return operators.Map(fromScript("10x 20y 30|"), prefixed(v))(ctx, yield)
			}
		})
		// a is cancelled at 20 while its x is in hand; b is taken at 110 and c, which waits, cancels it at once.
		expectBusy(t, s, 100*ms, "10ax 120cx 220cy 320|")
		if at := <-cancelled; at != 20*ms {
			t.Errorf("cancelled at %v", at)
		}
	})
}

func TestExhaustMap_OneAtATime(t *testing.T) {
	session(t, "of values that come at once the first one counts", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.ExhaustMap(cold(s, "(abc)-|"), inner(s, "-xX|"))).ToBe("-aA---|")
	})
	bubble(t, "while the consumer has a value in hand its inner stream runs", func(t *testing.T) {
		inner := func(v string) strs { return operators.Map(fromScript("10x 20y 30|"), prefixed(v)) }
		expectBusy(t, operators.ExhaustMap(fromScript("0a 50b 200c 400|"), inner), 50*ms, "10ax 60ay 210cx 260cy 400|")
	})
	bubble(t, "a source that does not wait", func(t *testing.T) {
		n := 0
		s := operators.ExhaustMap(stream.Range(0, 10_000), func(v int) ints { return stream.Of(v) })
		last := -1
		if err := s.ForEach(t.Context(), func(v int) {
			if v <= last {
				t.Errorf("%d after %d", v, last)
			}
			last = v
			n++
		}); err != nil || n == 0 {
			t.Error(n, err)
		}
	})
}

func TestExhaustMap_Errors(t *testing.T) {
	session(t, "what a cancelled inner stream yields comes before the error, and its own error does not count", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.ExhaustMap(cold(s, "a--#"), deaf)).ToBe("--a-a-(a#)")
	})
}
