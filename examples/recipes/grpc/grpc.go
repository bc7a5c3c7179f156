// Package grpc keeps a server stream of gRPC alive by the resume token that each of its messages bears.
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

// Watch returns the events of a server that takes a resume token, empty at first, and sends structs with a "token" and
// a heartbeat, one without a token, at least once in the time of silence. watch returns the method of a client on the
// connection. Each attempt has a connection of its own: a call on one that has fallen silent would hear nothing either,
// until grpc's keepalive notices, which takes 10 s or more. The policy should have retry.If(retrygrpc.IsTransient).
func Watch(dial func() (*grpc.ClientConn, error), watch func(*grpc.ClientConn) Method, silence time.Duration, policy stream.RetryHandler) stream.Stream[*structpb.Struct] {
	return operators.Resume("", func(at string) stream.Stream[*structpb.Struct] {
		var call stream.Stream[*structpb.Struct] = func(ctx context.Context, yield func(*structpb.Struct) bool) error {
			conn, err := dial()
			if err != nil {
				return err
			}
			defer conn.Close()
			return retrygrpc.Receive(watch(conn), wrapperspb.String(at))(ctx, yield)
		}
		return call.Timeout(silence).Filter(func(e *structpb.Struct) bool { return token(e) != "" })
	}, func(_ string, e *structpb.Struct) string { return token(e) }, policy)
}

// Method is a generated client's.
type Method = func(context.Context, *wrapperspb.StringValue, ...grpc.CallOption) (grpc.ServerStreamingClient[structpb.Struct], error)

func token(e *structpb.Struct) string { return e.GetFields()["token"].GetStringValue() }
