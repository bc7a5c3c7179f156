package operators_test

import (
	"context"
	"errors"
	"testing"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestRace(t *testing.T) {
	expectTwo(t, map[string]two{
		"the first value wins":             {"---a|", "--x--y|", "--x--y|", "^-!", "^-----!"},
		"the end wins":                     {"---a|", "--|", "--|", "^-!", "^-!"},
		"an error wins":                    {"---a|", "--#", "--#", "^-!", "^-!"},
		"the winner's error":               {"---a", "--x-#", "--x-#", "^-!", "^---!"},
		"the winner may be slow afterward": {"---a|", "--x 1s y|", "--x 1s y|", "^-!", "^--- 1s !"},
	}, nil, map[string]ofTwo{
		"Race":          func(a, b strs) strs { return operators.Race(a, b) },
		"Race of three": func(a, b strs) strs { return operators.Race(b, stream.Never[string](), a) },
	})
	t.Run("of none is empty", func(t *testing.T) { expectValues(t, operators.Race[int](), nil, nil) })
	t.Run("of none, cancelled before", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		if _, err := operators.Race[int]().Collect(ctx); !errors.Is(err, errCause) {
			t.Error(err)
		}
	})
	session(t, "of streams that never yield, cancelled", func(s *streamtest.Session) {
		expectCancelled(s, operators.Race(cold(s, "-"), cold(s, "-")), "-----!", "------")
	})
	t.Run("the argument slice is copied", func(t *testing.T) {
		s := []stream.Stream[int]{stream.Of(1), stream.Never[int]()}
		race := operators.Race(s...)
		s[0], s[1] = nil, nil
		expectValues(t, race, []int{1}, nil)
	})
}

func TestRace_LosersHaveReturnedBeforeTheFirstValue(t *testing.T) {
	session(t, "they wind down side by side", func(s *streamtest.Session) {
		loser := windingDown(cold(s, "---------z"), 2*ms)
		streamtest.Expect(s, operators.Race(loser, cold(s, "--x--y|"), loser, loser)).ToBe("----xy|")
	})
	session(t, "also when the end wins", func(s *streamtest.Session) {
		loser := windingDown(cold(s, "---------z"), 2*ms)
		streamtest.Expect(s, operators.Race(loser, cold(s, "--|"), loser)).ToBe("----|")
	})
	bubble(t, "a loser's panic is raised", func(t *testing.T) {
		bad := stream.Stream[string](func(ctx context.Context, _ func(string) bool) error {
			<-ctx.Done()
			panic(errBoom)
		})
		v := recovered(func() { _, _ = operators.Race(bad, stream.Of("x").Delay(ms)).Collect(t.Context()) })
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("%v", v)
		}
	})
}
