package retrygrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/retrywhen/retrywhen/retry"
)

// UnaryClientInterceptor returns an interceptor that repeats unary calls as p decides. The package comment says which
// calls, and which errors it returns. p's hooks must be safe for concurrent use.
//
// Without Limit, Within or StopAt, p retries until the call's context ends. grpc.Header and grpc.Trailer receive those
// of the last attempt.
func UnaryClientInterceptor(p retry.Policy, opts ...Option) grpc.UnaryClientInterceptor {
	r := newRetrier("UnaryClientInterceptor", p, opts)
	if _, timed := p.AttemptTimeout(); timed { // the server knows the deadline too, and may report it first
		r.codes = append(r.codes, codes.DeadlineExceeded)
	}
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if !r.retries(method) {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		opts = opts[:len(opts):len(opts)]
		return r.do(ctx, method, func(ctx context.Context, op *retry.Operation, _ int, trailer *metadata.MD) error {
			timed, cancel := op.Attempt(ctx)
			defer cancel()
			return invoke(timed, method, req, reply, cc, append(opts, grpc.Trailer(trailer))...)
		})
	}
}
