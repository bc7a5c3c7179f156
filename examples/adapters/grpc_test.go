package adapters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// received is a server-streaming call as a stream of its messages: client is the method of the generated client, with its
// request.
func received[M any](client func(context.Context) (grpc.ServerStreamingClient[M], error)) stream.Stream[*M] {
	return stream.FromSeq2(func(ctx context.Context) iter.Seq2[*M, error] {
		return func(yield func(*M, error) bool) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel() // ends the call when its consumer has seen enough
			call, err := client(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for {
				m, err := call.Recv()
				if errors.Is(err, io.EOF) || !yield(m, err) || err != nil {
					return
				}
			}
		}
	})
}

// transient reports whether a call that failed so may go better the next time.
func transient(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Internal:
		return true
	}
	return false
}

// A feed of numbered events, which goes on after the last one that was seen when its connection breaks.
func Example_gRPC() {
	conn, stop := serveNumbers()
	defer stop()

	last := int64(0)
	events := received(func(ctx context.Context) (grpc.ServerStreamingClient[wrapperspb.Int64Value], error) {
		return after(ctx, conn, last)
	}).Tap(func(m *wrapperspb.Int64Value) { last = m.Value })
	policy := operators.ExpBackoff(jitter.Default, time.Millisecond, 5, retry.If(transient), retry.ResetAfterItems(1),
		retry.OnRetry(func(_ context.Context, e retry.Event) { fmt.Println("retry", e.N, "after", last, status.Code(e.Err)) }))

	err := events.RetryWhen(policy).ForEach(context.Background(), func(m *wrapperspb.Int64Value) {
		fmt.Println(m.Value)
	})
	fmt.Println(err)
	// Output:
	// 1
	// 2
	// 3
	// retry 1 after 3 Unavailable
	// 4
	// 5
	// 6
	// retry 1 after 6 Unavailable
	// 7
	// <nil>
}

// What follows stands for generated code and for a server, which breaks off after three events.

func after(ctx context.Context, conn *grpc.ClientConn, n int64) (grpc.ServerStreamingClient[wrapperspb.Int64Value], error) {
	call, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/Numbers/After")
	if err != nil {
		return nil, err
	}
	if err := call.SendMsg(wrapperspb.Int64(n)); err != nil {
		return nil, err
	}
	return &grpc.GenericClientStream[wrapperspb.Int64Value, wrapperspb.Int64Value]{ClientStream: call}, call.CloseSend()
}

func serveNumbers() (*grpc.ClientConn, func()) {
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "Numbers", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{{
		StreamName:    "After",
		ServerStreams: true,
		Handler: func(_ any, call grpc.ServerStream) error {
			var from wrapperspb.Int64Value
			if err := call.RecvMsg(&from); err != nil {
				return err
			}
			for n := from.Value + 1; n <= 7; n++ {
				if n > from.Value+3 {
					return status.Error(codes.Unavailable, "the server is being updated")
				}
				if err := call.SendMsg(wrapperspb.Int64(n)); err != nil {
					return err
				}
			}
			return nil
		},
	}}}, nil)
	pipe := bufconn.Listen(1 << 16)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(pipe)
	}()
	conn, err := grpc.NewClient("passthrough:pipe", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	if err != nil {
		panic(err)
	}
	return conn, func() {
		conn.Close()
		server.Stop()
		<-served
	}
}
