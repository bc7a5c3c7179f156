package retrygrpc

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/retry"
)

// retrier is the shared part of all calls through one interceptor.
type retrier struct {
	settings
	policy retry.Policy
	engine engine.Policy[retry.State] // the policy's engine, which is not exported
}

func newRetrier(where string, p retry.Policy, opts []Option) *retrier {
	return &retrier{set(where, opts), p, engine.Of[retry.State](p)}
}

// retries reports whether calls of the method are retried.
func (r *retrier) retries(method string) bool { return r.methods == nil || r.methods(method) }

// call is the context of the policy's operation and of its hooks: the call's context, with the method.
type call struct {
	context.Context
	method string
}

type callKey struct{}

// Value returns the call itself for its key.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// String describes the context in the form that package context uses.
func (c *call) String() string { return fmt.Sprint(c.Context) }

// MethodFrom returns the method of the call for which a policy's hook is called, as in "/package.Service/Method", if
// ctx is the hook's context, else "".
func MethodFrom(ctx context.Context) string {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c.method
	}
	return ""
}

// do makes attempts until one succeeds or the policy gives up. try makes the n-th attempt under ctx, and sets the
// trailer of a failed one.
func (r *retrier) do(ctx context.Context, method string, try func(ctx context.Context, n int, trailer *metadata.MD) error) error {
	operation := &call{ctx, method}
	for a, end := range r.policy.Attempts(operation) {
		if end != nil {
			return ended(ctx, end)
		}
		var trailer metadata.MD
		failure := try(r.attemptContext(ctx, a.N()), a.N(), &trailer)
		if failure == nil {
			return nil
		}
		final := !slices.Contains(r.codes, status.Code(failure))
		if !final {
			failure = dictated(failure, trailer)
		}
		if a.Fail(failure); final {
			return failure
		}
	}
	panic("retrygrpc: the attempts ended without an end") // never
}

// attemptContext returns the context of the n-th attempt.
func (r *retrier) attemptContext(ctx context.Context, n int) context.Context {
	if n == 1 {
		return ctx
	}
	if r.numbers {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-retry-attempt", strconv.Itoa(n-1))
	}
	return attempt.With(ctx, n)
}
