package stream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
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
