package conformance_test

import (
	"context"
	"testing"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// The streams that rx.ToStream makes keep the contract, whatever rxgo's observables do.
func TestBridge_KeepsTheContract(t *testing.T) {
	for name, src := range map[string]func(context.Context) rxgo.Observable{
		"empty":   func(ctx context.Context) rxgo.Observable { return rxgo.Empty() },
		"never":   func(ctx context.Context) rxgo.Observable { return rxgo.Never() },
		"values":  func(ctx context.Context) rxgo.Observable { return rxgo.Just(1, 2, 3)(rxgo.WithContext(ctx)) },
		"failing": func(ctx context.Context) rxgo.Observable { return rxgo.Just(1, errBoom)(rxgo.WithContext(ctx)) },
		"ticks": func(ctx context.Context) rxgo.Observable {
			return rxgo.Interval(rxgo.WithDuration(5*ms), rxgo.WithContext(ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			streamtest.Check(t, func() stream.Stream[int] { return rx.ToStream[int](src) })
		})
		t.Run(name+", there and back, retried", func(t *testing.T) {
			streamtest.Check(t, func() stream.Stream[int] {
				return rx.ToStream[int](func(ctx context.Context) rxgo.Observable {
					return rx.RetryWhen(src, constant(3*ms, retry.Limit(2)), rxgo.WithContext(ctx))
				})
			})
		})
	}
}
