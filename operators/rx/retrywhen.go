package rx

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/stream"
)

// RetryWhen returns an observable that observes what src opens, and opens it again each time h answers its failure. h
// is a policy, for example operators.ExpBackoff(…), or any other handler of package stream. The rules are those of
// stream.RetryWhen.
//
//	src       --1--#    --1--2--#     --1--2--|
//	h         -----r    --------r
//	result    --1---------1--2----------1--2--|
//
// src is called once for each attempt, with the attempt's own context. It must build a new source and pass that context
// to it, so that the goroutines of an attempt can end:
//
//	rx.RetryWhen(func(ctx context.Context) rxgo.Observable {
//		return rxgo.Create([]rxgo.Producer{read}, rxgo.WithContext(ctx)).Map(decode, rxgo.WithContext(ctx))
//	}, operators.ExpBackoff(jitter.Default, time.Second, 3))
//
// A retry runs the whole source again: it must be idempotent, or resume where it stopped. src must open something new
// each time, which RetryWhen cannot check: a hot observable returned twice ends empty the second time, which looks like
// success.
//
// An attempt ends at its first error item, at the end of its items, or with its context. Then its context is cancelled.
// Items that still come are received and dropped, so that a producer that ignores its context can end too.
//
// The returned observable is cold: each Observe is a subscription with its own attempts. Values pass unchanged. An
// error is the last item: the source's own, or the error with which the policy gives up. The options apply to the
// returned observable, never to src's; the package comment lists them.
//
// If src returns nil, the run fails with an error that no policy retries. A panic of src ends the program, because src
// runs on a goroutine of rxgo.
func RetryWhen(src func(context.Context) rxgo.Observable, h stream.RetryHandler, opts ...rxgo.Option) rxgo.Observable {
	require("RetryWhen", "src", src != nil)
	requireHandler("RetryWhen", h)
	return observable("RetryWhen", items[any]("RetryWhen", opener("RetryWhen", src)).RetryWhen(h), opts)
}

func require(function, argument string, present bool) {
	if !present {
		panic("rx: " + function + ": " + argument + " is nil")
	}
}

func requireHandler(function string, h stream.RetryHandler) {
	require(function, "h", !attempt.IsNil(h))
}

// Observable is an rxgo.Observable that also has RetryWhen. Wrap makes one.
type Observable struct {
	rxgo.Observable
	seen *history
}

// Wrap returns o with a RetryWhen, for chaining:
//
//	rx.Wrap(rxgo.Defer(producers).Map(decode)).RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3))
//
// rxgo's own methods return plain observables, so call Wrap last.
//
// Each attempt observes o again, so o must be cold. If o is recognized as hot, the second Observe fails with
// stream.ErrNotRestartable, joined with the failure that was to be retried. These are recognized:
//
//   - observables with one channel for all subscriptions: Create, FromChannel, Merge, Concat, StartWith,
//     ZipFromIterable, Retry, Timer, Thrown, everything Eager, and every other observable that returns the same channel
//     from two Observes;
//   - FlatMap, Debounce, Join, TimeInterval, BufferWithTime, BufferWithTimeOrCount, WindowWithTime and
//     WindowWithTimeOrCount, which crash the program when they are observed a second time;
//   - Just with a channel among its items;
//   - FromEventSource and Interval, if they end before they have sent anything more.
//
// Wrap cannot recognize
//
//   - any of these before another operator: Create(…).Map(f) returns a new channel each time. Its second run ends empty
//     and without an error, so a failure becomes a success; FlatMap(f).Map(g) crashes in its second run;
//   - a Defer whose producers read a shared source, a channel or a connection that was opened outside;
//   - an observable of a type that is not rxgo's, unless it returns the same channel again;
//   - a connectable that has ended: a retry subscribes again, and waits until its context ends;
//   - an Observe of o that was not made through this Wrap;
//   - the contexts with which o was built. The attempt's context replaces that of Defer and of most operators. It does
//     not reach Create, FlatMap and other operators that take their context when they are built. So cancel the context
//     given to the Observe of the result. A cancelled Create continues until it notices that nobody reads.
//
// The function RetryWhen has none of these limits: prefer it.
func Wrap(o rxgo.Observable) Observable {
	require("Wrap", "o", !isNil(o))
	return Observable{o, new(history)}
}

// RetryWhen returns an observable that observes o, and observes it again each time h answers its failure, as the
// function RetryWhen does. The comment of Wrap says what o must be. A nil h and a zero Observable panic.
//
//	o         --1--#    --1--2--|
//	h         -----r
//	result    --1---------1--2--|
func (o Observable) RetryWhen(h stream.RetryHandler) Observable {
	require("Observable.RetryWhen", "o", !isNil(o))
	requireHandler("Observable.RetryWhen", h)
	if o.seen == nil {
		o.seen = new(history)
	}
	return Wrap(observable("Observable.RetryWhen", items[any]("Observable.RetryWhen", o.subscribe).RetryWhen(h), nil))
}

func (o Observable) subscribe(ctx context.Context) (observed, error) {
	made := inspect(o)
	again := o.seen.begun.Swap(true)
	if again && made.kind == onceOnly {
		return observed{}, notRestartable("it can be observed only once")
	}
	s, err := subscribe(ctx, nil, o.Observable, made)
	if err != nil {
		return observed{}, err
	}
	if s.items != nil && o.seen.last.Swap(s.items) == any(s.items) {
		return observed{}, notRestartable("two Observes gave the same channel")
	}
	if again && made.kind == events {
		s.ifEmpty = notRestartable("its events have ended")
	}
	return s, nil
}

func notRestartable(why string) error {
	return fmt.Errorf("rx: Wrap: the observable is hot: %s; open it in the function given to rx.RetryWhen: %w", why, stream.ErrNotRestartable)
}

// history records the subscriptions to a wrapped observable.
type history struct {
	begun atomic.Bool
	last  atomic.Value // the channel of the last one
}
