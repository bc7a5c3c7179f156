package retrygrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retrygrpc"
	"github.com/retrywhen/retrywhen/stream"
)

// busy returns a failure whose RetryInfo dictates d.
func busy(code codes.Code, d time.Duration) error {
	s, err := status.New(code, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	return errors.Join(err, s.Err())
}

// A connection that breaks between the beginning of a call and its request makes gRPC return io.EOF without a status.
func TestUnaryOnAConnectionThatBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, calls := time.Now(), 0
		err := retrygrpc.UnaryClientInterceptor(linear(2))(t.Context(), double, nil, nil, nil,
			func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
				calls++
				return io.EOF
			})
		if calls != 3 || time.Since(start) != 3*time.Second || !errors.Is(err, retry.ErrLimit) || status.Code(err) != codes.Unavailable {
			t.Errorf("%d calls in %v, %v", calls, time.Since(start), err)
		}
	})
}

// pushback fails the first call, with a trailer that says when to come back.
func pushback(ms ...string) func(context.Context, int) error {
	return func(ctx context.Context, call int) error {
		if call > 1 {
			return nil
		}
		trailer := metadata.MD{"grpc-retry-pushback-ms": ms}
		return errors.Join(grpc.SetTrailer(ctx, trailer), busy(codes.Unavailable, time.Minute))
	}
}

func TestUnary(t *testing.T) {
	const s = time.Second
	late := func(ctx context.Context, call int) error {
		if call < 3 {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	for _, c := range []struct {
		name   string
		fail   func(context.Context, int) error
		policy retry.Policy
		opts   []retrygrpc.Option
		code   codes.Code
		at     []time.Duration
	}{
		{"no failure", nil, linear(3), nil, codes.OK, []time.Duration{0}},
		{"unavailable", times(2, codes.Unavailable), linear(3), nil, codes.OK, []time.Duration{0, s, 3 * s}},
		{"resources exhausted", times(1, codes.ResourceExhausted), linear(3), nil, codes.OK, []time.Duration{0, s}},
		{"not found", times(1, codes.NotFound), linear(3), nil, codes.NotFound, []time.Duration{0}},
		{"aborted", times(1, codes.Aborted), linear(3), nil, codes.Aborted, []time.Duration{0}},
		{"giving up", times(9, codes.Unavailable), linear(2), nil, codes.Unavailable, []time.Duration{0, s, 3 * s}},
		{"other codes", times(2, codes.NotFound), linear(3), []retrygrpc.Option{retrygrpc.Codes(codes.NotFound)}, codes.OK, []time.Duration{0, s, 3 * s}},
		{"other codes instead", times(1, codes.Unavailable), linear(3), []retrygrpc.Option{retrygrpc.Codes(codes.NotFound)}, codes.Unavailable, []time.Duration{0}},
		{"refused by If", times(1, codes.Unavailable), linear(3, retry.If(func(error) bool { return false })), nil, codes.Unavailable, []time.Duration{0}},

		{"RetryInfo", func(_ context.Context, n int) error { return map[int]error{1: busy(codes.Unavailable, 7*s)}[n] }, linear(3), nil, codes.OK, []time.Duration{0, 7 * s}},
		{"RetryInfo of 0", func(_ context.Context, n int) error { return map[int]error{1: busy(codes.Unavailable, 0)}[n] }, linear(3), nil, codes.OK, []time.Duration{0, s}},
		{"RetryInfo below 0", func(_ context.Context, n int) error { return map[int]error{1: busy(codes.Unavailable, -s)}[n] }, linear(3), nil, codes.OK, []time.Duration{0, s}},
		{"RetryInfo of another code", func(context.Context, int) error { return busy(codes.NotFound, s) }, linear(3), nil, codes.NotFound, []time.Duration{0}},
		{"RetryInfo past MaxRetryAfter", func(context.Context, int) error { return busy(codes.Unavailable, time.Hour) }, linear(3, retry.MaxRetryAfter(time.Minute)), nil, codes.Unavailable, []time.Duration{0}},

		{"pushback", pushback("2500"), linear(3), nil, codes.OK, []time.Duration{0, 2500 * time.Millisecond}},
		{"pushback of 0", pushback("0"), linear(3), nil, codes.OK, []time.Duration{0, s}},
		{"pushback below 0", pushback("-1"), linear(3), nil, codes.Unavailable, []time.Duration{0}},
		{"pushback that is no number", pushback("soon"), linear(3), nil, codes.Unavailable, []time.Duration{0}},
		{"pushback twice", pushback("1", "2"), linear(3), nil, codes.Unavailable, []time.Duration{0}},
		{"pushback of 1000 days", pushback("86400000000"), linear(3), nil, codes.OK, []time.Duration{0, 24000 * time.Hour}},
		{"the largest pushback", pushback("9223372036854775807"), linear(3, retry.MaxRetryAfter(time.Minute)), nil, codes.Unavailable, []time.Duration{0}},

		{"attempts that are late", late, linear(3, retry.AttemptTimeout(10*s)), nil, codes.OK, []time.Duration{0, 11 * s, 23 * s}},
		{"too many that are late", late, linear(1, retry.AttemptTimeout(10*s)), nil, codes.DeadlineExceeded, []time.Duration{0, 11 * s}},
		{"deadline exceeded by the server", times(1, codes.DeadlineExceeded), linear(3), nil, codes.DeadlineExceeded, []time.Duration{0}},
		{"attempts that are late, by the server", times(1, codes.DeadlineExceeded), linear(3, retry.AttemptTimeout(10*s)), nil, codes.OK, []time.Duration{0, s}},
		{"attempts that are late, and other codes", times(1, codes.DeadlineExceeded), linear(3, retry.AttemptTimeout(10*s)), []retrygrpc.Option{retrygrpc.Codes(codes.Aborted)}, codes.OK, []time.Duration{0, s}},

		{"methods", times(1, codes.Unavailable), linear(3), []retrygrpc.Option{retrygrpc.Methods(func(m string) bool { return m == double })}, codes.OK, []time.Duration{0, s}},
		{"other methods", times(1, codes.Unavailable), linear(3), []retrygrpc.Option{retrygrpc.Methods(func(m string) bool { return m != double })}, codes.Unavailable, []time.Duration{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &server{fail: c.fail}
				got, err := client{server.connect(t, c.policy, c.opts...)}.Double(t.Context(), wrapperspb.Int64(21))
				server.expect(t, c.at...) // also orders what a late call of the server has written
				if status.Code(err) != c.code || err == nil && got.Value != 42 || len(server.tries) != 0 {
					t.Errorf("got %v, %v, want %v; x-retry-attempt, which nobody has asked for: %q", got, err, c.code, server.tries)
				}
			})
		})
	}
}

func TestUnaryErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := client{(&server{fail: times(99, codes.Unavailable)}).connect(t, linear(2))}
		_, err := down.Double(t.Context(), wrapperspb.Int64(1))
		if e, ok := errors.AsType[*retry.Error](err); !ok || e.Attempts != 3 || !errors.Is(err, retry.ErrLimit) {
			t.Errorf("gave up with %v", err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { cancel(cause) })
		if _, err = down.Double(ctx, wrapperspb.Int64(1)); status.Code(err) != codes.Canceled || !errors.Is(err, cause) {
			t.Errorf("cancelled in a wait: %v", err)
		}
		if _, err = down.Double(ctx, wrapperspb.Int64(1)); status.Code(err) != codes.Canceled || !errors.Is(err, cause) {
			t.Errorf("cancelled before: %v", err)
		}
		late, cancelLate := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() { cancelLate(context.DeadlineExceeded) })
		if _, err = down.Double(late, wrapperspb.Int64(1)); status.Code(err) != codes.Canceled || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled with another cause: %v", err)
		}
		start := time.Now()
		soon, cancelSoon := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancelSoon()
		if _, err = down.Double(soon, wrapperspb.Int64(1)); !errors.Is(err, retry.ErrDeadline) || time.Since(start) > 0 {
			t.Errorf("a wait past the deadline: %v after %v", err, time.Since(start))
		}

		hangs := client{(&server{fail: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}).connect(t, linear(2))}
		soon, cancelSoon = context.WithTimeout(t.Context(), time.Second)
		defer cancelSoon()
		if _, err = hangs.Double(soon, wrapperspb.Int64(1)); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("the deadline in an attempt: %v", err)
		}

		refused := client{(&server{fail: pushback("-1")}).connect(t, linear(2))}
		outer := 0
		err = retry.Run(t.Context(), linear(2), func(ctx context.Context) error {
			outer++
			_, err := refused.Double(ctx, wrapperspb.Int64(1))
			return err
		})
		if outer != 1 || status.Code(err) != codes.Unavailable {
			t.Errorf("a call that must not be repeated: %d times, %v", outer, err)
		}
	})
}

func TestHooksAndMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes []string
		note := func(ctx context.Context, text string, args ...any) {
			notes = append(notes, fmt.Sprint(retrygrpc.MethodFrom(ctx), " ", fmt.Sprintf(text, args...)))
		}
		p := linear(3,
			retry.OnRetry(func(ctx context.Context, e retry.Event) { note(ctx, "retry %d %v", e.N, status.Code(e.Err)) }),
			retry.OnRecovered(func(ctx context.Context, r retry.Recovery) { note(ctx, "recovered %v", r.Down) }),
			retry.OnDone(func(ctx context.Context, r retry.Result) { note(ctx, "done %d %v", r.Attempts, r.Err) }))
		server := &server{fail: times(2, codes.Unavailable)}
		conn := client{server.connect(t, p, retrygrpc.AttemptMetadata())}
		var trailer metadata.MD
		if _, err := conn.Double(t.Context(), wrapperspb.Int64(1), grpc.Trailer(&trailer)); err != nil {
			t.Error(err)
		}
		want := []string{double + " retry 1 Unavailable", double + " retry 2 Unavailable", double + " recovered 3s", double + " done 3 <nil>"}
		if !slices.Equal(notes, want) {
			t.Errorf("hooks: %q, want %q", notes, want)
		}
		if want := []string{"1", "2"}; !slices.Equal(server.tries, want) {
			t.Errorf("x-retry-attempt: %q, want %q", server.tries, want)
		}
		if m := retrygrpc.MethodFrom(t.Context()); m != "" {
			t.Errorf("elsewhere the method is %q", m)
		}
	})
}

func TestAttemptFrom(t *testing.T) {
	var seen []int
	intercept := retrygrpc.UnaryClientInterceptor(retry.New(backoff.Backoff{}, retry.Limit(2)))
	err := intercept(t.Context(), double, nil, nil, nil, func(ctx context.Context, method string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
		if seen = append(seen, stream.AttemptFrom(ctx)); retrygrpc.MethodFrom(ctx) != "" {
			t.Error("an attempt's context is a hook's")
		}
		return status.Error(codes.Unavailable, "")
	})
	if !slices.Equal(seen, []int{1, 2, 3}) || status.Code(err) != codes.Unavailable {
		t.Errorf("attempts %v, %v", seen, err)
	}
}

// The caller's slice of options may have room for more, which is not the interceptor's.
func TestTheCallersOptionsAreNotOverwritten(t *testing.T) {
	intercept := retrygrpc.UnaryClientInterceptor(retry.New(backoff.Backoff{}))
	own := grpc.WaitForReady(true)
	opts := []grpc.CallOption{own, own}
	err := intercept(t.Context(), double, nil, nil, nil, func(_ context.Context, _ string, _, _ any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
		if len(opts) != 2 || opts[0] != own {
			t.Errorf("called with %v", opts)
		}
		return nil
	}, opts[:1]...)
	if err != nil || opts[1] != own {
		t.Errorf("%v, the caller's slice is %v", err, opts)
	}
}

func TestWithoutRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &server{fail: times(2, codes.Unavailable)}
		_, err := client{server.connect(t, linear(3))}.Double(retry.WithoutRetries(t.Context()), wrapperspb.Int64(1))
		if !errors.Is(err, retry.ErrLimit) {
			t.Error(err)
		}
		server.expect(t, 0)
	})
}

