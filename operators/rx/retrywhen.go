package rx

import (
	"context"

	"github.com/reactivex/rxgo/v2"

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
	return observable("RetryWhen", items[any]("RetryWhen", opened("RetryWhen", src)).RetryWhen(h), opts)
}

func require(function, argument string, given bool) {
	if !given {
		panic("rx: " + function + ": " + argument + " is nil")
	}
}

func requireHandler(function string, h stream.RetryHandler) {
	f, ok := h.(stream.RetryHandlerFunc)
	require(function, "h", h != nil && (!ok || f != nil))
}
