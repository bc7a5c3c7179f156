package retrygrpc_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retrygrpc"
	"github.com/retrywhen/retrywhen/stream"
)

// drain returns what comes of a call with a stream of responses.
func drain(call numbers, err error) (got []int64, _ error) {
	for err == nil {
		var n *number
		if n, err = call.Recv(); err == nil {
			got = append(got, n.Value)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return got, err
}

func TestServerStream(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name   string
		fail   func(context.Context, int) error
		broken int64
		opts   []retrygrpc.Option
		want   []int64
		code   codes.Code
		at     []time.Duration
	}{
		{"no failure", nil, 0, nil, []int64{7, 8, 9}, codes.OK, []time.Duration{0}},
		{"before the first response", times(2, codes.Unavailable), 0, nil, []int64{7, 8, 9}, codes.OK, []time.Duration{0, s, 3 * s}},
		{"after the first response", nil, 8, nil, []int64{7, 8}, codes.Unavailable, []time.Duration{0}},
		{"another code", times(1, codes.NotFound), 0, nil, nil, codes.NotFound, []time.Duration{0}},
		{"giving up", times(9, codes.Unavailable), 0, nil, nil, codes.Unavailable, []time.Duration{0, s, 3 * s}},
		{"pushback", pushback("1500"), 0, nil, []int64{7, 8, 9}, codes.OK, []time.Duration{0, 1500 * time.Millisecond}},
		{"other methods", times(1, codes.Unavailable), 0, []retrygrpc.Option{retrygrpc.Methods(func(m string) bool { return m != after })}, nil, codes.Unavailable, []time.Duration{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &server{fail: c.fail, broken: c.broken}
				conn := client{server.connect(t, linear(2), c.opts...)}
				call, err := conn.After(t.Context(), wrapperspb.Int64(6))
				if got, err := drain(call, err); !slices.Equal(got, c.want) || status.Code(err) != c.code {
					t.Errorf("got %v, %v, want %v, %v", got, err, c.want, c.code)
				}
				server.expect(t, c.at...)
			})
		})
	}
}

func TestServerStreamThatIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := 0
		server := &server{fail: times(1, codes.Unavailable)}
		conn := client{server.connect(t, linear(2, retry.OnDone(func(ctx context.Context, r retry.Result) {
			if done++; r.Err != nil || r.Attempts != 2 || retrygrpc.MethodFrom(ctx) != after {
				t.Errorf("%+v of %s", r, retrygrpc.MethodFrom(ctx))
			}
		})))}
		call, err := conn.After(t.Context(), wrapperspb.Int64(9))
		if got, err := drain(call, err); got != nil || err != nil || done != 1 {
			t.Errorf("got %v, %v, %d operations done", got, err, done)
		}
		if _, err := call.Recv(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Header before the first Recv makes the attempts, at the times of the policy.
func TestServerStreamWhoseHeaderIsReadFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &server{fail: times(2, codes.Unavailable)}
		call, err := client{server.connect(t, linear(2))}.After(t.Context(), wrapperspb.Int64(6))
		must(t, err)
		if header, err := call.Header(); header == nil || err != nil {
			t.Errorf("Header: %v, %v", header, err)
		}
		server.expect(t, 0, time.Second, 3*time.Second)
		if got, err := drain(call, nil); len(got) == 0 || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
		server.expect(t, 0, time.Second, 3*time.Second)
	})
}

// After the header nothing is retried: the error of the first Recv goes to the caller.
func TestServerStreamThatBreaksAfterItsHeader(t *testing.T) {
	call, opened, err := open(t, grpc.StreamDesc{ServerStreams: true}, script{header: metadata.Pairs("a", "b"), receiving: status.Error(codes.Unavailable, "broken")})
	must(t, err)
	if h, err := call.Header(); h == nil || err != nil {
		t.Errorf("Header: %v, %v", h, err)
	}
	if err := call.RecvMsg(nil); status.Code(err) != codes.Unavailable || *opened != 1 {
		t.Errorf("%v after %d attempts", err, *opened)
	}
}

