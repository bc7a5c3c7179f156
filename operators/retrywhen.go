package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/stream"
)

// RetryWhen is stream.RetryWhen in ReactiveX's form: h is a function from failures to answers of any type, and each
// answer starts the next attempt. For a policy write src.RetryWhen(p), or RetryWhen(src, p.Handle).
//
//	src       --a--#    --a--#   --a--|
//	h         -----0    -----0
//	result    --a--------a--------a--|
//
// If an answer is a stream.Failure, it answers the failure with its N; an answer of another type answers the failure
// that waits. A retry runs src again: src must be idempotent, or resume where it stopped. All other rules are those of
// stream.RetryWhen.
func RetryWhen[T, N any](src stream.Stream[T], h func(stream.Stream[stream.Failure]) stream.Stream[N]) stream.Stream[T] {
	here.NotNil("RetryWhen", "src", src == nil)
	here.NotNil("RetryWhen", "h", h == nil)
	return src.RetryWhen(stream.RetryHandlerFunc(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		answers := h(failures)
		if answers == nil {
			return nil
		}
		return func(ctx context.Context, yield func(stream.Failure) bool) error {
			return answers(ctx, func(v N) bool {
				answer, _ := any(v).(stream.Failure)
				return yield(stream.Failure{N: answer.N})
			})
		}
	}))
}

// RetryChans is RetryWhen for a pipeline of plain channels. Each attempt calls open, with a context that is cancelled
// when the attempt is over, and reads its two channels as stream.FromChans does. The first returned channel delivers
// the values of all attempts. The second delivers at most one error, when the handler has given up or ctx has ended,
// and is closed after the first.
//
// One goroutine runs the pipeline. It ends when ctx does or when the pipeline has ended; a reader that stops early must
// cancel ctx. Nothing is buffered.
func RetryChans[T any](ctx context.Context, open func(context.Context) (<-chan T, <-chan error), h stream.RetryHandler) (<-chan T, <-chan error) {
	here.NotNil("RetryChans", "open", open == nil)
	requireHandler("RetryChans", h)
	return stream.FromChans(open).RetryWhen(h).Chans(ctx, 0)
}
