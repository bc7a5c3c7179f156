package operators

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// Completion is one run of a repeated stream that ended well, as the handler of RepeatWhen sees it.
type Completion struct {
	// N counts the runs that have ended well, from 1.
	N int
	// Items is how many values the run delivered.
	Items int64
	// Lasted is how long it ran, its consumer's time included, on the subscription's clock.
	Lasted time.Duration
}

// RepeatWhen returns a stream that runs s, and runs it again each time h's stream answers its end with a value. It is
// RetryWhen for ends instead of failures, with the same rules: see stream.RetryWhen. To poll every minute, say, Map the
// completions to timers with ConcatMap, or give them a Delay.
//
//	s:                     --a--|    --b--|     --c--|
//	h, with 2 answers:          -----0    ------0    |
//	RepeatWhen(h):         --a---------b----------c--|
//
// When h's stream has ended, RepeatWhen ends with the run that the last answer started; when it has failed, RepeatWhen
// fails with that error then. A failure of s is returned at once and h is not asked: retry s inside, or the whole
// outside.
//
// A value of h, of whatever type, is an answer only if h has received a completion that is not answered yet. An h that
// drops a completion and waits for the next waits forever. h is called once for each subscription, at its first
// completion, and must not return nil: the stream fails then.
//
// Runs follow one another on the goroutine that runs the stream, each under a context of its own. RepeatWhen starts no
// goroutine.
func RepeatWhen[T, N any](s stream.Stream[T], h func(completions stream.Stream[Completion]) stream.Stream[N]) stream.Stream[T] {
	notNil("RepeatWhen", "s", s == nil)
	notNil("RepeatWhen", "h", h == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		var failure error // of s or of h
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
			return func(ctx context.Context, yield func(stream.Failure) bool) error {
				if answers == nil {
					failure = errors.New("operators: RepeatWhen: h returned a nil stream")
					return failure
				}
				err := answers(ctx, func(N) bool { return yield(stream.Failure{}) })
				if failure == nil {
					failure = err
				}
				return err
			}
		}
		err := source.RetryWhen(stream.RetryHandlerFunc(handler))(ctx, yield)
		switch {
		case err == nil: // the consumer has stopped
			return nil
		case failure != nil:
			return ending.Error(ctx, failure)
		case err == errCompleted: // h's stream has ended
			return ending.ContextError(ctx)
		case ctx.Err() != nil:
			return ending.ContextError(ctx)
		}
		return err
	}
}

// errCompleted stands for the end of a run while RetryWhen does the work.
var errCompleted = errors.New("operators: RepeatWhen: the run has ended")
