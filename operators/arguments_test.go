package operators_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// ExpBackoff(…, 0, 0) is no mistake: one attempt.
func TestExpBackoff_OfNothing(t *testing.T) {
	err := retry.Run(t.Context(), operators.ExpBackoff(jitter.None, 0, 0), func(context.Context) error { return errBoom })
	if e, ok := err.(*retry.Error); !ok || e.Attempts != 1 {
		t.Errorf("got %v, want a *retry.Error after 1 attempt", err)
	}
}

// The options come after the number of retries.
func TestExpBackoff_OptionsAreAppliedAfterwards(t *testing.T) {
	err := retry.Run(t.Context(), operators.ExpBackoff(jitter.None, 0, 1, retry.Limit(2)), func(context.Context) error { return errBoom })
	if e, ok := err.(*retry.Error); !ok || e.Attempts != 3 {
		t.Errorf("got %v, want a *retry.Error after 3 attempts", err)
	}
}

// A Failure answers the failure with its N alone, any other value the one that waits.
func TestRetryWhen_WhichFailureIsAnswered(t *testing.T) {
	for answer, want := range map[any]int{stream.Failure{N: 1}: 2, stream.Failure{N: 2}: 1, stream.Failure{}: 2, "any": 2} {
		runs := 0
		src := stream.Defer(func(context.Context) stream.Stream[int] { runs++; return stream.Fail[int](errBoom) })
		err := operators.RetryWhen(src, func(failures stream.Stream[stream.Failure]) stream.Stream[any] {
			return operators.Map(failures.Take(1), func(stream.Failure) any { return answer })
		}).ForEach(t.Context(), func(int) {})
		if err != errBoom || runs != want {
			t.Errorf("answered with %v: %d attempts, %v; want %d", answer, runs, err, want)
		}
	}
}

func TestPair_String(t *testing.T) {
	if got := (operators.Pair[int, string]{First: 1, Second: "a"}).String(); got != "(1, a)" {
		t.Error(got)
	}
}

// A handler of failures to failures is what stream.RetryWhen takes.
func TestRetryWhen_AHandlerThatReturnsFailures(t *testing.T) {
	runs := 0
	src := stream.Defer(func(context.Context) stream.Stream[int] {
		if runs++; runs < 3 {
			return stream.Fail[int](errBoom)
		}
		return stream.Of(runs)
	})
	got, err := operators.RetryWhen(src, again.Handle).Collect(t.Context())
	if len(got) != 1 || got[0] != 3 || err != nil {
		t.Errorf("got %v, %v, want 3", got, err)
	}
}

// The error of a handler's stream, whatever its answers are, ends the stream.
func TestRetryWhen_TheHandlerFails(t *testing.T) {
	failure := errors.New("no use")
	h := func(failures stream.Stream[stream.Failure]) stream.Stream[int] {
		return operators.TryMap(failures, func(context.Context, stream.Failure) (int, error) { return 0, failure })
	}
	_, err := operators.RetryWhen(stream.Fail[int](errBoom), h).Collect(t.Context())
	if !errors.Is(err, failure) {
		t.Errorf("got %v, want %v", err, failure)
	}
}

// RetryChans buffers nothing: the pipeline is one value ahead of the reader, which it offers.
func TestRetryChans_BuffersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sent := 0
		open := func(ctx context.Context) (<-chan int, <-chan error) {
			values := make(chan int)
			go func() {
				defer close(values)
				for n := range 10 {
					select {
					case values <- n:
						sent++
					case <-ctx.Done():
						return
					}
				}
			}()
			return values, nil
		}
		values, errs := operators.RetryChans(ctx, open, retry.Policy{})
		synctest.Wait()
		if sent != 1 {
			t.Errorf("%d values are taken before the first is read, want 1", sent)
		}
		cancel()
		for range values {
		}
		<-errs
	})
}
