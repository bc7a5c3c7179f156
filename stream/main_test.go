package stream_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { check.Main(m) }

var (
	errBoom  = errors.New("boom")
	errCause = errors.New("the cause of the cancellation")
)

// What tests of several packages need, under short names.
var (
	bubble      = check.Bubble
	expectPanic = check.Panics
	recovered   = check.Recovered
	exits       = check.Exits
)

// endedBy reports whether err is that of a stream which has ended because ctx has.
func endedBy(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) && errors.Is(err, ctx.Err())
}

// expect runs s and checks its values and the error that ended it.
func expect[T comparable](t *testing.T, s stream.Stream[T], want []T, end error) {
	t.Helper()
	got, err := s.Collect(t.Context())
	if !slices.Equal(got, want) || !errors.Is(err, end) {
		t.Errorf("got %v, %v, want %v, %v", got, err, want, end)
	}
}

// event is a value with the time when it came, since the run began.
type event[T any] struct {
	at time.Duration
	v  T
}

// timeline runs s and returns its values with their times, and the time and error of the end.
func timeline[T any](ctx context.Context, s stream.Stream[T]) (events []event[T], at time.Duration, err error) {
	start := time.Now()
	err = s(ctx, func(v T) bool {
		events = append(events, event[T]{time.Since(start), v})
		return true
	})
	return events, time.Since(start), err
}

// expectTimes runs s and checks when each of its values comes, and when and with which error it ends.
func expectTimes[T comparable](t *testing.T, s stream.Stream[T], want []event[T], at time.Duration, end error) {
	t.Helper()
	events, ended, err := timeline(t.Context(), s)
	if !slices.Equal(events, want) || ended != at || !errors.Is(err, end) {
		t.Errorf("got %v, ended at %v with %v\nwant %v, ended at %v with %v", events, ended, err, want, at, end)
	}
}

// at is the stream that yields each value at its time since the run began.
func at[T any](events ...event[T]) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		start := time.Now()
		for _, e := range events {
			timer := time.NewTimer(e.at - time.Since(start))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return context.Cause(ctx)
			}
			if !yield(e.v) {
				return nil
			}
		}
		return nil
	}
}

type ev = event[int]

const ms = time.Millisecond

// many is a number of values that no test takes in full.
const many = 1 << 20
