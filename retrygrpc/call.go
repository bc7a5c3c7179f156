package retrygrpc

import (
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/retrywhen/retrywhen/retry"
)

// retrier is the shared part of all calls through one interceptor.
type retrier struct {
	settings
	policy retry.Policy
}

func newRetrier(where string, p retry.Policy, opts []Option) *retrier {
	return &retrier{set(where, opts), p}
}

// retries reports whether calls of the method are retried.
func (r *retrier) retries(method string) bool { return r.methods == nil || r.methods(method) }

type methodKey struct{}

// MethodFrom returns the method of the call for which a policy's hook is called, as in "/package.Service/Method", if
// ctx is the hook's context, else "".
func MethodFrom(ctx context.Context) string {
	method, _ := ctx.Value(methodKey{}).(string)
	return method
}

// try makes the n-th attempt of a call under ctx, as the next one of the operation, and sets the trailer of a failed
// one.
type try func(ctx context.Context, op *retry.Operation, n int, trailer *metadata.MD) error

// do makes attempts until one succeeds or the policy gives up.
func (r *retrier) do(ctx context.Context, method string, try try) error {
	op := r.policy.Start(context.WithValue(ctx, methodKey{}, method))
	end := op.Cancelled()
	for n := 1; end == nil; n++ {
		var trailer metadata.MD
		failure := sent(try(r.numbered(ctx, n), &op, n, &trailer))
		if !slices.Contains(r.codes, status.Code(failure)) { // no code is OK
			return op.Done(retry.Outcome{Err: failure})
		}
		var delay time.Duration
		if delay, end = op.Failed(retry.Outcome{Err: dictated(failure, trailer)}); end == nil {
			end = op.Wait(delay)
		}
	}
	return ended(ctx, op.Done(retry.Outcome{Err: end}))
}

// numbered returns ctx with the number of the n-th attempt for the server, if the server is to know it.
func (r *retrier) numbered(ctx context.Context, n int) context.Context {
	if n > 1 && r.numbers {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-retry-attempt", strconv.Itoa(n-1))
	}
	return ctx
}
