package stream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestCatch(t *testing.T) {
	var caught error
	s := stream.Of(1).Concat(stream.Fail[int](errBoom)).Catch(func(err error) stream.Stream[int] {
		caught = err
		return stream.Of(2)
	})
	expect(t, s, []int{1, 2}, nil)
	if caught != errBoom {
		t.Errorf("caught %v", caught)
	}
}

func TestCatch_NotCalledForAnEndOrAStop(t *testing.T) {
	f := func(err error) stream.Stream[int] { panic(err) }
	expect(t, stream.Of(1).Catch(f), []int{1}, nil)
	bad := stream.Stream[int](func(_ context.Context, yield func(int) bool) error { yield(1); return errBoom })
	expect(t, bad.Catch(f).Take(1), []int{1}, nil)
}

func TestCatch_NotItsOwnStream(t *testing.T) {
	calls := 0
	s := stream.Fail[int](errBoom).Catch(func(err error) stream.Stream[int] {
		calls++
		return stream.Fail[int](fmt.Errorf("again: %w", err))
	})
	expect(t, s, nil, errBoom)
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}

func TestCatch_CancellationPasses(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := stream.FromFunc(func(context.Context) (int, error) { cancel(errCause); return 0, errBoom })
	_, err := s.Catch(func(err error) stream.Stream[int] { panic(err) }).Collect(ctx)
	if !errors.Is(err, errCause) || !errors.Is(err, errBoom) {
		t.Errorf("%v: want both the cause and boom", err)
	}
}

func TestCatch_DeadlineInsideIsCaught(t *testing.T) {
	inner := stream.FromFunc(func(ctx context.Context) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		<-ctx.Done()
		return 0, ctx.Err()
	})
	expect(t, inner.Catch(func(error) stream.Stream[int] { return stream.Of(7) }), []int{7}, nil)
}

func TestCatch_PermanentErrorsToo(t *testing.T) {
	s := stream.Fail[int](stream.Permanent(errBoom)).Catch(func(error) stream.Stream[int] { return stream.Of(1) })
	expect(t, s, []int{1}, nil)
}

func TestCatch_NilStream(t *testing.T) {
	_, err := stream.Fail[int](errBoom).Catch(func(error) stream.Stream[int] { return nil }).Collect(t.Context())
	if !errors.Is(err, errBoom) || err.Error() != "stream: Catch: f returned a nil stream for: boom" {
		t.Error(err)
	}
}
