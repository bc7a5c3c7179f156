package retry_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// A thousand clients each call a server once a second for a minute, and it is down for the 20 s in the middle. Each
// call may be retried five times. Without a budget the load on the server that is down is six times that of the calls;
// with one that all share it stays below what the budget holds and 10 % of the successes.
func TestHerd_ABudgetKeepsTheRetryLoadDown(t *testing.T) {
	const (
		clients, rounds  = 1000, 60
		downFrom, downTo = 20, 40
		limit            = 5
		capacity, refund = 500, 0.1
	)
	run := func(t *testing.T, opts ...retry.Option) (h herdLoad) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var calls, retries, retriesDown, succeeded atomic.Int64
			down := func() bool {
				at := time.Since(start)
				return downFrom*time.Second <= at && at < downTo*time.Second
			}
			p := retry.New(backoff.Exponential(20*time.Millisecond, 2).Jitter(jitter.Full), retry.Limit(limit)).With(opts...)
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Second / 10 / clients)
					for range rounds {
						round := time.Now()
						first := true
						_ = retry.Run(t.Context(), p, func(context.Context) error {
							if calls.Add(1); !first {
								retries.Add(1)
								if down() {
									retriesDown.Add(1)
								}
							}
							first = false
							if down() {
								return errBoom
							}
							succeeded.Add(1)
							return nil
						})
						time.Sleep(time.Until(round.Add(time.Second)))
					}
				})
			}
			wg.Wait()
			h = herdLoad{calls.Load(), retries.Load(), retriesDown.Load(), succeeded.Load()}
		})
		return h
	}
	const callsDown = clients * (downTo - downFrom)
	without := run(t)
	with := run(t, retry.WithBudget(retry.NewBudget(capacity, 1, refund)))
	t.Logf("while the server is down: %d calls; %d retries without a budget (×%.2f), %d with (×%.3f)",
		callsDown, without.retriesDown, 1+float64(without.retriesDown)/callsDown, with.retriesDown, 1+float64(with.retriesDown)/callsDown)
	t.Logf("in all: %+v without, %+v with", without, with)

	if without.retriesDown < callsDown*(limit-1) || without.retriesDown > callsDown*limit {
		t.Errorf("%d retries without a budget, want nearly %d: the limit times the calls", without.retriesDown, callsDown*limit)
	}
	if with.retriesDown > capacity {
		t.Errorf("%d retries while the server is down, want at most the budget's capacity, %d", with.retriesDown, capacity)
	}
	if most := capacity + int64(refund*float64(with.succeeded)); with.retries > most {
		t.Errorf("%d retries in all, want at most the capacity and a tenth of the successes, %d", with.retries, most)
	}
	if with.succeeded < clients*(rounds-(downTo-downFrom)-1) {
		t.Errorf("%d calls succeeded: the budget is in the way of a server that is up", with.succeeded)
	}
}

// The same with a server that loses nine of ten calls all the time: the budget holds for as long as it lasts.
func TestHerd_ABudgetHoldsWhenSomeCallsSucceed(t *testing.T) {
	const clients, rounds, capacity, refund = 1000, 20, 200, 0.2
	synctest.Test(t, func(t *testing.T) {
		budget := retry.NewBudget(capacity, 1, refund)
		p := retry.New(backoff.Constant(10*time.Millisecond).Jitter(jitter.Full), retry.Limit(3), retry.WithBudget(budget))
		var calls, first, succeeded atomic.Int64
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range rounds {
					first.Add(1)
					_ = retry.Run(t.Context(), p, func(context.Context) error {
						if calls.Add(1)%10 == 0 {
							succeeded.Add(1)
							return nil
						}
						return errBoom
					})
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		retries := calls.Load() - first.Load()
		t.Logf("%d calls, %d retries, %d successes", first.Load(), retries, succeeded.Load())
		if most := capacity + refund*float64(succeeded.Load()); float64(retries) > most {
			t.Errorf("%d retries, want at most %v", retries, most)
		}
	})
}

// herdLoad is what reached the server, or would have.
type herdLoad struct{ calls, retries, retriesDown, succeeded int64 }
