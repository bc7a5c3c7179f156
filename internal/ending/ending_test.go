package ending_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"go.uber.org/goleak"

	"github.com/retrywhen/retrywhen/internal/ending"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errCause = errors.New("shut down")

func TestUnder(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	wrapped := fmt.Errorf("read: %w", errCause)
	for name, c := range map[string]struct {
		ctx      context.Context
		failures []error
		want     string
		same     error // the error itself
		reaches  []error
	}{
		"nothing happened":               {t.Context(), []error{nil, nil}, "<nil>", nil, nil},
		"a failure":                      {t.Context(), []error{io.EOF}, "EOF", io.EOF, nil},
		"the context ended":              {over, nil, "shut down", errCause, nil},
		"both":                           {over, []error{io.EOF}, "shut down: after the failure: EOF", nil, []error{errCause, io.EOF}},
		"the failure is the cause":       {over, []error{errCause}, "shut down", errCause, nil},
		"the failure wraps the cause":    {over, []error{wrapped}, "read: shut down", wrapped, nil},
		"two failures":                   {over, []error{io.EOF, io.ErrNoProgress}, "shut down: after the failure: EOF: after the failure: " + io.ErrNoProgress.Error(), nil, []error{errCause, io.EOF, io.ErrNoProgress}},
		"one failure twice":              {over, []error{io.EOF, io.EOF}, "shut down: after the failure: EOF", nil, []error{errCause, io.EOF}},
		"a failure that is incomparable": {over, []error{incomparable{[]int{1}}}, "shut down: after the failure: [1]", nil, []error{errCause}},
	} {
		t.Run(name, func(t *testing.T) {
			err := ending.Under(c.ctx, c.failures...)
			if fmt.Sprint(err) != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if c.reaches == nil && err != c.same {
				t.Errorf("got %#v, want %#v itself", err, c.same)
			}
			for _, target := range c.reaches {
				if !errors.Is(err, target) {
					t.Errorf("errors.Is does not reach %v", target)
				}
			}
		})
	}
}

func TestOf(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := ending.Of(ctx); err != nil {
		t.Errorf("of a context that lasts: %v", err)
	}
	cancel(errCause)
	if err := ending.Of(ctx); err != errCause {
		t.Errorf("of one that has ended: %v, want %v", err, errCause)
	}
}

type incomparable struct{ v any }

func (e incomparable) Error() string { return fmt.Sprint(e.v) }

func TestReaches_ComparesNothingThatCannotBe(t *testing.T) {
	err := incomparable{[]int{1}}
	if ending.Reaches(fmt.Errorf("wrapped: %w", err), err) {
		t.Error("an error of no identity is reached")
	}
}
