package operators_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// deliveries is a fake broker's queue. A connection delivers what is not acknowledged, up to 20 messages ahead, and
// breaks after a random time. A delivery can be acknowledged only on its own connection.
type deliveries struct {
	mu           sync.Mutex // never held in a wait
	acknowledged []bool
	left         int
}

// delivery is one delivery of a message, with the context of the attempt that received it.
type delivery struct {
	ctx     context.Context
	message int
	ahead   chan struct{} // of its connection: what is delivered and not done
}

var errBroken = errors.New("the connection is broken")

func (q *deliveries) connection(ctx context.Context, yield func(delivery) bool) error {
	ahead := make(chan struct{}, 20)
	broken := time.After(100*ms + rand.N(2*time.Second))
	for message := range q.acknowledged {
		if q.done(message) {
			continue
		}
		select {
		case ahead <- struct{}{}:
		case <-broken:
			return errBroken
		case <-ctx.Done():
			return ctx.Err()
		}
		time.Sleep(ms)
		if !yield(delivery{ctx, message, ahead}) {
			return nil
		}
	}
	for !q.empty() {
		select {
		case <-time.After(10 * ms):
		case <-broken:
			return errBroken
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (q *deliveries) done(message int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.acknowledged[message]
}

func (q *deliveries) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.left == 0
}

func (q *deliveries) acknowledge(d delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if d.ctx.Err() == nil && !q.acknowledged[d.message] {
		q.acknowledged[d.message] = true
		q.left--
	}
}

// A broker's deliveries through MapRetry. With the attempt's context on each item, as the comment of MapRetry says, no
// delivery is worked on after its connection, none is declared dead, and the few messages that come twice are those
// whose acknowledgement was lost. Without it, many are.
func TestMapRetry_ItemsThatBelongToAConnection(t *testing.T) {
	type outcome struct{ late, repeated, dead int }
	const messages = 300
	run := func(t *testing.T, o operators.MapRetryOptions[delivery], bury func(delivery) bool) (got outcome) {
		q := &deliveries{acknowledged: make([]bool, messages), left: messages}
		effects := make([]map[context.Context]bool, messages) // of each message, by connection
		var mu sync.Mutex                                     // for effects
		var late atomic.Int64
		o.Workers = 8
		o.DeadLetter = func(_ context.Context, d delivery, err *retry.Error) error {
			<-d.ahead
			if bury(d) {
				got.dead++ // on the consumer's goroutine
				q.acknowledge(d)
			}
			return nil
		}
		feed := stream.Stream[delivery](q.connection).RetryWhen(constant(time.Second))
		work := operators.MapRetry(feed, retry.New(backoff.Exponential(50*ms, 2), retry.Limit(4)), func(ctx context.Context, d delivery) (delivery, error) {
			if d.ctx.Err() != nil {
				late.Add(1)
			}
			if _, err := stream.Timer(time.Duration(rand.IntN(200)) * ms).One(ctx); err != nil {
				return d, err
			}
			if stream.AttemptFrom(ctx) < 4 && rand.IntN(3) == 0 {
				return d, errBoom
			}
			mu.Lock()
			defer mu.Unlock()
			if effects[d.message] == nil {
				effects[d.message] = map[context.Context]bool{}
			}
			effects[d.message][d.ctx] = true
			return d, nil
		}, o)
		err := work.ForEach(t.Context(), func(d delivery) {
			q.acknowledge(d)
			<-d.ahead
		})
		if err != nil || q.left > 0 {
			t.Errorf("%v, with %d messages left", err, q.left)
		}
		for _, each := range effects {
			got.repeated += len(each) - 1
		}
		got.late = int(late.Load())
		return got
	}
	bubble(t, "with the attempt's context", func(t *testing.T) {
		got := run(t, operators.MapRetryOptions[delivery]{
			Context: func(_ context.Context, d delivery) context.Context { return d.ctx },
		}, func(d delivery) bool { return d.ctx.Err() == nil })
		if got.late+got.dead > 0 || got.repeated > messages/10 {
			t.Errorf("%+v, want nothing but the few whose acknowledgement was lost", got)
		}
	})
	bubble(t, "without", func(t *testing.T) {
		got := run(t, operators.MapRetryOptions[delivery]{}, func(delivery) bool { return true })
		if got.late == 0 || got.repeated == 0 {
			t.Errorf("%+v, want late and repeated work", got)
		}
	})
}
