package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Packages net and context know a timeout when they see one.
func TestErrTimeout_IsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := stream.Never[int]().Timeout(5 * ms).Collect(t.Context())
		if want := "stream: timeout: nothing came for 5ms"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if stream.ErrTimeout.Error() != "stream: timeout" {
			t.Error(stream.ErrTimeout)
		}
		for _, err := range []error{stream.ErrTimeout, err, fmt.Errorf("feed: %w", err)} {
			var timeout net.Error
			if !errors.Is(err, stream.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is not ErrTimeout and context.DeadlineExceeded", err)
			}
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("%v is no timeout to package net", err)
			}
			if errors.Is(err, context.Canceled) || errors.Is(context.DeadlineExceeded, stream.ErrTimeout) {
				t.Errorf("%v is what it is not", err)
			}
		}
		if _, yes := err.(net.Error); !yes {
			t.Errorf("%T is no net.Error by itself", err)
		}
	})
}

// The subscriber's own deadline is named first, though the source has run into a timeout.
func TestErrTimeout_DoesNotHideTheSubscribersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*ms)
		defer cancel()
		source := stream.FromFunc(func(context.Context) (int, error) {
			time.Sleep(10 * ms) // its context is gone, and its timeout strikes all the same
			return 0, stream.ErrTimeout
		})
		for _, s := range []stream.Stream[int]{source, source.Retry(3), source.Catch(stream.Fail)} {
			_, err := s.Collect(ctx)
			if want := "context deadline exceeded: after the failure: stream: timeout"; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if !errors.Is(err, stream.ErrTimeout) {
				t.Errorf("%v has lost the timeout", err)
			}
			ctx, cancel = context.WithTimeout(t.Context(), 5*ms)
			defer cancel()
		}
	})
}

func TestContextError_SeveralFailures(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	other := errors.New("other")
	if err := stream.ContextError(ctx, nil, nil); err != nil {
		t.Error(err)
	}
	if err := stream.ContextError(ctx, errBoom, nil, other); !errors.Is(err, errBoom) || !errors.Is(err, other) {
		t.Errorf("%v does not match both", err)
	}
	cancel(errCause)
	if err := stream.ContextError(ctx, errBoom, nil, other); !errors.Is(err, errBoom) || !errors.Is(err, other) || !endedBy(ctx, err) {
		t.Errorf("%v does not match all", err)
	}
}

// What an operator is built with is checked when it is built.
func TestContract_MistakesPanicAtConstruction(t *testing.T) {
	s := stream.Of(1)
	const max = int(^uint(0) >> 1)
	most := uint64(1<<47) / (8 + 64)           // an address space, by an int and what is stored with it
	mostTimed := uint64(1<<47) / (8 + 24 + 64) // with its time
	if strconv.IntSize == 32 {
		most, mostTimed = (1<<30)/(4+64), (1<<30)/(4+20+64)
	}
	for want, build := range map[string]func(){
		"stream: Range: count is -1, want at least 0":                                                   func() { stream.Range(0, -1) },
		fmt.Sprintf("stream: Range: first is %d and count is 2, which leads past the largest int", max): func() { stream.Range(max, 2) },
		"stream: Interval: d is 0s, want more than 0":                                                   func() { stream.Interval(0) },
		"stream: Interval: d is -1ns, want more than 0":                                                 func() { stream.Interval(-1) },
		"stream: TakeLast: n is -1, want at least 0":                                                    func() { s.TakeLast(-1) },
		"stream: SkipLast: n is -1, want at least 0":                                                    func() { s.SkipLast(-1) },
		"stream: Chans: buffer is -1, want at least 0":                                                  func() { s.Chans(t.Context(), -1) },
		"stream: Take: n is -1, want at least 0":                                                        func() { s.Take(-1) },
		"stream: Skip: n is -1, want at least 0":                                                        func() { s.Skip(-1) },
		"stream: Retry: n is -1, want at least 0":                                                       func() { s.Retry(-1) },
		"stream: NewSubject: replay is -1, want at least 0":                                             func() { stream.NewSubject[int](-1) },
		"stream: Repeat: n is -1, want at least 0":                                                      func() { s.Repeat(-1) },
		"stream: Timeout: d is 0s, want more than 0":                                                    func() { s.Timeout(0) },
		"stream: Timeout: d is -1ns, want more than 0":                                                  func() { s.Timeout(-1) },
		"stream: Delay: d is -1ns, want at least 0":                                                     func() { s.Delay(-1) },
		"stream: Debounce: d is -1ns, want at least 0":                                                  func() { s.Debounce(-1) },
		"stream: Throttle: d is -1ns, want at least 0":                                                  func() { s.Throttle(-1) },
		"stream: ThrottleLatest: d is -1ns, want at least 0":                                            func() { s.ThrottleLatest(-1) },
		"stream: TimeShift: d is -1ns, want at least 0":                                                 func() { s.TimeShift(-1, 1) },
		"stream: TimeShift: n is 0, want at least 1":                                                    func() { s.TimeShift(1, 0) },
		fmt.Sprintf("stream: TimeShift: n is %d, want at most %d", max, mostTimed):                      func() { s.TimeShift(1, max) },
		"stream: Buffer: n is -1, want at least 0":                                                      func() { s.Buffer(-1) },
		fmt.Sprintf("stream: Buffer: n is %d, want at most %d", max, most):                              func() { s.Buffer(max) },
		fmt.Sprintf("stream: Chans: buffer is %d, want at most %d", max, most):                          func() { s.Chans(t.Context(), max) },
	} {
		t.Run(want, func(t *testing.T) { expectPanic(t, want, build) })
	}
}
