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

// ev is a value with the time when it came.
type ev struct {
	at time.Duration
	v  int
}

const ms = time.Millisecond

// many is a number of values that no test takes in full.
const many = 1 << 20
