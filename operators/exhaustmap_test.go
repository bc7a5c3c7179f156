package operators_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestExhaustMap_OneAtATime(t *testing.T) {
	session(t, "values that come while an inner stream runs are dropped", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.ExhaustMap(cold(s, "a--b-c--de----|"), inner(s, "--x-X-|"))).ToBe("--a-A-----d-D-|")
	})
	session(t, "of values that come at once the first one counts", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.ExhaustMap(cold(s, "(abc)-|"), inner(s, "-xX|"))).ToBe("-aA---|")
	})
	session(t, "stopped", func(s *streamtest.Session) {
		src, each := streamtest.Cold[string](s, "a--b----c"), streamtest.Cold[string](s, "--x-X-|")
		streamtest.Expect(s, operators.ExhaustMap(src.Stream, spelled(each.Stream)).Take(3)).ToBe("--a-A-----(c|)")
		src.Subscriptions("^---------!")
		each.Subscriptions("^-----!", "--------^-!")
	})
	bubble(t, "while the consumer has a value in hand its inner stream runs", func(t *testing.T) {
		inner := func(v string) strs { return operators.Map(fromScript("10x 20y 30|"), prefixed(v)) }
		got := playWith(t.Context(), operators.ExhaustMap(fromScript("0a 50b 200c 400|"), inner), func(string) bool { time.Sleep(50 * ms); return true })
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
	session(t, "what a cancelled inner stream yields comes before the error, and its own error does not count", func(s *streamtest.Session) {
		deaf := func(v string) strs {
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
		streamtest.Expect(s, operators.ExhaustMap(cold(s, "a--#"), deaf)).ToBe("--a-a-(a#)")
	})
}
