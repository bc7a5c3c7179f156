package operators_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// Values that came before the source's error are delivered before it, whatever the scheduler does.
func TestBeforeAnError_NoValueIsLost(t *testing.T) {
	five := stream.Of(1, 2, 3, 4, 5).MustNotEnd(errBoom)
	for name, s := range map[string]ints{
		"GroupBy, one group":   operators.GroupBy(five, func(int) int { return 0 }, func(_ int, group ints) ints { return group }),
		"GroupBy, two groups":  operators.GroupBy(five, func(v int) int { return v % 2 }, func(_ int, group ints) ints { return group.Filter(positive) }),
		"GroupBy, five groups": operators.GroupBy(five, func(v int) int { return v }, func(_ int, group ints) ints { return group }),
		"GroupBy, Take(1)":     operators.GroupBy(five, func(int) int { return 0 }, func(_ int, group ints) ints { return group.Take(1) }),
		"FlatMap":              operators.FlatMap(five, math.MaxInt, self),
		"FlatMap, 2 at once":   operators.FlatMap(five, 2, self),
		"FlatMap, chains": operators.FlatMap(five, 3, func(v int) ints {
			return operators.Map(stream.Range(v, 1).Filter(positive).Take(3), func(v int) int { return v })
		}),
		"FlatMap, functions": operators.FlatMap(five, math.MaxInt, func(v int) ints {
			return func(_ context.Context, yield func(int) bool) error { yield(v); return nil }
		}),
		"ConcatMap": operators.ConcatMap(five, self),
		"Merge":     five.Merge(stream.Never[int]()),
		"Share":     operators.Share(five),
		"Buffer":    five.Buffer(2),
		"Batch":     flat(operators.Batch(five, 2, time.Hour)),
		"Batch and FlatMap": flat(operators.FlatMap(operators.Batch(five, 2, time.Hour), 2, func(v []int) stream.Stream[[]int] {
			return stream.Of(v)
		})),
		"Window": operators.Window(five, 2, 0, func(window ints) ints { return window }),
	} {
		t.Run(name, func(t *testing.T) {
			for range 2000 {
				got, err := s.Collect(t.Context())
				if slices.Sort(got); !slices.Equal(got, []int{1, 2, 3, 4, 5}) || err != errBoom {
					t.Fatal(got, err)
				}
			}
		})
	}
}

func positive(v int) bool { return v > 0 }

// The inner stream of the last value begins before the source's error ends it. A value that comes before the inner
// stream of the one before has begun is a switch, or ignored.
func TestBeforeAnError_LastInnerStreamBegins(t *testing.T) {
	one := stream.Of(7).MustNotEnd(errBoom)
	for name, s := range map[string]ints{
		"SwitchMap":  operators.SwitchMap(one, self),
		"ExhaustMap": operators.ExhaustMap(one, self),
		"FlatMap":    operators.FlatMap(one, 2, self),
	} {
		t.Run(name, func(t *testing.T) {
			for range 20_000 {
				if got, err := s.Collect(t.Context()); !slices.Equal(got, []int{7}) || err != errBoom {
					t.Fatal(got, err)
				}
			}
		})
	}
	t.Run("SwitchMap, the last of five", func(t *testing.T) {
		s := operators.SwitchMap(stream.Of(1, 2, 3, 4, 5).MustNotEnd(errBoom), self)
		for range 2000 {
			if got, err := s.Collect(t.Context()); len(got) == 0 || got[len(got)-1] != 5 || err != errBoom {
				t.Fatal(got, err)
			}
		}
	})
}

// What an inner stream yields after the source's error, before it has returned, comes before the error.
func TestBeforeAnError_InnerStreamThatWindsDown(t *testing.T) {
	farewell := func(v string) strs {
		return func(ctx context.Context, yield func(string) bool) error {
			_ = yield(v)
			<-ctx.Done()
			time.Sleep(2 * ms)
			_ = yield(strings.ToUpper(v))
			return errors.New("a late error, which does not count")
		}
	}
	for name, apply := range map[string]func(strs) strs{
		"FlatMap":    func(s strs) strs { return operators.FlatMap(s, 2, farewell) },
		"SwitchMap":  func(s strs) strs { return operators.SwitchMap(s, farewell) },
		"ExhaustMap": func(s strs) strs { return operators.ExhaustMap(s, farewell) },
	} {
		session(t, name, func(s *streamtest.Session) {
			streamtest.Expect(s, apply(cold(s, "-a-#"))).ToBe("-a---(A#)")
			streamtest.Expect(s, apply(cold(s, "-a-#")).Take(2)).ToBe("-a---(A|)")
		})
		bubble(t, name+", cancelled meanwhile", func(t *testing.T) {
			if _, err := apply(stream.Of("a").MustNotEnd(errBoom)).Collect(cancelAt(t, ms)); !errors.Is(err, errCause) {
				t.Error(err)
			}
		})
	}
}
