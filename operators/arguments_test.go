package operators_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestInvalidArgumentsPanicWithTheirNames(t *testing.T) {
	type failures = stream.Stream[stream.Failure]
	one := stream.Of(1)
	for want, build := range map[string]func(){
		"operators: ExpBackoff: j is nil, want jitter.None for no jitter": func() { operators.ExpBackoff(nil, time.Second, 3) },
		"operators: ExpBackoff: delay is -1s, want at least 0":            func() { operators.ExpBackoff(jitter.None, -time.Second, 3) },
		"operators: ExpBackoff: retries is -1, want at least 0":           func() { operators.ExpBackoff(jitter.None, time.Second, -1) },
		"operators: RetryWhen: src is nil":                                func() { operators.RetryWhen[int](nil, func(failures) stream.Stream[int] { return one }) },
		"operators: RetryWhen: h is nil":                                  func() { operators.RetryWhen[int, int](one, nil) },
		"operators: RepeatWhen: s is nil": func() {
			operators.RepeatWhen[int](nil, func(stream.Stream[operators.Completion]) stream.Stream[int] { return one })
		},
		"operators: RepeatWhen: h is nil": func() { operators.RepeatWhen[int, int](one, nil) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}()
			build()
		}()
	}
}

// ExpBackoff(…, 0, 0) is no mistake: one attempt.
func TestExpBackoff_OfNothing(t *testing.T) {
	err := retry.Run(t.Context(), operators.ExpBackoff(jitter.None, 0, 0), func(context.Context) error { return errBoom })
	if e, ok := err.(*retry.Error); !ok || e.Attempts != 1 {
		t.Errorf("got %v, want a *retry.Error after 1 attempt", err)
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
	got, err := operators.RetryWhen(src, retry.New(backoff.Constant(0)).Handle).Collect(t.Context())
	if len(got) != 1 || got[0] != 3 || err != nil {
		t.Errorf("got %v, %v, want 3", got, err)
	}
}
