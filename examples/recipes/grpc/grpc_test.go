package grpc_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/grpc"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retrygrpc"
)

const silence = 200 * time.Millisecond

// watch replaces the Watch method of a generated client.
func watch(conn *rpc.ClientConn) grpc.Method {
	return func(ctx context.Context, token *wrapperspb.StringValue, opts ...rpc.CallOption) (rpc.ServerStreamingClient[structpb.Struct], error) {
		call, err := conn.NewStream(ctx, &rpc.StreamDesc{ServerStreams: true}, "/recipes.Events/Watch", opts...)
		if err != nil {
			return nil, err
		}
		_ = call.SendMsg(token) // RecvMsg returns its error
		return &rpc.GenericClientStream[wrapperspb.StringValue, structpb.Struct]{ClientStream: call}, call.CloseSend()
	}
}

var policy = proxy.Policy.With(retry.If(retrygrpc.IsTransient))

// newServer returns a server whose method Watch sends what follows an event.
func newServer(watch func(at int, s rpc.ServerStream) error) *rpc.Server {
	handler := func(_ any, s rpc.ServerStream) error {
		var request wrapperspb.StringValue
		if err := s.RecvMsg(&request); err != nil {
			return err
		}
		at, _ := strconv.Atoi(strings.TrimPrefix(request.GetValue(), "after-"))
		return watch(at, s)
	}
	server := rpc.NewServer()
	server.RegisterService(&rpc.ServiceDesc{ServiceName: "recipes.Events", HandlerType: (*any)(nil),
		Streams: []rpc.StreamDesc{{StreamName: "Watch", ServerStreams: true, Handler: handler}}}, struct{}{})
	return server
}

// serve starts a server of numbered events with the tokens "after-n", and returns its address. A call ends with the
// error that refuse returns, if any.
func serve(t *testing.T, refuse func(call int64) error) string {
	var calls atomic.Int64
	server := newServer(func(at int, s rpc.ServerStream) error {
		if err := refuse(calls.Add(1)); err != nil {
			return err
		}
		for n := at + 1; ; n++ {
			if n%10 == 0 {
				if err := s.SendMsg(&structpb.Struct{}); err != nil {
					return err
				}
			}
			event, err := structpb.NewStruct(map[string]any{"token": "after-" + strconv.Itoa(n), "n": n})
			if err != nil {
				return err
			}
			if err := s.SendMsg(event); err != nil {
				return err
			}
			if n%50 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	})
	return start(t, server)
}

func start(t *testing.T, server *rpc.Server) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func dial(address string) func() (*rpc.ClientConn, error) {
	return func() (*rpc.ClientConn, error) {
		return rpc.NewClient("passthrough:///"+address, rpc.WithTransportCredentials(insecure.NewCredentials()))
	}
}

// The outage ends when the server has accepted the call, which it says with its header, not with the first event or
// heartbeat.
func TestWatch_Confirmed(t *testing.T) {
	var calls atomic.Int64
	recovered := make(chan struct{})
	address := start(t, newServer(func(_ int, s rpc.ServerStream) error {
		if calls.Add(1) == 1 {
			return status.Error(codes.Unavailable, "restarting")
		}
		if err := s.SendHeader(nil); err != nil {
			return err
		}
		select {
		case <-recovered:
			event, err := structpb.NewStruct(map[string]any{"token": "after-1"})
			return errors.Join(err, s.SendMsg(event))
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}))
	p := policy.With(retry.OnRecovered(func(context.Context, retry.Recovery) { close(recovered) }))
	got, err := grpc.Watch(dial(address), watch, "", time.Minute, p.With(retry.Limit(1))).Take(1).Collect(t.Context())
	if err != nil || len(got) != 1 || calls.Load() != 2 {
		t.Errorf("%v, %v in %d calls", got, err, calls.Load())
	}
}

func TestWatch_RetryInfo(t *testing.T) {
	const dictated = 150 * time.Millisecond
	address := serve(t, func(call int64) error {
		if call > 1 {
			return nil
		}
		busy, err := status.New(codes.FailedPrecondition, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(dictated)})
		return errors.Join(err, busy.Err())
	})
	var delays []time.Duration
	p := policy.With(retry.OnRetry(func(_ context.Context, e retry.Event) { delays = append(delays, e.Delay) }))
	got, err := grpc.Watch(dial(address), watch, "", time.Minute, p).Take(1).Collect(t.Context())
	if err != nil || len(got) != 1 || len(delays) != 1 || delays[0] < dictated {
		t.Errorf("%v, %v after the delays %v", got, err, delays)
	}
}

func TestWatch_NoRetryCanHelp(t *testing.T) {
	var calls atomic.Int64
	address := serve(t, func(call int64) error {
		calls.Store(call)
		return status.Error(codes.PermissionDenied, "no")
	})
	_, err := grpc.Watch(dial(address), watch, "", time.Minute, policy).Collect(t.Context())
	if status.Code(err) != codes.PermissionDenied || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

func TestWatch_Cancel(t *testing.T) {
	address := serve(t, func(int64) error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	events := grpc.Watch(dial(address), watch, "", time.Minute, policy)
	err := events.ForEach(ctx, func(*structpb.Struct) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

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

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the token of each event.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := ""
	e.Start(&at)
	return killed.Follow(ctx, e, 1000, grpc.Watch(dial(args[0]), watch, at, silence, policy), func(v *structpb.Struct) (int, any) {
		return int(v.GetFields()["n"].GetNumberValue()), v.GetFields()["token"].GetStringValue()
	})
}

func TestWatch_Killed(t *testing.T) {
	killed.Check(t, "gRPC", 10, 75, 1000, "0", serve(t, func(int64) error { return nil }))
}
