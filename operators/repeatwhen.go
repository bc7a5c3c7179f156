package operators

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// Completion is one run of a repeated stream that ended without an error, as the handler of RepeatWhen sees it.
type Completion struct {
	// N is the number of completed runs so far, from 1.
	N int
	// Items is the number of values that the run delivered.
	Items int64
	// Lasted is how long the run took on the subscription's clock, including the time its consumer took.
	Lasted time.Duration
}

// RepeatWhen runs s, and runs it again each time h's stream answers a completion with a value. It is RetryWhen for
// completions instead of failures, with the same rules: see stream.RetryWhen. To poll every minute, Delay the
// completions, or map them to timers with ConcatMap.
//
//	s:                     --a--|    --b--|     --c--|
//	h, with 2 answers:          -----0    ------0    |
//	RepeatWhen(h):         --a---------b----------c--|
//
// If h's stream ends after an answer, RepeatWhen ends when the run of that answer has ended; if it fails, RepeatWhen
// fails with that error then. A failure of s is returned at once, and h's stream does not receive it. To retry, put a
// RetryWhen before or after RepeatWhen.
//
// A value of h's stream, of any type, is an answer only if there is a completion that is not answered yet. If it drops
// a completion and waits for the next one, it waits forever. h is called once for each subscription, at its first
// completion.
//
// The runs take place one after the other, on the goroutine that runs the stream, each under its own context. They are
// no retries: under their contexts stream.AttemptFrom returns what it returns around RepeatWhen. RepeatWhen starts no
// goroutine.
func RepeatWhen[T, N any](s stream.Stream[T], h func(completions stream.Stream[Completion]) stream.Stream[N]) stream.Stream[T] {
	here.NotNil("RepeatWhen", "s", s == nil)
	here.NotNil("RepeatWhen", "h", h == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		var failure error // the failure of s or of h
		source := stream.Stream[T](func(ctx context.Context, yield func(T) bool) error {
			if failure = s(ctx, yield); failure != nil {
				return stream.Permanent(failure)
			}
			return errCompleted
		})
		handler := func(ends stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			answers := h(Map(ends, func(f stream.Failure) Completion {
				return Completion{N: f.N, Items: f.Items, Lasted: f.Lasted}
			}))
			if answers == nil {
				answers = stream.Fail[N](errors.New("operators: RepeatWhen: h returned a nil stream"))
			}
			return func(ctx context.Context, yield func(stream.Failure) bool) error {
				err := answers(ctx, func(N) bool { return yield(stream.Failure{}) })
				if failure == nil {
					failure = err
				}
				return err
			}
		}
		err := source.RetryWhen(repeats{stream.RetryHandlerFunc(handler)})(ctx, yield)
		switch {
		case err == nil: // the consumer has stopped
			return nil
		case failure != nil:
			return ending.Error(ctx, failure)
		}
		return ending.ContextError(ctx) // h's stream has ended, or ctx
	}
}

// repeats is a handler whose answers are no retries.
type repeats struct{ stream.RetryHandlerFunc }

var _ attempt.Repeats = repeats{}

// Repeats is for stream.RetryWhen.
func (repeats) Repeats() {}

// errCompleted represents the end of a run for the RetryWhen inside.
var errCompleted = errors.New("operators: RepeatWhen: the run has ended")
