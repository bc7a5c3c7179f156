// Package retrygrpc runs package retrygrpc, go-grpc-middleware's retry interceptor and gRPC's own retries through the
// same scenarios, in memory and on virtual time.
package retrygrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	middleware "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retrygrpc"
)

// Each library makes at most 5 attempts, 100 ms apart, and retries Unavailable and ResourceExhausted. The delays of a
// service config are random, between 80 and 120 ms, and rounded here.
const attempts = 5

var libraries = []struct {
	name    string
	options func(timeout time.Duration) []grpc.DialOption
}{
	{"retrygrpc", func(timeout time.Duration) []grpc.DialOption {
		p := retry.New(backoff.Constant(100*time.Millisecond), retry.Limit(attempts-1))
		if timeout > 0 {
			p = p.With(retry.AttemptTimeout(timeout))
		}
		return []grpc.DialOption{grpc.WithDisableRetry(), grpc.WithUnaryInterceptor(retrygrpc.UnaryClientInterceptor(p)),
			grpc.WithStreamInterceptor(retrygrpc.StreamClientInterceptor(p))}
	}},
	{"go-grpc-middleware", func(timeout time.Duration) []grpc.DialOption {
		opts := []middleware.CallOption{middleware.WithMax(attempts), middleware.WithBackoff(middleware.BackoffLinear(100 * time.Millisecond))}
		if timeout > 0 {
			opts = append(opts, middleware.WithPerRetryTimeout(timeout))
		}
		return []grpc.DialOption{grpc.WithDisableRetry(), grpc.WithUnaryInterceptor(middleware.UnaryClientInterceptor(opts...)),
			grpc.WithStreamInterceptor(middleware.StreamClientInterceptor(opts...))}
	}},
	{"service config", func(time.Duration) []grpc.DialOption {
		return []grpc.DialOption{grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5,
			"initialBackoff": "0.1s", "maxBackoff": "0.1s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}`)}
	}},
}

var scenarios = []struct {
	name     string
	fail     func(ctx context.Context, call int) error
	method   string
	breaks   bool          // the stream of responses fails after 2 of 3
	timeout  time.Duration // of an attempt
	deadline time.Duration // of the call; 0 is 10 s
	ours     string
}{
	{name: "Unavailable twice", fail: first(2, status.Error(codes.Unavailable, "")), ours: "OK; 3 calls, 200ms"},
	{name: "Unavailable forever", fail: first(99, status.Error(codes.Unavailable, "")), ours: "Unavailable, *retry.Error; 5 calls, 400ms"},
	{name: "NotFound", fail: first(99, status.Error(codes.NotFound, "")), ours: "NotFound; 1 call, 0s"},
	{name: "RetryInfo of 2 s", fail: first(1, info(2*time.Second)), ours: "OK; 2 calls, 2s"},
	{name: "RetryInfo of an hour", fail: first(99, info(time.Hour)), ours: "Unavailable, *retry.Error; 1 call, 0s"},
	{name: "pushback of 2 s", fail: pushback("2000"), ours: "OK; 2 calls, 2s"},
	{name: "pushback of -1", fail: pushback("-1"), ours: "Unavailable; 1 call, 0s"},
	{name: "two attempts that hang, with 1 s for each", timeout: time.Second, fail: func(ctx context.Context, call int) error {
		if call <= 2 {
			<-ctx.Done()
		}
		return ctx.Err()
	}, ours: "OK; 3 calls, 2.2s"},
	{name: "a deadline in the middle of a wait", fail: first(99, status.Error(codes.Unavailable, "")), deadline: 150 * time.Millisecond, ours: "Unavailable, *retry.Error; 2 calls, 100ms"},
	{name: "responses: Unavailable twice before the first", method: "Many", fail: first(2, status.Error(codes.Unavailable, "")), ours: "3 responses, OK; 3 calls, 200ms"},
	{name: "responses: cut after the second", method: "Many", breaks: true, ours: "2 responses, Unavailable; 1 call, 0s"},
	{name: "a stream of requests", method: "Sum", fail: first(1, status.Error(codes.Unavailable, "")), ours: "Unavailable; 1 call, 0s"},
}

func first(n int, err error) func(context.Context, int) error {
	return func(_ context.Context, call int) error {
		if call <= n {
			return err
		}
		return nil
	}
}

func info(d time.Duration) error {
	s, err := status.New(codes.Unavailable, "").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	return errors.Join(err, s.Err())
}

func pushback(ms string) func(context.Context, int) error {
	return func(ctx context.Context, call int) error {
		if call > 1 {
			return nil
		}
		return errors.Join(grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", ms)), status.Error(codes.Unavailable, ""))
	}
}

func TestTable(t *testing.T) {
	var table strings.Builder
	table.WriteString("| scenario |")
	for _, l := range libraries {
		table.WriteString(" " + l.name + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(libraries)) + "\n")
	for i, s := range scenarios {
		table.WriteString("| " + s.name + " |")
		for j, l := range libraries {
			synctest.Test(t, func(t *testing.T) {
				got := run(t, i, l.options(s.timeout))
				if table.WriteString(" " + got + " |"); j == 0 && got != s.ours {
					t.Errorf("%s: %s, want %s", s.name, got, s.ours)
				}
			})
		}
		table.WriteString("\n")
	}
	t.Logf("\n%s", table.String())
}

// run returns what the client received in a scenario.
func run(t *testing.T, i int, options []grpc.DialOption) string {
	s, calls := scenarios[i], 0
	begin := func(ctx context.Context) error {
		if calls++; s.fail != nil {
			return s.fail(ctx, calls)
		}
		return nil
	}
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Service", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "One", Handler: func(_ any, ctx context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			return wrapperspb.Int64(1), begin(ctx)
		}}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Many", ServerStreams: true, Handler: func(_ any, call grpc.ServerStream) error {
				err := begin(call.Context())
				for n := 1; err == nil && n <= 3; n++ {
					if err = call.SendMsg(wrapperspb.Int64(int64(n))); s.breaks && n == 2 {
						return status.Error(codes.Unavailable, "")
					}
				}
				return err
			}},
			{StreamName: "Sum", ClientStreams: true, Handler: func(_ any, call grpc.ServerStream) error {
				if err := begin(call.Context()); err != nil {
					return err
				}
				return call.SendMsg(wrapperspb.Int64(1))
			}},
		}}, nil)
	pipe := bufconn.Listen(1 << 16)
	served := make(chan error)
	go func() { served <- server.Serve(pipe) }()
	conn, err := grpc.NewClient("passthrough:pipe", append(options, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		conn.Close()
		server.Stop()
		<-served
	}()
	deadline := s.deadline
	if deadline == 0 {
		deadline = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	start, text := time.Now(), ""
	if s.method == "" {
		err = conn.Invoke(ctx, "/bench.Service/One", wrapperspb.Int64(1), new(wrapperspb.Int64Value))
	} else {
		received := 0
		if received, err = receive(ctx, conn, s.method); s.method == "Many" {
			text = fmt.Sprintf("%d responses, ", received)
		}
	}
	took := time.Since(start).Round(100 * time.Millisecond)
	if s.deadline > 0 {
		took = time.Since(start).Round(50 * time.Millisecond)
	}
	synctest.Wait()
	text += status.Code(err).String()
	if _, ok := err.(*retry.Error); ok {
		text += ", *retry.Error"
	}
	if text += fmt.Sprintf("; %d call", calls); calls != 1 {
		text += "s"
	}
	return text + fmt.Sprintf(", %v", took)
}

// receive sends a request and receives all responses.
func receive(ctx context.Context, conn *grpc.ClientConn, method string) (n int, err error) {
	call, err := conn.NewStream(ctx, &grpc.StreamDesc{StreamName: method, ServerStreams: method == "Many", ClientStreams: method == "Sum"}, "/bench.Service/"+method)
	if err != nil {
		return 0, err
	}
	_, _ = call.SendMsg(wrapperspb.Int64(1)), call.CloseSend()
	for {
		if err := call.RecvMsg(new(wrapperspb.Int64Value)); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if n++; method == "Sum" {
			return n, nil
		}
	}
}
