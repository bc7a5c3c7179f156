package retrygrpc_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retrygrpc"
)

// must fails the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMain fails if the tests leave a goroutine. goleak alone waits for half a second until the last ones have ended,
// which is not enough on a busy machine.
func TestMain(m *testing.M) {
	code := m.Run()
	for tries := 1; code == 0; tries++ {
		left := goleak.Find()
		if left == nil {
			break
		}
		if tries == 60 {
			fmt.Fprintln(os.Stderr, "goroutines are left:", left)
			code = 1
		}
	}
	os.Exit(code)
}

type (
	number  = wrapperspb.Int64Value
	numbers = grpc.ServerStreamingClient[number]
)

const (
	double = "/test.Numbers/Double" // unary
	after  = "/test.Numbers/After"  // a stream of the numbers after the one requested
	sum    = "/test.Numbers/Sum"    // of a stream of requests
)

// server is a gRPC server that records its calls and fails as configured.
type server struct {
	// fail is called with the number of the call, from 1, before it is served.
	fail func(ctx context.Context, call int) error
	// broken is the number at which a stream of responses breaks off, 0 for never.
	broken int64

	start time.Time
	mu    sync.Mutex
	at    []time.Duration // of the calls
	tries []string        // x-retry-attempt of the calls
}

func (s *server) begin(ctx context.Context) error {
	s.mu.Lock()
	s.at = append(s.at, time.Since(s.start))
	call := len(s.at)
	s.tries = append(s.tries, metadata.ValueFromIncomingContext(ctx, "x-retry-attempt")...)
	s.mu.Unlock()
	if s.fail == nil {
		return nil
	}
	return s.fail(ctx, call)
}

// calls returns how many calls there were, and expect fails the test if they came at other times.
func (s *server) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.at)
}

func (s *server) expect(t *testing.T, at ...time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.at, at) {
		t.Errorf("calls at %v, want %v", s.at, at)
	}
}

// serve starts the server on the listener, and returns a function that stops it.
func (s *server) serve(on net.Listener) (stop func()) {
	s.start = time.Now()
	one := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var in number
		if err := decode(&in); err != nil {
			return nil, err
		}
		if err := s.begin(ctx); err != nil {
			return nil, err
		}
		return wrapperspb.Int64(2 * in.Value), nil
	}
	many := func(_ any, call grpc.ServerStream) error {
		var in number
		if err := call.RecvMsg(&in); err != nil {
			return err
		}
		if err := s.begin(call.Context()); err != nil {
			return err
		}
		for n := in.Value + 1; n <= 9; n++ {
			if err := call.SendMsg(wrapperspb.Int64(n)); err != nil {
				return err
			}
			if n == s.broken {
				return status.Error(codes.Unavailable, "restarting")
			}
		}
		return nil
	}
	add := func(_ any, call grpc.ServerStream) error {
		if err := s.begin(call.Context()); err != nil {
			return err
		}
		var total int64
		for {
			var in number
			if err := call.RecvMsg(&in); err != nil {
				return call.SendMsg(wrapperspb.Int64(total))
			}
			total += in.Value
		}
	}
	g := grpc.NewServer(grpc.WaitForHandlers(true))
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Numbers", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Double", Handler: one}},
		Streams: []grpc.StreamDesc{
			{StreamName: "After", ServerStreams: true, Handler: many},
			{StreamName: "Sum", ClientStreams: true, Handler: add},
		},
	}, nil)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = g.Serve(on)
	}()
	return func() {
		g.Stop()
		<-served
	}
}

// connect returns a connection to the server, in memory, with interceptors of the policy.
func (s *server) connect(t *testing.T, p retry.Policy, opts ...retrygrpc.Option) *grpc.ClientConn {
	t.Helper()
	pipe := bufconn.Listen(1 << 16)
	stop := s.serve(pipe)
	conn, err := grpc.NewClient("passthrough:pipe", append(interceptors(p, opts...),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))...)
	must(t, err)
	t.Cleanup(func() {
		conn.Close()
		stop()
	})
	return conn
}

var insecurely = grpc.WithTransportCredentials(insecure.NewCredentials())

func interceptors(p retry.Policy, opts ...retrygrpc.Option) []grpc.DialOption {
	return []grpc.DialOption{
		insecurely,
		grpc.WithUnaryInterceptor(retrygrpc.UnaryClientInterceptor(p, opts...)),
		grpc.WithStreamInterceptor(retrygrpc.StreamClientInterceptor(p, opts...)),
	}
}

// client stands for generated code.
type client struct{ *grpc.ClientConn }

func (c client) Double(ctx context.Context, in *number, opts ...grpc.CallOption) (*number, error) {
	out := new(number)
	return out, c.Invoke(ctx, double, in, out, opts...)
}

func (c client) After(ctx context.Context, in *number, opts ...grpc.CallOption) (numbers, error) {
	call, err := c.NewStream(ctx, &grpc.StreamDesc{StreamName: "After", ServerStreams: true}, after, opts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[number, number]{ClientStream: call}
	if err := x.ClientStream.SendMsg(in); err != nil {
		return nil, err
	}
	return x, x.CloseSend()
}

func (c client) Sum(ctx context.Context, opts ...grpc.CallOption) (grpc.ClientStreamingClient[number, number], error) {
	call, err := c.NewStream(ctx, &grpc.StreamDesc{StreamName: "Sum", ClientStreams: true}, sum, opts...)
	if err != nil {
		return nil, err
	}
	return &grpc.GenericClientStream[number, number]{ClientStream: call}, nil
}

// linear waits for n seconds before the n-th retry.
func linear(limit int, opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Linear(time.Second), retry.Limit(limit)).With(opts...)
}

// times fails the first n calls with the code.
func times(n int, code codes.Code) func(context.Context, int) error {
	return func(_ context.Context, call int) error {
		if call <= n {
			return status.Errorf(code, "failure %d", call)
		}
		return nil
	}
}
