package operators_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

type completions = stream.Stream[operators.Completion]

func TestRepeatWhen_Times(t *testing.T) {
	session(t, "each answer starts a run; the run after the last answer is whole", func(s *streamtest.Session) {
		src := streamtest.Cold[string](s, "-a|")
		h := func(ends completions) completions { return ends.Delay(3 * ms).Take(2) }
		streamtest.Expect(s, operators.RepeatWhen(src.Stream, h)).ToBe("-a----a----a|")
		src.Subscriptions("^-!", "-----^-!", "----------^-!")
	})
	session(t, "no answer, one run", func(s *streamtest.Session) {
		h := func(completions) strs { return stream.Empty[string]() }
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).ToBe("-a|")
	})
	session(t, "a handler that never looks at the ends", func(s *streamtest.Session) {
		h := func(completions) stream.Stream[time.Time] { return stream.Interval(5 * ms).Take(2) }
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).ToBe("-a------a----a|")
	})
	session(t, "an empty source", func(s *streamtest.Session) {
		h := func(ends completions) completions { return ends.Take(3) }
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-|"), h)).ToBe("----|")
	})
	session(t, "a Completion is an answer like any other, whatever its N", func(s *streamtest.Session) {
		h := func(ends completions) completions {
			return operators.Map(ends, func(c operators.Completion) operators.Completion { c.N++; return c }).Take(2)
		}
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).ToBe("-a-a-a|")
	})
}

func TestRepeatWhen_Errors(t *testing.T) {
	always := func(ends completions) completions { return ends }
	bubble(t, "the source's is returned at once, as it is", func(t *testing.T) {
		mine := errors.New("mine")
		asked := 0
		h := func(ends completions) completions { // its own error, when it is told to end, counts for nothing
			return func(ctx context.Context, yield func(operators.Completion) bool) error {
				_ = ends.Tap(func(operators.Completion) { asked++ })(ctx, yield)
				return errBoom
			}
		}
		runs := 0
		src := stream.Defer(func(context.Context) strs {
			if runs++; runs == 3 {
				return stream.Fail[string](mine)
			}
			return stream.Empty[string]()
		})
		if _, err := operators.RepeatWhen(src, h).Collect(t.Context()); err != mine || asked != 2 {
			t.Errorf("%v; asked %d times", err, asked)
		}
	})
	bubble(t, "a permanent one keeps its mark for the retry outside", func(t *testing.T) {
		_, err := operators.RepeatWhen(stream.Fail[int](stream.Permanent(errBoom)), func(ends completions) completions { return ends }).Retry(5).Collect(t.Context())
		if !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
	bubble(t, "a source that can be run once only", func(t *testing.T) {
		ch := make(chan int)
		close(ch)
		_, err := operators.RepeatWhen(stream.FromChan(ch), func(ends completions) completions { return ends }).Collect(t.Context())
		if err != stream.ErrNotRestartable {
			t.Error(err)
		}
	})
	session(t, "the handler's takes effect after the run it started", func(s *streamtest.Session) {
		h := func(ends completions) completions {
			return ends.Take(1).Concat(stream.Fail[operators.Completion](errBoom))
		}
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).Error(errBoom).ToBe("-a-a#")
	})
	session(t, "the handler's, at once", func(s *streamtest.Session) {
		h := func(ends completions) strs { return stream.Fail[string](errBoom) }
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h)).Error(errBoom).ToBe("-a#")
	})
	session(t, "retried outside, the handler is a new one", func(s *streamtest.Session) {
		made := 0
		h := func(ends completions) completions {
			made++
			return ends.Take(1).Concat(stream.Fail[operators.Completion](errBoom))
		}
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), h).Retry(1)).Error(errBoom).ToBe("-a-a-a-a#")
		if made != 2 {
			s.T().Error(made)
		}
	})
	session(t, "cancelled in a run", func(s *streamtest.Session) {
		expectCancelled(s, operators.RepeatWhen(cold(s, "--a-|"), always), "-----!", "--a---")
	})
	bubble(t, "cancelled between runs", func(t *testing.T) {
		h := func(ends completions) completions { return ends.Delay(time.Hour) }
		_, err := operators.RepeatWhen(stream.Of("a"), h).Collect(cancelAt(t, time.Minute))
		if !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v, want the cause and context.Canceled", err)
		}
	})
	bubble(t, "the handler's, after the end of the context", func(t *testing.T) {
		h := func(completions) strs {
			return func(ctx context.Context, _ func(string) bool) error { <-ctx.Done(); return errBoom }
		}
		_, err := operators.RepeatWhen(stream.Of("a"), h).Collect(cancelAt(t, time.Minute))
		if !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) || !errors.Is(err, errBoom) {
			t.Errorf("ended with %v, want the cause, context.Canceled and boom", err)
		}
	})
	session(t, "stopped in a later run", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.RepeatWhen(cold(s, "-a|"), always).Take(3)).ToBe("-a-a-(a|)")
	})
}

// The rounds are no retries: AttemptFrom counts those of the source and those around RepeatWhen.
func TestRepeatWhen_RoundsHaveNoNumber(t *testing.T) {
	var got []int
	round := 0
	poll := stream.FromFunc(func(ctx context.Context) (int, error) {
		got = append(got, stream.AttemptFrom(ctx))
		if round++; round == 2 || round == 5 {
			return 0, errors.New("busy")
		}
		return 0, nil
	})
	thrice := func(done stream.Stream[operators.Completion]) stream.Stream[operators.Completion] {
		return done.Take(3)
	}
	_, err := operators.RepeatWhen(poll.Retry(1), thrice).Retry(1).Collect(t.Context())
	if want := []int{1, 1, 2, 1, 1, 2}; err != nil || !slices.Equal(got, want) {
		t.Errorf("inside: %v, want %v: %v", got, want, err)
	}
	got, round = nil, 1
	_, err = operators.RepeatWhen(poll, thrice).Retry(1).Collect(t.Context())
	if want := []int{1, 2, 2, 2}; err == nil || !slices.Equal(got, want) {
		t.Errorf("around: %v, want %v and a failure: %v", got, want, err)
	}
}
