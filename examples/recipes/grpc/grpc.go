// Package grpc keeps a server stream of gRPC alive by the resume token that each of its messages bears.
package grpc

import (
	"context"
	"io"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Watch returns the events of a server that takes a resume token, empty at first, and sends structs with a "token" and
// a heartbeat, one without a token, at least once in the time of silence. Each attempt has a connection of its own: a
// call on one that has fallen silent would hear nothing either, until grpc's keepalive notices, which takes 10 s or more.
func Watch(dial func() (*grpc.ClientConn, error), method string, silence time.Duration, policy stream.RetryHandler) stream.Stream[*structpb.Struct] {
	return operators.Resume("", func(at string) stream.Stream[*structpb.Struct] {
		var call stream.Stream[*structpb.Struct] = func(ctx context.Context, yield func(*structpb.Struct) bool) error {
			conn, err := dial()
			if err != nil {
				return err
			}
			defer conn.Close()
			events, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
			if err == nil {
				_, _ = events.SendMsg(wrapperspb.String(at)), events.CloseSend() // their errors come with RecvMsg
			}
			for err == nil {
				var e structpb.Struct
				if err = events.RecvMsg(&e); err == nil && !yield(&e) {
					return nil
				}
			}
			return failure(err)
		}
		return call.Timeout(silence).Filter(func(e *structpb.Struct) bool { return token(e) != "" })
	}, func(_ string, e *structpb.Struct) string { return token(e) }, policy)
}

func token(e *structpb.Struct) string { return e.GetFields()["token"].GetStringValue() }

// failure honours RetryInfo, and marks the codes that no retry can help. io.EOF is the server's good end.
func failure(err error) error {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return retry.RetryAfter(err, info.GetRetryDelay().AsDuration())
		}
	}
	switch code := status.Code(err); {
	case err == io.EOF:
		return nil
	case code == codes.Unavailable, code == codes.ResourceExhausted, code == codes.Aborted, code == codes.Internal:
		return err
	}
	return retry.Permanent(err)
}
