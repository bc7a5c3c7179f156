package operators

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/stream"
)

// ErrStuck is the error of Poll when the pages would repeat forever. It is marked as stream.Permanent.
var ErrStuck = errors.New("operators: Poll: the position does not advance")

// Poll is Resume for a table, or an API, that is read in pages: page returns what follows a position, and the position
// after it. Poll yields the values of the pages. It asks for the first page at once, and after a page with values at
// once for the next one. After a page without values it waits for every, counted from that page's return, and asks for
// the position that this page returned.
//
//	page(0)  (ab), 2
//	page(2)        none, 2    (c), 3  error    (d), 4
//	Poll     ab-------------- c-------------- d----
//	                  every            h's delay
//
// h answers an error of page as in RetryWhen: page is called for the same position again, after h's delay and without
// every. What page returns together with an error, or after ctx has ended, is ignored. To h, all pages between two
// errors are one attempt, and a page without an error, also one without values, is one delivered value: it ends the
// outage, counts for retry.ResetAfterItems and refunds a budget once. So the hooks of a policy report only errors of
// page and what follows them. In page's context, stream.AttemptFrom returns 1 + the number of errors since page last
// worked; if there was none, the number around Poll. To skip many empty pages, loop inside page.
//
// Positions are compared with ==; for a time, take its UnixNano. A position must be unique and ordered. Of rows that
// are polled by a timestamp that several may share, the position is the timestamp and the id: with the timestamp alone,
// rows are lost (after it) or repeated (from it on). For a list whose last page has an empty token it is the token and
// the number of values taken behind it. If a query removes what it returns, there is no position: count the pages.
//
// If a page with values returns its own position, or if pages with values lead in a circle, they would come forever.
// Then Poll fails with [ErrStuck], and does not deliver the page that shows it. It finds a circle within three rounds.
// If a source goes back for a good reason, let page return the earlier position without values, or let the position
// count how often the source went back.
//
// Poll ends when the consumer stops, h gives up, an error of page is permanent, it is stuck, or ctx ends. Each run
// begins at start. To store the position, let the values carry it. Poll starts no goroutine; an every that is not
// positive panics.
func Poll[T any, P comparable](every time.Duration, start P, page func(ctx context.Context, at P) (values []T, next P, err error), h stream.RetryHandler) stream.Stream[T] {
	if every <= 0 {
		here.Panicf("Poll", "every is %v, want more than 0", every)
	}
	here.NotNil("Poll", "page", page == nil)
	requireHandler("Poll", h)
	return func(ctx context.Context, yield func(T) bool) error {
		p := poll[T, P]{every: every, page: page, at: start, path: path[P]{first: start}, ctx: ctx}
		ends := ctx.Done() != nil
		return stream.Stream[[]T](p.attempt).RetryWhen(h)(ctx, func(values []T) bool {
			for _, v := range values {
				if ends && ctx.Err() != nil {
					return true // false would be a stop; the attempt ends
				}
				if !yield(v) {
					return false
				}
			}
			return true
		})
	}
}

// poll is one subscription of Poll. It is a stream of pages, so that a page is one value to RetryWhen.
type poll[T any, P comparable] struct {
	every    time.Duration
	page     func(context.Context, P) ([]T, P, error)
	at       P
	path     path[P]
	failures int             // of page since it last worked
	ctx      context.Context // of the subscription
}

// attempt yields pages until page fails.
func (p *poll[T, P]) attempt(ctx context.Context, yield func([]T) bool) error {
	wait := timer.New(stream.ClockFrom(ctx))
	for {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		number := 1 + p.failures
		if p.failures == 0 {
			number = stream.AttemptFrom(p.ctx)
		}
		values, next, err := p.page(attempt.With(ctx, number), p.at)
		switch {
		case err != nil:
			p.failures++
			return err
		case ctx.Err() != nil:
			return ending.ContextError(ctx)
		}
		p.failures = 0
		if len(values) > 0 && p.path.leadsBack(next) {
			return stream.Permanent(fmt.Errorf("%w: the page at %#v (%d values) leads to %#v, which came before", ErrStuck, p.at, len(values), next))
		}
		if !yield(values) {
			return nil
		}
		p.at = next
		if len(values) == 0 {
			p.path.start(next)
			_ = wait.Wait(ctx, p.every) // its error is checked above
		}
	}
}

// path is the way from page to page since the last page without values. It keeps the first position, and for each k the
// last one whose number is a multiple of 2^k. So a circle of n pages, 2^(k-1) < n ≤ 2^k, is found at most 2^k + n < 3n
// pages after the way has entered it.
type path[P comparable] struct {
	first P
	kept  []P // by k
	pages uint
}

// start begins a new way.
func (w *path[P]) start(at P) { w.first, w.kept, w.pages = at, w.kept[:0], 0 }

// leadsBack adds the next position, and reports whether it is one that is kept.
func (w *path[P]) leadsBack(next P) bool {
	if next == w.first || slices.Contains(w.kept, next) {
		return true
	}
	w.pages++
	for k := range bits.TrailingZeros(w.pages) + 1 {
		if k == len(w.kept) {
			w.kept = append(w.kept, next)
		}
		w.kept[k] = next
	}
	return false
}
