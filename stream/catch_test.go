package stream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestCatch_CancellationPasses(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := stream.FromFunc(func(context.Context) (int, error) { cancel(errCause); return 0, errBoom })
	_, err := s.Catch(func(err error) stream.Stream[int] { panic(err) }).Collect(ctx)
	if !errors.Is(err, errCause) || !errors.Is(err, errBoom) {
		t.Errorf("%v: want both the cause and boom", err)
	}
}

func TestCatch_NilStream(t *testing.T) {
	_, err := stream.Fail[int](errBoom).Catch(func(error) stream.Stream[int] { return nil }).Collect(t.Context())
	if !errors.Is(err, errBoom) || err.Error() != "stream: Catch: f returned a nil stream for: boom" {
		t.Error(err)
	}
}
