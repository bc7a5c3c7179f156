package operators_test

import (
	"context"
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
