package stream

import (
	"context"
	"sync/atomic"
)

// Works tells each retried stream around ctx that its attempt works although it has not delivered a value: it is
// connected and subscribed, or a heartbeat came. This ends an outage (retry.OnRecovered, the end of retry.OnOutage,
// retry.Log), and older failures are in no later error. It is no progress: what counts values, such as Failure's Items,
// retry.ResetAfterItems, retry.BeforeFirstItem and a budget, does not count it, and retry.Limit counts on.
//
// Call it in a source with the context that the source receives, each time there is a sign of life. It is cheap while
// there is no outage, and does nothing outside of an attempt, or after it. It may be called on any goroutine; the hooks
// are called on that goroutine, one at a time for a subscription. retry.Do and operators.MapRetry do not hear of it.
func Works(ctx context.Context) {
	for {
		a, _ := ctx.Value(retriedKey{}).(*attemptContext)
		if a == nil {
			return
		}
		a.works()
		ctx = a.Context
	}
}

// DropHeartbeats drops the values that is reports, and calls Works for each of them. It belongs inside the open of
// operators.Resume, after a Timeout that uses the heartbeats to notice silence.
//
//	s                      --a--h--h--b--h--|
//	DropHeartbeats(is h)   --a--------b-----|
func (s Stream[T]) DropHeartbeats(is func(T) bool) Stream[T] {
	s.require("DropHeartbeats")
	requireFunc(is == nil, "DropHeartbeats: is")
	return func(ctx context.Context, yield func(T) bool) error {
		return s(ctx, func(v T) bool {
			if is(v) {
				Works(ctx)
				return true
			}
			return yield(v)
		})
	}
}

// retriedKey is the key under which the context of a retried stream's attempt returns itself.
type retriedKey struct{}

// works records that the attempt works, on any goroutine.
func (a *attemptContext) works() {
	if o := a.outage; o.lasts.Load() {
		o.turn.begin()
		defer o.turn.end()
		if atomic.LoadUint32(&a.over) == 0 {
			o.works()
		}
	}
}

// outage is what a subscription and the contexts of its attempts know of its present outage.
type outage struct {
	turn        turn // for the fields below
	lasts       atomic.Bool
	ctx         context.Context // the subscriber's
	observation RetryObservation
}

// begin records a failure.
func (o *outage) begin(f Failure) {
	o.turn.begin()
	defer o.turn.end()
	if o.lasts.Store(true); o.observation != nil {
		o.observation.Failed(f)
	}
}

// works ends the outage, unless the subscriber's context has ended. It is called in a turn.
func (o *outage) works() {
	if !o.lasts.Load() || o.ctx.Err() != nil {
		return
	}
	if o.lasts.Store(false); o.observation != nil {
		o.observation.Works()
	}
}

// turn is a lock for code that calls hooks. A goroutine that waits for it waits on a channel: a mutex that is held while
// a hook waits would stop a bubble of testing/synctest.
type turn struct {
	goroutines atomic.Int32
	next       atomic.Pointer[chan struct{}] // made by the first that waits, or that does not let wait
}

func (t *turn) begin() {
	if t.goroutines.Add(1) > 1 {
		<-t.channel()
	}
}

func (t *turn) end() {
	if t.goroutines.Add(-1) > 0 {
		t.channel() <- struct{}{}
	}
}

func (t *turn) channel() chan struct{} {
	if t.next.Load() == nil {
		next := make(chan struct{}, 1)
		t.next.CompareAndSwap(nil, &next)
	}
	return *t.next.Load()
}
