// Package grpc continues a server stream of gRPC after a failure, from the resume token in each of its messages.
package grpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retrygrpc"
	"github.com/retrywhen/retrywhen/stream"
)

// Watch returns the events of a server that takes a resume token, after the one of start, which is empty at first. The
// server sends structs with a "token", and at least once per silence a heartbeat: a struct without a token. It sends
// its header when it has subscribed the client, which ends an outage. watch returns the client's method on the
// connection. Each attempt has its own connection, because another call on a silent connection would receive nothing
// either until grpc's keepalive detects that, which takes 10 s or more. The policy should have
// retry.If(retrygrpc.IsTransient).
func Watch(dial func() (*grpc.ClientConn, error), watch func(*grpc.ClientConn) Method, start string, silence time.Duration, policy stream.RetryHandler) stream.Stream[*structpb.Struct] {
	return operators.Resume(start, func(at string) stream.Stream[*structpb.Struct] {
		var call stream.Stream[*structpb.Struct] = func(ctx context.Context, yield func(*structpb.Struct) bool) error {
			conn, err := dial()
			if err != nil {
				return err
			}
			defer conn.Close()
			method := watch(conn)
			confirmed := func(ctx context.Context, at *wrapperspb.StringValue, o ...grpc.CallOption) (grpc.ServerStreamingClient[structpb.Struct], error) {
				call, err := method(ctx, at, o...)
				if err != nil {
					return nil, err
				}
				if header, _ := call.Header(); header != nil { // else Recv returns the error
					stream.Works(ctx)
				}
				return call, nil
			}
			return retrygrpc.Receive(confirmed, wrapperspb.String(at))(ctx, yield)
		}
		return call.Timeout(silence).DropHeartbeats(func(e *structpb.Struct) bool { return token(e) == "" })
	}, func(_ string, e *structpb.Struct) string { return token(e) }, policy)
}

// Method is a method of a generated client.
type Method = func(context.Context, *wrapperspb.StringValue, ...grpc.CallOption) (grpc.ServerStreamingClient[structpb.Struct], error)

func token(e *structpb.Struct) string { return e.GetFields()["token"].GetStringValue() }
