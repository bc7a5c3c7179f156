package operators

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
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
// that waits. If two such answers may come for one failure, as from a Merge of a Timer with a signal, the second may
// meet the next failure, and start its retry without a wait: map each failure f to stream.Of(f).Delay(d). A retry runs
// src again: src must be idempotent, or resume where it stopped. All other rules are those of stream.RetryWhen.
func RetryWhen[T, N any](src stream.Stream[T], h func(stream.Stream[stream.Failure]) stream.Stream[N]) stream.Stream[T] {
	here.NotNil("RetryWhen", "src", src == nil)
	here.NotNil("RetryWhen", "h", h == nil)
	return src.RetryWhen(stream.RetryHandlerFunc(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		answers := h(failures)
		if answers == nil {
			return nil
		}
		return Map(answers, func(v N) stream.Failure {
			answer, _ := any(v).(stream.Failure)
			return stream.Failure{N: answer.N}
		})
	}))
}

// RetryChans is RetryWhen for a pipeline of plain channels. Each attempt calls open, with a context that is cancelled
// when the attempt is over, and reads its two channels as stream.FromChans does. The first returned channel delivers
// the values of all attempts. The second delivers at most one error, that with which the pipeline ends, and is closed
// after the first.
//
// One goroutine runs the pipeline. It ends when ctx does or when the pipeline has ended; a reader that stops early must
// cancel ctx. Nothing is buffered.
func RetryChans[T any](ctx context.Context, open func(context.Context) (<-chan T, <-chan error), h stream.RetryHandler) (<-chan T, <-chan error) {
	here.NotNil("RetryChans", "open", open == nil)
	requireHandler("RetryChans", h)
	return stream.FromChans(open).RetryWhen(h).Chans(ctx, 0)
}

// ExpBackoff returns the policy that waits delay·n²·jitter before the n-th retry and gives up after the given number of
// retries. The options are applied afterwards: with retry.ResetAfterItems(1), for example, the retries are counted from
// the last value.
//
//	src.RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3)) // about 1, 4 and 9 s
//
// The name is that of "Exponential-Backoff RxJava operator with Jitter" (2017), but the curve is quadratic;
// backoff.Exponential doubles.
func ExpBackoff(j jitter.Jitter, delay time.Duration, retries int, opts ...retry.Option) retry.Policy {
	switch {
	case j == nil:
		here.Panicf("ExpBackoff", "j is nil, want jitter.None for no jitter")
	case delay < 0:
		here.Panicf("ExpBackoff", "delay is %v, want at least 0", delay)
	case retries < 0:
		here.Panicf("ExpBackoff", "retries is %d, want at least 0", retries)
	}
	return retry.New(backoff.Quadratic(delay).Jitter(j), retry.Limit(retries)).With(opts...)
}
