package grpc_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/recipes/grpc"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retrygrpc"
)

// The recipe comes back from every break of its connection, before and in the middle of each of the server's writes.
func TestWatch_ComesBack(t *testing.T) {
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Full),
		retry.ResetAfterItems(1), retry.If(retrygrpc.IsTransient))
	reconnecttest.Check(t, func() reconnecttest.Run[float64] {
		return reconnecttest.Run[float64]{Serve: twelveEvents, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(float64)) error {
			connect := func() (*rpc.ClientConn, error) {
				return rpc.NewClient("passthrough:///127.0.0.1:80", rpc.WithTransportCredentials(insecure.NewCredentials()),
					rpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, "tcp", addr) }))
			}
			return grpc.Watch(connect, watch, "", 30*time.Second, policy).ForEach(ctx, func(e *structpb.Struct) {
				got(e.GetFields()["n"].GetNumberValue())
			})
		}}
	})
}

// twelveEvents serves the events after a token, 100 ms apart, and then heartbeats.
func twelveEvents(ctx context.Context, l net.Listener) {
	server := newServer(func(at int, s rpc.ServerStream) error {
		for n := at + 1; s.Context().Err() == nil; n++ {
			event := &structpb.Struct{}
			time.Sleep(100 * time.Millisecond)
			if n <= 12 {
				event, _ = structpb.NewStruct(map[string]any{"token": "after-" + strconv.Itoa(n), "n": n})
			} else {
				time.Sleep(10 * time.Second)
			}
			if err := s.SendMsg(event); err != nil {
				return err
			}
		}
		return s.Context().Err()
	})
	defer context.AfterFunc(ctx, server.Stop)()
	_ = server.Serve(l)
}
