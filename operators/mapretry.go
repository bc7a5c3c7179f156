package operators

import (
	"context"
	"runtime"

	"github.com/retrywhen/retrywhen/operators/internal/mapretry"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// MapRetryOptions are MapRetry's options for items of type T. The zero value is ready to use.
type MapRetryOptions[T any] struct {
	// Workers is the maximum number of concurrent calls of f; 0 means GOMAXPROCS.
	Workers int
	// MaxPending is the maximum number of items that wait for a retry; 0 means 10,000. Items that are being called count
	// too, because each may have to wait, and under Ordered so do results that wait for an earlier one. When the maximum
	// is reached, the source waits, and nothing is lost. If MaxPending is less than Workers, at most MaxPending calls run
	// at once.
	MaxPending int
	// Ordered delivers in the source's order: results, and the items that the policy gives up on. So when a result is
	// delivered, all items before it are finished, and its position may be committed. Without Ordered each is delivered as
	// soon as it is ready, and a commit of its position may skip an earlier item that is not finished.
	Ordered bool
	// Context returns the context of an item's calls and of the policy's hooks for it. It must derive it from ctx. Context
	// is called before each call, on a worker's goroutine, and must return an equivalent context each time. A nil Context
	// means ctx itself. An item whose own context has ended is given up, at the latest when its next call is due: it is
	// passed to DeadLetter, or dropped if there is none, and the stream continues. It is for items that belong to a
	// connection: see MapRetry.
	Context func(ctx context.Context, item T) context.Context
	// DeadLetter is called with an item that the policy has given up on, and the stream continues; an error of DeadLetter
	// ends the stream. If DeadLetter is nil, such an item ends the stream with its error. DeadLetter is called on the
	// consumer's goroutine with the stream's ctx. For an item whose error is Permanent, or refused by the policy's
	// predicate, the *retry.Error has the Cause retry.ErrRefused.
	DeadLetter func(context.Context, T, *retry.Error) error
	// OnAbandon is called, when the stream ends early, for each unfinished item: an item taken from the source that was
	// not delivered, did not go to DeadLetter, and did not end the stream with its error. An item whose call succeeded but
	// whose result was not delivered is unfinished too. The number passed to it is the attempts made, including one that
	// was cut off. OnAbandon is called on the consumer's goroutine, when nothing else runs any more and before the stream
	// returns.
	OnAbandon func(T, int)
}

// MapRetry calls f for each value of src and delivers the results. It retries a failed call as p decides, while the
// other calls continue. f must be idempotent, or continue where it stopped.
//
//	src     --a--b--c--|
//	f(b)         #----B          (a first call that fails, one retry)
//	result  --A-----C-B|
//	Ordered --A-------BC|
//
// An item whose call failed waits until its delay is over, and its worker takes the next item. Items that are due go
// before new ones. All waiting items are in one heap with one timer, on the clock of p or else of ctx. No item has a
// goroutine or timer of its own; a waiting item takes about 200 bytes in addition to itself.
//
// Each item is an operation of its own under p, decided in the same order as in retry.Do. Limit, Within and similar
// rules count for each item, AttemptTimeout for each call. A signal (retry.ResetOn) makes all waiting items due at
// once. A success refunds the budget. f and the policy's hooks are called on the workers' goroutines, concurrently.
// OnGiveUp is called for the items that p gives up on, not for abandoned ones. OnDone is called for each item that was
// called; for an abandoned one it is called when the stream ends, on the consumer's goroutine. retry.Log logs
// everything at DEBUG.
//
// If p gives up on an item and there is no DeadLetter, the stream ends with the error that retry.Do would return: a
// *retry.Error or the failure itself. When src fails, the stream first finishes the items delivered before, and then
// returns src's error. When ctx ends or the consumer stops, the calls are cancelled and waited for, and the stream
// returns ctx's cause or nil. A panic of f is raised in the consumer, with the stack it came from; a runtime.Goexit of
// f ends the consumer's goroutine too. In all these cases OnAbandon is called for the unfinished items.
//
// An item that belongs to a connection, such as a broker's delivery, must not be retried after it: the broker delivers
// it again, over the next connection. Let src, inside its RetryWhen, put the context of its attempt into each item,
// return it from Context, and let DeadLetter pass over the items whose context has ended. Acknowledge where the results
// are consumed, not in f: there a failed acknowledgement would repeat the effect.
//
// Between the goroutines there are at most max(Workers, 4) items that are not called yet, and as many results, not
// counting those that Ordered has held back: a slow consumer slows the workers, which slow the source.
func MapRetry[T, U any](src stream.Stream[T], p retry.Policy, f func(context.Context, T) (U, error), o MapRetryOptions[T]) stream.Stream[U] {
	here.NotNil("MapRetry", "src", src == nil)
	here.NotNil("MapRetry", "f", f == nil)
	switch {
	case o.Workers < 0:
		here.Panicf("MapRetry", "Workers is %d, want at least 0", o.Workers)
	case o.MaxPending < 0:
		here.Panicf("MapRetry", "MaxPending is %d, want at least 0", o.MaxPending)
	}
	if o.MaxPending == 0 {
		o.MaxPending = 10_000
	}
	return func(ctx context.Context, yield func(U) bool) error {
		o := mapretry.Options[T](o)
		if o.Workers == 0 {
			o.Workers = runtime.GOMAXPROCS(0)
		}
		return mapretry.Run(ctx, src, p, f, o, yield)
	}
}
