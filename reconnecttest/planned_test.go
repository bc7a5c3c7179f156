package reconnecttest_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// planned marks the end of the server's connection as a planned one.
func planned[T any](s stream.Stream[T]) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		err := s(ctx, yield)
		if errors.Is(err, io.EOF) {
			err = retry.Planned(err)
		}
		return err
	}
}

// A client whose connections have planned ends is right.
func TestPlannedEnds(t *testing.T) {
	t.Run("CheckResume", func(t *testing.T) {
		reconnecttest.CheckResume(t, numbers(12), func(connect connect) ints {
			return operators.Resume(0, func(at int) ints { return planned(open(connect)(at)) }, latest, reconnect)
		})
	})
	t.Run("Check", func(t *testing.T) {
		reconnecttest.Check(t, against(serveLines(12), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			open := func(last int) stream.Stream[string] { return planned(lines(dial, last, 30*time.Second)) }
			return operators.Resume(0, open, number, reconnect).ForEach(ctx, got)
		}))
	})
}
