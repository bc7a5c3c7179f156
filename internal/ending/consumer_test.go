package ending_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/internal/ending"
)

func TestConsumer(t *testing.T) {
	failure, cause := errors.New("failure"), errors.New("cause")
	var got []int
	c := ending.NewConsumer(func(v int) bool { got = append(got, v); return v < 2 })
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := c.End(ctx, nil, failure); err != failure {
		t.Errorf("End: %v, want the failure", err)
	}
	if more := []bool{c.Deliver(1), c.Stopped(), c.Deliver(2), c.Deliver(1)}; !slices.Equal(more, []bool{true, false, false, false}) {
		t.Error(more)
	}
	if !slices.Equal(got, []int{1, 2}) || !c.Stopped() || c.End(ctx, failure) != nil {
		t.Error(got, c.Stopped(), c.End(ctx, failure))
	}
	cancel(cause)
	if err := ending.NewConsumer[int](nil).End(ctx, failure); !errors.Is(err, cause) || !errors.Is(err, failure) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
