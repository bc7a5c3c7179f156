package retrygrpc

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/retrywhen/retrywhen/stream"
)

// Receive returns the stream of the responses to req. method is the method of a generated client, as in
//
//	events := operators.Resume(int64(0), func(after int64) stream.Stream[*pb.Event] {
//		return retrygrpc.Receive(client.Watch, &pb.WatchRequest{After: after})
//	}, func(_ int64, e *pb.Event) int64 { return e.Id }, policy)
//
// Each run makes a new call, and ends it when its consumer stops. A failure carries the delay that the server dictates,
// and is permanent if the server says that the call must not be repeated. With retry.If(IsTransient) a policy retries
// only the errors after which the call may succeed. The stream's Timeout, or gRPC's keepalive, detects a silent
// connection.
//
// Retry in one layer: use the option Methods to exclude from StreamClientInterceptor the calls that Resume repeats.
func Receive[Req, Res any, C interface {
	Recv() (*Res, error)
	Trailer() metadata.MD
}](method func(context.Context, *Req, ...grpc.CallOption) (C, error), req *Req, opts ...grpc.CallOption) stream.Stream[*Res] {
	if method == nil {
		panicf("Receive", "method is nil")
	}
	return func(ctx context.Context, yield func(*Res) bool) error {
		own, cancel := context.WithCancel(ctx)
		defer cancel()
		responses, err := method(own, req, opts...)
		if err != nil {
			return stream.ContextError(ctx, dictated(sent(err), nil))
		}
		for ctx.Err() == nil {
			m, err := responses.Recv()
			switch {
			case err == io.EOF:
				return nil
			case err != nil:
				return stream.ContextError(ctx, dictated(err, responses.Trailer()))
			case !yield(m):
				return nil
			}
		}
		return stream.ContextError(ctx)
	}
}
