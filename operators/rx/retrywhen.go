package rx

import (
	"context"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/stream"
)

// RetryWhen returns an observable that observes what src opens, and opens it again each time h answers its failure.
// h is a policy, operators.ExpBackoff(…) say, or any other handler of package stream, whose RetryWhen has the rules.
//
//	src       --1--#    --1--2--#     --1--2--|
//	h         -----r    --------r
//	result    --1---------1--2----------1--2--|
//
// src is called once for each attempt, with a context of the attempt's own. It must build the source anew and give it
// that context, so that what an attempt leaves behind can end:
//
//	rx.RetryWhen(func(ctx context.Context) rxgo.Observable {
//		return rxgo.Create([]rxgo.Producer{read}, rxgo.WithContext(ctx)).Map(decode, rxgo.WithContext(ctx))
//	}, operators.ExpBackoff(jitter.Default, time.Second, 3))
//
// Retrying runs the whole source again: it must be idempotent, or resume where it stopped. That src opens something new
// each time is taken on trust: a hot observable returned twice ends empty the second time, which looks like success.
//
// An attempt ends at its first error item, at the end of its items, or with its context. Then its context is
// cancelled, and items that come all the same are received and dropped, so that a producer that does not look at its
// context can end as well.
//
// The observable returned is cold: each Observe is a subscription with attempts of its own. Values pass as they are.
// An error is the last item: the source's own, or the one the policy gives up with; nothing follows it. The options
// concern the observable returned, never src's; the package comment says what each one means.
//
// An src that returns nil gets an error that no policy retries; one that panics ends the program, for it runs on a
// goroutine of rxgo's.
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
