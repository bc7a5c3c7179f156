package operators_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

type completions = stream.Stream[operators.Completion]

func TestRepeatWhen_Times(t *testing.T) {
	bubble(t, "each answer starts a run; the run after the last answer is whole", func(t *testing.T) {
		h := func(ends completions) completions { return ends.Delay(30 * ms).Take(2) }
		expectBoth(t, operators.RepeatWhen(cold("10a 20|"), h), "10a 60a 110a 120|")
	})
	bubble(t, "no answer, one run", func(t *testing.T) {
		h := func(completions) strs { return stream.Empty[string]() }
		expect(t, operators.RepeatWhen(cold("10a 20|"), h), "10a 20|")
	})
	bubble(t, "a handler that never looks at the ends", func(t *testing.T) {
		h := func(completions) stream.Stream[time.Time] { return stream.Interval(50 * ms).Take(2) }
		expect(t, operators.RepeatWhen(cold("10a 20|"), h), "10a 80a 130a 140|")
	})
	bubble(t, "an empty source", func(t *testing.T) {
		h := func(ends completions) completions { return ends.Take(3) }
		expect(t, operators.RepeatWhen(cold("10|"), h), "40|")
	})
	bubble(t, "a Completion is an answer like any other, whatever its N", func(t *testing.T) {
		h := func(ends completions) completions {
			return operators.Map(ends, func(c operators.Completion) operators.Completion { c.N++; return c }).Take(2)
		}
		expect(t, operators.RepeatWhen(cold("10a 20|"), h), "10a 30a 50a 60|")
	})
}

func TestRepeatWhen_CompletionsSayWhatWas(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var seen []string
		h := func(ends completions) completions {
			return ends.Tap(func(c operators.Completion) { seen = append(seen, fmt.Sprint(c.N, c.Items, c.Lasted)) }).Take(1)
		}
		expect(t, operators.RepeatWhen(cold("10a 15b 20|"), h), "10a 15b 30a 35b 40|")
		if fmt.Sprint(seen) != "[1 2 20ms]" {
			t.Error(seen)
		}
	})
}

func TestRepeatWhen_Errors(t *testing.T) {
	always := func(ends completions) completions { return ends }
	bubble(t, "the source's is returned at once, as it is", func(t *testing.T) {
		mine := errors.New("mine")
		asked := 0
		h := func(ends completions) completions { return ends.Tap(func(operators.Completion) { asked++ }) }
		runs := 0
		src := stream.Defer(func(context.Context) strs {
			if runs++; runs == 3 {
				return stream.Fail[string](mine)
			}
			return cold("10|")
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
	bubble(t, "the handler's takes effect after the run it started", func(t *testing.T) {
		h := func(ends completions) completions {
			return ends.Take(1).Concat(stream.Fail[operators.Completion](errBoom))
		}
		expect(t, operators.RepeatWhen(cold("10a 20|"), h), "10a 30a 40#")
	})
	bubble(t, "the handler's, at once", func(t *testing.T) {
		h := func(ends completions) strs { return stream.Fail[string](errBoom) }
		expect(t, operators.RepeatWhen(cold("10a 20|"), h), "10a 20#")
	})
	bubble(t, "retried outside, the handler is a new one", func(t *testing.T) {
		made := 0
		h := func(ends completions) completions {
			made++
			return ends.Take(1).Concat(stream.Fail[operators.Completion](errBoom))
		}
		expect(t, operators.RepeatWhen(cold("10a 20|"), h).Retry(1), "10a 30a 50a 70a 80#")
		if made != 2 {
			t.Error(made)
		}
	})
	bubble(t, "cancelled in a run and between runs", func(t *testing.T) {
		expectCancelled(t, 25*ms, operators.RepeatWhen(cold("10a 20|"), always), "10a 25!")
		h := func(ends completions) completions { return ends.Delay(time.Hour) }
		expectCancelled(t, time.Minute, operators.RepeatWhen(cold("10a 20|"), h), "10a 60000!")
		_, err := operators.RepeatWhen(cold("10a 20|"), h).Collect(cancelAt(t, time.Minute))
		if !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v, want the cause and context.Canceled", err)
		}
	})
	bubble(t, "stopped in a later run", func(t *testing.T) {
		expect(t, operators.RepeatWhen(cold("10a 20|"), always).Take(3), "10a 30a 50a 50|")
	})
}

func TestRepeatWhen_ManyRuns(t *testing.T) {
	n := 0
	h := func(ends completions) completions { return ends.Take(100_000) }
	err := operators.RepeatWhen(stream.Of(1), h).ForEach(t.Context(), func(int) { n++ })
	if err != nil || n != 100_001 {
		t.Error(n, err)
	}
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
