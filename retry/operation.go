package retry

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// operation is one operation under a policy that waits in place: its row, and what it waits with.
type operation struct {
	waiter
	row Row
}

func newOperation(ctx context.Context, p Policy) operation {
	return operation{waiter: p.settings().newWaiter(ctx)}
}

// failed takes the failure of an attempt and returns nil when it is time for the next one, else the error that ends
// the operation.
func (o *operation) failed(ctx context.Context, f stream.Failure) error {
	m := moment{clock: o.clock}
	if ctx.Err() != nil {
		o.config.count(&o.row, &m)
		return o.abandon(ctx, f.Err)
	}
	deadline, _ := ctx.Deadline()
	delay, err := o.config.decide(&o.row, &f, &m, deadline)
	if err != nil {
		return err
	}
	if delay > 0 {
		o.wait(ctx, &o.row, delay)
	}
	if ctx.Err() != nil {
		return o.abandon(ctx, f.Err)
	}
	return nil
}

// abandon returns the error of an operation whose context has ended. Nobody is told: it is not the policy that gives up.
func (o *operation) abandon(ctx context.Context, last error) error {
	return o.row.failure(ending.Of(ctx), last, &moment{clock: o.clock})
}
