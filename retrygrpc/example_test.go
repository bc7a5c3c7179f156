package retrygrpc_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retrygrpc"
	"github.com/retrywhen/retrywhen/stream"
)

// start returns a client of a server that fails the first calls, and breaks off its streams after a number.
func start(failures int, broken int64, opts ...grpc.DialOption) (_ client, stop func()) {
	pipe := bufconn.Listen(1 << 16)
	stopServer := (&server{fail: times(failures, codes.Unavailable), broken: broken}).serve(pipe)
	conn, err := grpc.NewClient("passthrough:pipe", append(opts, insecurely,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))...)
	if err != nil {
		panic(err)
	}
	return client{conn}, func() {
		conn.Close()
		stopServer()
	}
}

func ExampleUnaryClientInterceptor() {
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3),
		retry.OnRetry(func(ctx context.Context, e retry.Event) {
			fmt.Println("retry", e.N, "of", retrygrpc.MethodFrom(ctx), "after", status.Code(e.Err))
		}))
	client, stop := start(2, 0, grpc.WithDisableRetry(), grpc.WithUnaryInterceptor(retrygrpc.UnaryClientInterceptor(policy)))
	defer stop()
	doubled, err := client.Double(context.Background(), wrapperspb.Int64(21))
	fmt.Println(doubled.GetValue(), err)
	// Output:
	// retry 1 of /test.Numbers/Double after Unavailable
	// retry 2 of /test.Numbers/Double after Unavailable
	// 42 <nil>
}

func ExampleStreamClientInterceptor() {
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))
	client, stop := start(2, 0, grpc.WithDisableRetry(), grpc.WithStreamInterceptor(retrygrpc.StreamClientInterceptor(policy)))
	defer stop()
	call, err := client.After(context.Background(), wrapperspb.Int64(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(drain(call, nil))
	// Output: [8 9] <nil>
}

// A feed that goes on after the last number seen when its call breaks off.
func ExampleReceive() {
	client, stop := start(0, 6)
	defer stop()
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3), retry.ResetAfterItems(1), retry.If(retrygrpc.IsTransient),
		retry.OnRetry(func(_ context.Context, e retry.Event) { fmt.Println("retry", e.N, "after", status.Code(e.Err)) }))
	feed := operators.Resume(int64(4), func(at int64) stream.Stream[*wrapperspb.Int64Value] {
		return retrygrpc.Receive(client.After, wrapperspb.Int64(at))
	}, func(_ int64, n *wrapperspb.Int64Value) int64 { return n.Value }, policy)
	err := feed.ForEach(context.Background(), func(n *wrapperspb.Int64Value) { fmt.Println(n.Value) })
	fmt.Println(err)
	// Output:
	// 5
	// 6
	// retry 1 after Unavailable
	// 7
	// 8
	// 9
	// <nil>
}

func ExampleCodes() {
	client, stop := start(1, 0, grpc.WithUnaryInterceptor(retrygrpc.UnaryClientInterceptor(retry.Default,
		retrygrpc.Codes(codes.Aborted))))
	defer stop()
	_, err := client.Double(context.Background(), wrapperspb.Int64(21))
	fmt.Println(err)
	// Output: rpc error: code = Unavailable desc = failure 1
}

func ExampleMethods() {
	reads := func(method string) bool { return method != "/test.Numbers/Double" }
	client, stop := start(1, 0, grpc.WithUnaryInterceptor(retrygrpc.UnaryClientInterceptor(retry.Default,
		retrygrpc.Methods(reads))))
	defer stop()
	_, err := client.Double(context.Background(), wrapperspb.Int64(21))
	fmt.Println(err)
	// Output: rpc error: code = Unavailable desc = failure 1
}

// A server sees which of a client's calls are retries.
func ExampleAttemptMetadata() {
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))
	interceptor := retrygrpc.UnaryClientInterceptor(policy, retrygrpc.AttemptMetadata())
	server := &server{fail: times(2, codes.Unavailable)}
	pipe := bufconn.Listen(1 << 16)
	defer server.serve(pipe)()
	conn, err := grpc.NewClient("passthrough:pipe", insecurely, grpc.WithUnaryInterceptor(interceptor),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, err = client{conn}.Double(context.Background(), wrapperspb.Int64(21))
	fmt.Println(server.tries, err)
	// Output: [1 2] <nil>
}

func ExampleIsTransient() {
	for _, code := range []codes.Code{codes.Unavailable, codes.PermissionDenied} {
		fmt.Println(code, retrygrpc.IsTransient(status.Error(code, "")))
	}
	// Output:
	// Unavailable true
	// PermissionDenied false
}
