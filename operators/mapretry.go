package operators

import (
	"context"
	"runtime"

	"github.com/retrywhen/retrywhen/internal/mapretry"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// MapRetryOptions are MapRetry's options for items of type T. The zero value is good.
type MapRetryOptions[T any] struct {
	// Workers is the most calls of f at once; 0 means GOMAXPROCS.
	Workers int
	// MaxPending is the most items that are put aside at once; 0 means 10,000. The items that are being called count,
	// for each of them may come to wait, and under Ordered so do results that wait for an earlier one. When it is
	// reached the source waits: nothing is lost. With MaxPending below Workers no more than MaxPending calls are made
	// at once.
	MaxPending int
	// Ordered delivers in the source's order: results, and the items that the policy gives up on, each in its turn.
	// Without it each comes as soon as it is there.
	Ordered bool
	// Context returns the context of an item's calls, and of the policy's hooks for it, which must come from ctx. It is
	// called before each call, on a worker's goroutine, and has to return the like each time. A nil Context means ctx
	// itself. An item whose own context has ended is given up, at the latest when its next call is due: it goes to
	// DeadLetter, and without one it is dropped; the stream goes on.
	Context func(ctx context.Context, item T) context.Context
	// DeadLetter takes an item that the policy has given up on, and the stream goes on; an error from it ends the
	// stream. Without it such an item ends the stream with its error. It is called on the consumer's goroutine with
	// the stream's ctx. The *retry.Error of an item whose error is Permanent, or refused by the policy's predicate, has
	// the Cause retry.ErrRefused.
	DeadLetter func(context.Context, T, *retry.Error) error
	// OnAbandon is told, when the stream ends early, of each item that was taken from the source and not finished: that
	// neither came out, nor went to DeadLetter, nor ended the stream with its error. The number is how many attempts
	// were made, one that was cut off included; an item whose call went well but whose result did not come out is not
	// finished. It is called on the consumer's goroutine, when nothing else runs any more and before the stream returns.
	OnAbandon func(T, int)
}

// MapRetry calls f for each value of src and delivers the results. A call that fails is made again as p says, by
// itself, while the others go on. What f does must be idempotent, or go on where it stopped: it is done again.
//
//	src     --a--b--c--|
//	f(b)         #----B          (a first call that fails, one retry)
//	result  --A-----C-B|
//	Ordered --A-------BC|
//
// The item whose call failed is put aside until its delay is over, and its worker takes the next one; items that are
// due go before new ones. What waits is in one heap with one timer on the clock of p or else of ctx; no goroutine and
// no timer waits for an item, and beyond itself an item that waits takes at most 200 bytes.
//
// Each item is an operation of its own under p, with the order of questions of retry.Do: Limit, Within and the like
// count for each item, AttemptTimeout for each call; a signal (retry.ResetOn) makes all that wait due at once; a
// success gives the budget its refund. The policy's hooks and f are called on the workers' goroutines, side by side.
// OnGiveUp is called for the items that p gives up on, not for those that are abandoned; OnDone for each item that was
// called, for an abandoned one when the stream ends, on the consumer's goroutine. retry.Log logs all at DEBUG.
//
// An item that p gives up on ends the stream with the error that retry.Do would return, a *retry.Error or the failure
// itself, unless there is a DeadLetter. When src fails, what it delivered before is finished first, and then the stream
// returns src's error. When ctx ends, the calls are cancelled and waited for, and the stream returns its cause
// at once, as it returns nil when the consumer stops. A panic of f surfaces in the consumer, with the stack it came
// from, and its runtime.Goexit does too. In all these cases OnAbandon is told what was not finished.
//
// Between the goroutines there are at most as many items that are not called yet as there are Workers, but 4 if that is
// more, and as many results: a slow consumer stops the workers, and they the source.
//
// A nil src or f, negative Workers and a negative MaxPending panic.
func MapRetry[T, U any](src stream.Stream[T], p retry.Policy, f func(context.Context, T) (U, error), o MapRetryOptions[T]) stream.Stream[U] {
	notNil("MapRetry", "src", src == nil)
	notNil("MapRetry", "f", f == nil)
	switch {
	case o.Workers < 0:
		panicf("MapRetry", "Workers is %d, want at least 0", o.Workers)
	case o.MaxPending < 0:
		panicf("MapRetry", "MaxPending is %d, want at least 0", o.MaxPending)
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
