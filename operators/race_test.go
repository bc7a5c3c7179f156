package operators_test

import (
	"context"
	"errors"
	"testing"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func TestRace(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"the first value wins":             {"30a 40|", "20x 50y 60|", "20x 50y 60|"},
		"the end wins":                     {"30a 40|", "20|", "20|"},
		"an error wins":                    {"30a 40|", "20#", "20#"},
		"the winner's error":               {"30a", "20x 40#", "20x 40#"},
		"the winner may be slow afterward": {"30a 40|", "20x 500y 600|", "20x 500y 600|"},
	} {
		bubble(t, name, func(t *testing.T) {
			as, bs := 0, 0
			a, b := returns(cold(c.a), &as), returns(cold(c.b), &bs)
			expectBoth(t, operators.Race(a, b), c.want)
			expect(t, operators.Race(b, stream.Never[string](), a), c.want)
			if as != 3 || bs != 3 {
				t.Errorf("%d, %d have returned", as, bs)
			}
		})
	}
	bubble(t, "of none is empty", func(t *testing.T) { expect(t, operators.Race[int](), "0|") })
	bubble(t, "of none, cancelled before", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		if got := play(ctx, operators.Race[int]()); got != "0!" {
			t.Error(got)
		}
	})
	bubble(t, "of streams that never speak, cancelled", func(t *testing.T) {
		expectCancelled(t, 50*ms, operators.Race(cold(""), cold("")), "50!")
	})
	t.Run("the argument slice is copied", func(t *testing.T) {
		s := []stream.Stream[int]{stream.Of(1), stream.Never[int]()}
		race := operators.Race(s...)
		s[0], s[1] = nil, nil
		expectValues(t, race, []int{1}, nil)
	})
}

func TestRace_LosersHaveReturnedBeforeTheFirstValue(t *testing.T) {
	bubble(t, "they wind down side by side", func(t *testing.T) {
		loser := windingDown(cold("500z"), 10*ms)
		expect(t, operators.Race(loser, cold("20x 50y 60|"), loser, loser), "30x 50y 60|")
	})
	bubble(t, "also when the end wins", func(t *testing.T) {
		loser := windingDown(cold("500z"), 10*ms)
		expect(t, operators.Race(loser, cold("20|"), loser), "30|")
	})
	bubble(t, "a loser's panic is raised", func(t *testing.T) {
		bad := stream.Stream[string](func(ctx context.Context, _ func(string) bool) error {
			<-ctx.Done()
			panic(errBoom)
		})
		v := recovered(func() { _, _ = operators.Race(bad, cold("20x")).Collect(t.Context()) })
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("%v", v)
		}
	})
}