// Header returns neither a header nor an error if the last stream has ended without one: RecvMsg has the error of all.
func TestServerStreamsThatEndWithoutAHeader(t *testing.T) {
	unavailable, missing := status.Error(codes.Unavailable, "down"), status.Error(codes.NotFound, "")
	for name, c := range map[string]struct {
		scripts []script
		opened  int
		want    error
		gaveUp  bool
		header  error // of Header, for a stream that could not be opened
	}{
		"fails forever":            {[]script{{receiving: unavailable}}, 4, unavailable, true, nil},
		"fails, and then for good": {[]script{{receiving: unavailable}, {receiving: missing}}, 2, missing, false, nil},
		"ends well":                {[]script{{receiving: unavailable}, {receiving: io.EOF}}, 2, io.EOF, false, nil},
		"cannot be opened":         {[]script{{opening: unavailable}}, 4, unavailable, true, unavailable},
		"cannot be opened again":   {[]script{{receiving: unavailable}, {opening: missing}}, 2, missing, false, missing},
	} {
		call, opened, err := open(t, grpc.StreamDesc{ServerStreams: true}, c.scripts...)
		must(t, err)
		for range 2 {
			if h, err := call.Header(); h != nil || !errors.Is(err, c.header) {
				t.Errorf("%s: Header: %v, %v", name, h, err)
			}
			if err := call.RecvMsg(nil); !errors.Is(err, c.want) || errors.Is(err, retry.ErrLimit) != c.gaveUp || *opened != c.opened {
				t.Errorf("%s: %v after %d attempts, want %v after %d", name, err, *opened, c.want, c.opened)
			}
		}
	}
}

// script opens streams that fail as configured.
type script struct {
	grpc.ClientStream
	opening, sending, closing, receiving error
	ctx                                  context.Context
	header                               metadata.MD
}

func (s *script) SendMsg(any) error            { return s.sending }
func (s *script) CloseSend() error             { return s.closing }
func (s *script) RecvMsg(any) error            { return s.receiving }
func (s *script) Header() (metadata.MD, error) { return s.header, nil }
func (s *script) Context() context.Context     { return s.ctx }

// Trailer panics unless the stream has failed or ended: gRPC allows it only then.
func (s *script) Trailer() metadata.MD {
	if s.receiving == nil {
		panic("Trailer of a stream that has not ended")
	}
	return nil
}

// open opens a call through an interceptor that retries three times at once. The n-th stream is the n-th of the
// scripts, or the last.
func open(t *testing.T, desc grpc.StreamDesc, scripts ...script) (call grpc.ClientStream, opened *int, _ error) {
	opened = new(int)
	intercept := retrygrpc.StreamClientInterceptor(retry.New(backoff.Backoff{}, retry.Limit(3)))
	call, err := intercept(t.Context(), &desc, nil, after, func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
		*opened++
		if stream.AttemptFrom(ctx) != *opened {
			t.Errorf("attempt %d by its context is the %d.", stream.AttemptFrom(ctx), *opened)
		}
		s := scripts[min(*opened, len(scripts))-1]
		if s.opening != nil {
			return nil, s.opening
		}
		return &s, nil
	})
	return call, opened, err
}

func TestOpeningAndSendingFail(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "down")
	for _, c := range []struct {
		name   string
		desc   grpc.StreamDesc
		script []script
		opened int
		code   codes.Code
	}{
		{"opening", grpc.StreamDesc{ServerStreams: true}, []script{{opening: unavailable}, {opening: unavailable}, {}}, 3, codes.OK},
		{"opening forever", grpc.StreamDesc{ServerStreams: true}, []script{{opening: unavailable}}, 4, codes.Unavailable},
		{"opening of another code", grpc.StreamDesc{ServerStreams: true}, []script{{opening: status.Error(codes.NotFound, "")}}, 1, codes.NotFound},
		{"sending, at the server", grpc.StreamDesc{ServerStreams: true}, []script{{opening: unavailable}, {sending: io.EOF, receiving: unavailable}, {}}, 3, codes.OK},
		{"sending, on a connection that breaks", grpc.StreamDesc{ServerStreams: true}, []script{{sending: io.EOF, receiving: unavailable}, {}}, 2, codes.OK},
		{"sending again", grpc.StreamDesc{ServerStreams: true}, []script{{opening: unavailable}, {sending: status.Error(codes.Internal, "too large")}}, 2, codes.Internal},
		{"sending again, at the server", grpc.StreamDesc{ServerStreams: true}, []script{{opening: unavailable}, {sending: io.EOF, receiving: status.Error(codes.NotFound, "")}}, 2, codes.NotFound},
		{"closing again", grpc.StreamDesc{ServerStreams: true}, []script{{opening: unavailable}, {closing: unavailable}, {}}, 3, codes.OK},
		{"opening, of a stream of requests", grpc.StreamDesc{ClientStreams: true}, []script{{opening: unavailable}, {}}, 2, codes.OK},
		{"opening, of two streams", grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, []script{{opening: unavailable}, {}}, 2, codes.OK},
		{"two streams that fail", grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, []script{{receiving: unavailable}}, 1, codes.Unavailable},
		{"a stream of requests that fails", grpc.StreamDesc{ClientStreams: true}, []script{{receiving: unavailable}}, 1, codes.Unavailable},
	} {
		call, opened, err := open(t, c.desc, c.script...)
		if err == nil {
			if err = call.SendMsg(1); err == nil {
				_ = call.CloseSend()
				err = call.RecvMsg(nil)
			}
		}
		if status.Code(err) != c.code || *opened != c.opened {
			t.Errorf("%s: %v after %d attempts, want %v after %d", c.name, err, *opened, c.code, c.opened)
		}
	}
}

