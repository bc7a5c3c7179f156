package ending_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/ending"
)

func TestMain(m *testing.M) { check.Main(m) }

var errCause = errors.New("shut down")

// late is a timeout that claims to be context.DeadlineExceeded, as those of packages net and stream do.
type late struct{}

func (late) Error() string        { return "too slow" }
func (late) Is(target error) bool { return target == context.DeadlineExceeded }

func TestError(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	expired, release := context.WithTimeout(t.Context(), 0)
	defer release()
	wrapping, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("shut down: %w", context.Canceled)
	cancel(cause)
	wrapped := fmt.Errorf("read: %w", errCause)
	stopped := fmt.Errorf("read: %w", context.Canceled)
	full := fmt.Errorf("%w: %w", errCause, context.Canceled)
	listed := errors.Join(io.EOF, wrapped)
	for name, c := range map[string]struct {
		ctx      context.Context
		failures []error
		want     string
		same     error   // the error must be this one, if set
		reaches  []error // in addition to the context's cause and Err
	}{
		"nothing happened":                  {ctx: t.Context(), failures: []error{nil, nil}, want: "<nil>"},
		"a failure":                         {t.Context(), []error{io.EOF}, "EOF", io.EOF, nil},
		"the context ended":                 {ctx: over, want: "shut down"},
		"and no failure":                    {ctx: over, failures: []error{nil}, want: "shut down"},
		"without a cause":                   {ctx: cancelled, want: "context canceled", same: context.Canceled},
		"its cause wraps its error":         {ctx: wrapping, want: "shut down: context canceled", same: cause},
		"both":                              {ctx: over, failures: []error{io.EOF}, want: "shut down: after the failure: EOF", reaches: []error{io.EOF}},
		"the failure is the cause":          {ctx: over, failures: []error{errCause}, want: "shut down"},
		"the failure is the context's":      {ctx: over, failures: []error{context.Canceled}, want: "shut down"},
		"the failure wraps the cause":       {ctx: over, failures: []error{wrapped}, want: "read: shut down", reaches: []error{wrapped}},
		"one of several is the cause":       {ctx: over, failures: []error{listed}, want: "EOF\nread: shut down", reaches: []error{listed}},
		"the failure wraps both":            {ctx: over, failures: []error{full}, want: "shut down: context canceled", same: full},
		"it wraps the context's error":      {ctx: over, failures: []error{stopped}, want: "shut down: after the failure: read: context canceled", reaches: []error{stopped}},
		"the same, without a cause":         {ctx: cancelled, failures: []error{stopped}, want: "read: context canceled", same: stopped},
		"a timeout that is not the context": {ctx: expired, failures: []error{late{}}, want: "context deadline exceeded: after the failure: too slow", reaches: []error{late{}}},
		"two failures":                      {ctx: over, failures: []error{io.EOF, io.ErrNoProgress}, want: "shut down: after the failure: EOF: after the failure: " + io.ErrNoProgress.Error(), reaches: []error{io.EOF, io.ErrNoProgress}},
		"one failure twice":                 {ctx: over, failures: []error{io.EOF, io.EOF}, want: "shut down: after the failure: EOF", reaches: []error{io.EOF}},
		"a failure that is incomparable":    {ctx: over, failures: []error{incomparable{[]int{1}}}, want: "shut down: after the failure: [1]"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ending.Error(c.ctx, c.failures...)
			if fmt.Sprint(err) != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if c.same != nil && err != c.same {
				t.Errorf("got %#v, want %#v itself", err, c.same)
			}
			reaches := c.reaches
			if c.ctx.Err() != nil {
				reaches = append(reaches, c.ctx.Err(), context.Cause(c.ctx))
			}
			for _, target := range reaches {
				if !errors.Is(err, target) {
					t.Errorf("errors.Is does not reach %v", target)
				}
			}
		})
	}
}

// Errors that are not comparable are not compared, and an error that unwraps to nil is allowed.
func TestJoin_OddErrors(t *testing.T) {
	odd := incomparable{[]int{1}}
	for _, failure := range []error{fmt.Errorf("wrapped: %w", odd), hollow{}} {
		if err := ending.Join(odd, failure); err.Error() != "[1]: after the failure: "+failure.Error() {
			t.Error(err)
		}
	}
}

type hollow struct{}

func (hollow) Error() string { return "hollow" }
func (hollow) Unwrap() error { return nil }

type incomparable struct{ v any }

func (e incomparable) Error() string { return fmt.Sprint(e.v) }

func TestReaches_ComparesNothingThatCannotBe(t *testing.T) {
	err := incomparable{[]int{1}}
	if ending.Reaches(fmt.Errorf("wrapped: %w", err), err) {
		t.Error("Reaches found an error that is not comparable")
	}
}

func TestAdds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	end, again := ending.ContextError(ctx), ending.ContextError(ctx)
	for name, c := range map[string]struct {
		failure error
		want    bool
	}{
		"another":                       {io.EOF, true},
		"the end, noted elsewhere":      {again, false},
		"the end in words":              {fmt.Errorf("read: %w", again), false},
		"the end after a failure":       {ending.Join(again, io.EOF), true},
		"two ends":                      {errors.Join(errCause, context.Canceled), false},
		"what claims to be an end":      {late{}, true},
		"a wrapper of nothing":          {fmt.Errorf("read: %w", error(nil)), true},
		"a wrapper of nothing twice":    {fmt.Errorf("read: %w, %w", error(nil), error(nil)), true},
		"wrapped twice, then the end":   {fmt.Errorf("a: %w", fmt.Errorf("b: %w", errCause)), false},
		"wrapped twice, then a failure": {fmt.Errorf("a: %w", fmt.Errorf("b: %w", io.EOF)), true},
	} {
		if got := ending.Adds(end, c.failure); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestIsPermanent(t *testing.T) {
	plain := errors.New("plain")
	for _, test := range []struct {
		name   string
		err    error
		marked bool
	}{
		{"nil", nil, false},
		{"no mark", plain, false},
		{"a mark at the top", ending.Permanent(plain), true},
		{"a mark below", fmt.Errorf("outside: %w", ending.Permanent(plain)), true},
		{"a mark in a joined error", errors.Join(errors.New("other"), ending.Permanent(plain)), true},
		{"two marks", ending.Permanent(ending.Permanent(plain)), true},
	} {
		if got := ending.IsPermanent(test.err); got != test.marked {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
	if ending.Permanent(nil) != nil {
		t.Error("Permanent(nil) is not nil")
	}
	if once := ending.Permanent(plain); ending.Permanent(once) != once {
		t.Error("a second mark at the top adds something")
	}
	if err := ending.Permanent(plain); !errors.Is(err, plain) {
		t.Error("the mark hides the error")
	}
	if got := fmt.Sprintf("%v", ending.Permanent(plain)); got != "plain" {
		t.Errorf("the text is %q", got)
	}
}

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
	calls, stopped := 0, false
	yield := ending.Until(&stopped, func(int) bool { calls++; return false })
	if yield(1) || yield(2) || calls != 1 || !stopped {
		t.Error(calls, stopped)
	}
}