func TestMistakesPanic(t *testing.T) {
	for want, f := range map[string]func(){
		"retrygrpc: Codes: there are none, want at least one": func() { retrygrpc.Codes() },
		"retrygrpc: Codes: one is OK, want those of failures": func() { retrygrpc.Codes(codes.OK) },
		"retrygrpc: Methods: f is nil":                        func() { retrygrpc.Methods(nil) },
		"retrygrpc: UnaryClientInterceptor: opts[0] is nil":   func() { retrygrpc.UnaryClientInterceptor(retry.Default, nil) },
		"retrygrpc: StreamClientInterceptor: opts[0] is nil":  func() { retrygrpc.StreamClientInterceptor(retry.Default, nil) },
		"retrygrpc: Receive: method is nil": func() {
			retrygrpc.Receive[number, number, numbers](nil, nil)
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}

func TestIsTransient(t *testing.T) {
	transient := []codes.Code{codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Internal, codes.Unknown, codes.DeadlineExceeded}
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if got, want := retrygrpc.IsTransient(status.Error(c, "")), slices.Contains(transient, c); got != want {
			t.Errorf("%v: %t", c, got)
		}
	}
	other, err := status.New(codes.FailedPrecondition, "").WithDetails(&errdetails.ErrorInfo{Reason: "closed"})
	if err != nil || retrygrpc.IsTransient(other.Err()) {
		t.Errorf("%v with a detail that is not a RetryInfo is transient", other.Err())
	}
	if other, err = status.New(codes.FailedPrecondition, "").WithDetails(&errdetails.RetryInfo{}); err != nil || retrygrpc.IsTransient(other.Err()) {
		t.Errorf("%v with a RetryInfo without a delay is transient", other.Err())
	}
	if !retrygrpc.IsTransient(busy(codes.FailedPrecondition, time.Second)) || !retrygrpc.IsTransient(errors.New("plain")) {
		t.Error("a RetryInfo or an error without a status is not transient")
	}
}

func TestCodesAreCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []codes.Code{codes.NotFound}
		option := retrygrpc.Codes(list...)
		list[0] = codes.Aborted
		server := &server{fail: times(1, codes.NotFound)}
		if _, err := (client{server.connect(t, linear(3), option)}).Double(t.Context(), wrapperspb.Int64(1)); err != nil {
			t.Error(err)
		}
	})
}

// A code that is not retried is returned unchanged, whatever the trailer says: an outer policy still may retry it.
func TestPushbackOfAnotherCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &server{fail: func(ctx context.Context, n int) error {
			return errors.Join(grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "-1")), status.Error(codes.NotFound, "none"))
		}}
		conn := client{server.connect(t, linear(3))}
		calls := 0
		_ = retry.Run(t.Context(), linear(2), func(ctx context.Context) error {
			calls++
			_, err := conn.Double(ctx, wrapperspb.Int64(1))
			if _, ok := err.(interface{ GRPCStatus() *status.Status }); !ok || status.Code(err) != codes.NotFound {
				t.Errorf("%T %v, want gRPC's own NotFound", err, err)
			}
			return err
		})
		if calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
	})
}

func TestAnAttemptsContextEndsWithIt(t *testing.T) {
	var contexts []context.Context
	intercept := retrygrpc.UnaryClientInterceptor(retry.New(backoff.Backoff{}, retry.Limit(2), retry.AttemptTimeout(time.Hour)))
	_ = intercept(t.Context(), double, nil, nil, nil, func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
		for i, before := range contexts {
			if before.Err() == nil {
				t.Errorf("the context of attempt %d has not ended at attempt %d", i+1, len(contexts)+1)
			}
		}
		if contexts = append(contexts, ctx); ctx.Err() != nil {
			t.Errorf("attempt %d begins with an ended context", len(contexts))
		}
		return status.Error(codes.Unavailable, "")
	})
	if len(contexts) != 3 || contexts[2].Err() == nil {
		t.Errorf("%d attempts, want 3, each with a context that ends with it", len(contexts))
	}
}
