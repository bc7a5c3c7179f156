package operators_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func TestExhaustMap_OneAtATime(t *testing.T) {
	inner := func(v string) strs { return operators.Map(cold("10x 20y 30|"), prefixed(v)) }
	bubble(t, "values that come while an inner stream runs are dropped", func(t *testing.T) {
		expectBoth(t, operators.ExhaustMap(cold("0a 15b 25c 40d 45e 100|"), inner), "10ax 20ay 50dx 60dy 100|")
	})
	bubble(t, "of values that come at once the first one counts", func(t *testing.T) {
		expect(t, operators.ExhaustMap(cold("0a 0b 0c 50|"), inner), "10ax 20ay 50|")
	})
	bubble(t, "stopped", func(t *testing.T) {
		sources, inners := 0, 0
		s := operators.ExhaustMap(returns(cold("0a 15b 40c"), &sources), func(v string) strs { return returns(inner(v), &inners) })
		expect(t, s.Take(3), "10ax 20ay 50cx 50|")
		if sources != 1 || inners != 2 {
			t.Errorf("%d and %d have returned", sources, inners)
		}
	})
	bubble(t, "while the consumer has a value in hand its inner stream runs", func(t *testing.T) {
		got := playWith(t.Context(), operators.ExhaustMap(cold("0a 50b 200c 400|"), inner), func(string) bool { time.Sleep(50 * ms); return true })
		if want := "10ax 60ay 210cx 260cy 400|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
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
	bubble(t, "what a cancelled inner stream yields comes before the error, and its own error does not count", func(t *testing.T) {
		deaf := func(v string) strs {
			return func(_ context.Context, yield func(string) bool) error {
				for range 3 {
					time.Sleep(10 * ms)
					if !yield(v) {
						return errCause
					}
				}
				return nil
			}
		}
		expect(t, operators.ExhaustMap(cold("0a 15#"), deaf), "10a 20a 30a 30#")
	})
}