// A call with one request and one response may be made by NewStream too. Its opening is repeated at once.
func TestOpeningOfNeitherStream(t *testing.T) {
	_, opened, err := open(t, grpc.StreamDesc{}, script{opening: status.Error(codes.Unavailable, "down")})
	if *opened != 4 || status.Code(err) != codes.Unavailable || !errors.Is(err, retry.ErrLimit) {
		t.Errorf("opened %d times, %v", *opened, err)
	}
}

func TestSendMsgsErrorAndHeader(t *testing.T) {
	want := status.Error(codes.Internal, "too large")
	call, _, err := open(t, grpc.StreamDesc{ServerStreams: true}, script{sending: want, header: metadata.Pairs("a", "b")})
	must(t, err)
	if err := call.SendMsg(1); err != want {
		t.Errorf("SendMsg: %v, want %v", err, want)
	}
	if h, err := call.Header(); err != nil || !slices.Equal(h.Get("a"), []string{"b"}) {
		t.Errorf("Header: %v, %v", h, err)
	}
}

// Another interceptor's stream may not send the end of the requests with the request, as gRPC's own does.
func TestCloseSendReachesTheStream(t *testing.T) {
	want := errors.New("closing")
	call, _, err := open(t, grpc.StreamDesc{ServerStreams: true}, script{closing: want})
	must(t, err)
	if err := call.CloseSend(); err != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

// An attempt ends the requests only if the caller has done so.
func TestAnAttemptIsNotClosedUnasked(t *testing.T) {
	call, opened, err := open(t, grpc.StreamDesc{ServerStreams: true}, script{receiving: status.Error(codes.Unavailable, "")},
		script{closing: status.Error(codes.Internal, "closed")})
	must(t, err)
	if err := call.SendMsg(1); err != nil {
		t.Error(err)
	}
	if err := call.RecvMsg(nil); err != nil || *opened != 2 {
		t.Errorf("%v after %d attempts, want none after 2", err, *opened)
	}
}

func TestTheContextIsTheStreams(t *testing.T) {
	type key struct{}
	own := context.WithValue(t.Context(), key{}, 1)
	call, _, err := open(t, grpc.StreamDesc{ServerStreams: true}, script{ctx: own})
	if err != nil || call.Context() != own {
		t.Errorf("%v, not the stream's own context", err)
	}
}

// One goroutine sends while another receives, as gRPC allows.
func TestSendingWhileReceiving(t *testing.T) {
	for range 50 {
		unavailable := script{receiving: status.Error(codes.Unavailable, "")}
		call, opened, err := open(t, grpc.StreamDesc{ServerStreams: true}, unavailable, unavailable, script{receiving: io.EOF})
		must(t, err)
		var all sync.WaitGroup
		for _, f := range []func(){
			func() { _, _ = call.SendMsg(1), call.CloseSend() },
			func() { _ = call.RecvMsg(nil) },
			func() { _, _ = call.Context(), call.Trailer() },
			func() { _, _ = call.Header() },
		} {
			all.Go(f)
		}
		all.Wait()
		if *opened != 3 { // whichever of RecvMsg and Header makes the attempts
			t.Fatalf("opened %d times, want 3", *opened)
		}
	}
}

func TestBeforeAnAttemptHasOpened(t *testing.T) {
	unavailable := status.Error(codes.Unavailable, "down")
	intercept := retrygrpc.StreamClientInterceptor(retry.New(backoff.Backoff{}, retry.Limit(0)))
	call, err := intercept(t.Context(), &grpc.StreamDesc{ServerStreams: true}, nil, after,
		func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			return nil, unavailable
		})
	if err != nil || call.Trailer() != nil || call.Context() != t.Context() {
		t.Errorf("%v, trailer %v", err, call.Trailer())
	}
	if _, err := call.Header(); !errors.Is(err, unavailable) {
		t.Errorf("Header: %v", err)
	}
	if err := call.RecvMsg(nil); !errors.Is(err, unavailable) {
		t.Errorf("RecvMsg after Header: %v", err)
	}
}

func TestTrailerOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &server{fail: pushback("1500")}
		call, err := client{server.connect(t, linear(0))}.After(t.Context(), wrapperspb.Int64(6))
		_, err = drain(call, err)
		if got := call.Trailer().Get("grpc-retry-pushback-ms"); status.Code(err) != codes.Unavailable || !slices.Equal(got, []string{"1500"}) {
			t.Errorf("trailer %q, %v", got, err)
		}
	})
}

func TestClientStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &server{fail: times(1, codes.Unavailable)}
		conn := client{server.connect(t, linear(2))}
		for _, want := range []codes.Code{codes.Unavailable, codes.OK} { // what was sent is gone
			call, err := conn.Sum(t.Context())
			must(t, err)
			_, _ = call.Send(wrapperspb.Int64(3)), call.Send(wrapperspb.Int64(4))
			if got, err := call.CloseAndRecv(); status.Code(err) != want || err == nil && got.Value != 7 {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		}
		server.expect(t, 0, 0)
	})
}

func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &server{fail: times(2, codes.Unavailable), broken: 5}
		conn := client{server.connect(t, retry.New(backoff.Backoff{}), retrygrpc.Methods(func(m string) bool { return m != after }))}
		events := operators.Resume(int64(2), func(at int64) stream.Stream[*number] {
			if at == 5 {
				synctest.Wait()
				server.broken = 0
			}
			return retrygrpc.Receive(conn.After, wrapperspb.Int64(at))
		}, func(_ int64, n *number) int64 { return n.Value }, linear(3, retry.ResetAfterItems(1), retry.If(retrygrpc.IsTransient)))
		var got []int64
		err := events.ForEach(t.Context(), func(n *number) { got = append(got, n.Value) })
		if want := []int64{3, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) || err != nil {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		server.expect(t, 0, time.Second, 3*time.Second, 4*time.Second)
	})
}

func TestReceiveEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &server{}
		conn := client{server.connect(t, retry.New(backoff.Backoff{}), retrygrpc.Methods(func(m string) bool { return m != after }))}
		all := retrygrpc.Receive(conn.After, wrapperspb.Int64(0))
		if got, err := all.Collect(t.Context()); len(got) != 9 || err != nil {
			t.Errorf("to the end: %v, %v", got, err)
		}
		if got, err := all.Take(2).Collect(t.Context()); len(got) != 2 || err != nil {
			t.Errorf("stopped: %v, %v", got, err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		seen := 0
		err := all.ForEach(ctx, func(*number) { seen++; cancel(cause) })
		if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) || seen != 1 {
			t.Errorf("cancelled: %v after %d", err, seen)
		}
		if err := all.ForEach(ctx, func(*number) { t.Error("a value under an ended context") }); !errors.Is(err, cause) {
			t.Errorf("cancelled before: %v", err)
		}
		synctest.Wait()
		server.fail = func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }
		if _, err := all.Timeout(time.Minute).Collect(t.Context()); !errors.Is(err, stream.ErrTimeout) {
			t.Errorf("silent: %v", err)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := all.Collect(ctx); !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled amid silence: %v", err)
		}
		synctest.Wait()
		server.fail = pushback("-1")
		server.at = nil
		if _, err := all.RetryWhen(linear(3)).Collect(t.Context()); status.Code(err) != codes.Unavailable || server.calls() != 1 {
			t.Errorf("not to be repeated: %v after %d calls", err, server.calls())
		}
	})
}

// played is a call with a stream of responses that has no server.
type played struct {
	grpc.ServerStreamingClient[number]
}

func (played) Recv() (*number, error) { return wrapperspb.Int64(1), nil }

func TestReceiveEndsItsCall(t *testing.T) {
	var call context.Context
	s := retrygrpc.Receive(func(ctx context.Context, _ *number, _ ...grpc.CallOption) (numbers, error) {
		call = ctx
		return played{}, nil
	}, wrapperspb.Int64(0))
	if got, err := s.Take(2).Collect(t.Context()); len(got) != 2 || err != nil || call.Err() == nil {
		t.Errorf("%v, %v; the call's context ended with %v", got, err, call.Err())
	}
}

func TestReceiveOnAConnectionThatBreaks(t *testing.T) {
	s := retrygrpc.Receive(func(context.Context, *number, ...grpc.CallOption) (numbers, error) { return nil, io.EOF }, wrapperspb.Int64(0))
	if got, err := s.Collect(t.Context()); got != nil || status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, %v, want %v", got, err, codes.Unavailable)
	}
}

func TestReceiveThatDoesNotOpen(t *testing.T) {
	opened := 0
	s := retrygrpc.Receive(func(context.Context, *number, ...grpc.CallOption) (numbers, error) {
		opened++
		return nil, busy(codes.Unavailable, time.Minute)
	}, wrapperspb.Int64(0))
	if got, err := s.Collect(t.Context()); got != nil || status.Code(err) != codes.Unavailable {
		t.Errorf("got %v, %v", got, err)
	}
	opened = 0
	var end error
	err := s.RetryWhen(linear(1, retry.MaxRetryAfter(time.Second), retry.OnGiveUp(func(_ context.Context, e *retry.Error) { end = e }))).
		ForEach(t.Context(), func(*number) {})
	if opened != 1 || !errors.Is(end, retry.ErrMaxRetryAfter) || status.Code(err) != codes.Unavailable {
		t.Errorf("opened %d times, gave up with %v, %v", opened, end, err)
	}
}
