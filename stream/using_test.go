package stream_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// resources counts what Using opens, and notes the order of what happens.
type resources struct {
	opened  int
	journal []string
	opener  int // the goroutine
}

func (r *resources) open(context.Context) (int, error) {
	r.opened++
	r.opener = virtual.Current().ID
	r.journal = append(r.journal, fmt.Sprint("open ", r.opened))
	return r.opened, nil
}

func (r *resources) close(n int) error {
	r.journal = append(r.journal, fmt.Sprint("close ", n))
	if virtual.Current().ID != r.opener {
		r.journal = append(r.journal, "on another goroutine")
	}
	return nil
}

func (r *resources) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(r.journal, want) {
		t.Errorf("what happened: %q, want %q", r.journal, want)
	}
}

func TestUsing(t *testing.T) {
	for name, c := range map[string]marble{
		"an end":                  {source: "--a--b--|", want: "--a--b--|", subs: "^-------!"},
		"a failure":               {source: "--a--b--#", want: "--a--b--#", subs: "^-------!"},
		"an empty stream":         {source: "--|", want: "--|", subs: "^-!"},
		"one that ends at once":   {source: "|", want: "|", subs: "(^!)"},
		"one that fails at once":  {source: "#", want: "#", subs: "(^!)"},
		"cancelled":               {source: "--a--b--|", during: "---!", want: "--a------", subs: "^--!"},
		"cancelled, a silent one": {source: "-", during: "---!", want: "---------", subs: "^--!"},
	} {
		var r resources
		expectMarbles(t, map[string]marble{name: c}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
			return stream.Using(r.open, func(int) stream.Stream[string] { return src }, r.close)
		})
		r.expect(t, "open 1", "close 1")
	}
}

// The resource is closed on the caller's goroutine before the stream returns, so a retry finds it closed.
func TestUsing_EachRunHasItsOwn(t *testing.T) {
	var r resources
	s := stream.Using(r.open, func(n int) stream.Stream[int] {
		return stream.Of(n).Concat(stream.Fail[int](errBoom)).OnEnd(func(error) { r.journal = append(r.journal, fmt.Sprint("end ", n)) })
	}, r.close)
	expect(t, s.Retry(1), []int{1, 2}, errBoom)
	r.expect(t, "open 1", "end 1", "close 1", "open 2", "end 2", "close 2")
}

func TestUsing_AStop(t *testing.T) {
	var r resources
	s := stream.Using(r.open, func(int) stream.Stream[int] { return stream.Of(7, 8, 9) }, func(n int) error {
		_ = r.close(n)
		return errBoom
	})
	if err := s(t.Context(), func(int) bool { return false }); err != nil {
		t.Errorf("a consumer that has stopped got %v", err)
	}
	r.expect(t, "open 1", "close 1")
}

func TestUsing_APanicAndAGoexit(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("mine") }, "Goexit": runtime.Goexit} {
		var r resources
		s := stream.Using(r.open, func(int) stream.Stream[int] { return stream.Of(1) }, r.close)
		var v any
		exited := exits(func() {
			v = recovered(func() { _ = s.ForEach(t.Context(), func(int) { end() }) })
		})
		if exited != (name == "Goexit") || (v == "mine") != (name == "panic") {
			t.Errorf("%s: %v, exited: %v", name, v, exited)
		}
		r.expect(t, "open 1", "close 1")
	}
	var r resources
	s := stream.Using(r.open, func(int) stream.Stream[int] { panic("use") }, r.close)
	if v := recovered(func() { _, _ = s.Collect(t.Context()) }); v != "use" {
		t.Errorf("panicked with %v", v)
	}
	r.expect(t, "open 1", "close 1")
}

func TestUsing_ErrorsOfOpenAndClose(t *testing.T) {
	errOpen, errClose := errors.New("open"), errors.New("close")
	closed := 0
	closes := func(int) error { closed++; return errClose }
	opens := func(context.Context) (int, error) { return 5, nil }
	one := func(n int) stream.Stream[int] { return stream.Of(n) }

	s := stream.Using(func(context.Context) (int, error) { return 0, errOpen }, one, closes)
	if got, err := s.Collect(t.Context()); got != nil || err != errOpen || closed != 0 {
		t.Errorf("open fails: %v, %v, closed %d times", got, err, closed)
	}
	if got, err := stream.Using(opens, one, closes).Collect(t.Context()); !slices.Equal(got, []int{5}) || err != errClose {
		t.Errorf("close fails: %v, %v", got, err)
	}
	_, err := stream.Using(opens, func(int) stream.Stream[int] { return stream.Fail[int](errBoom) }, closes).Collect(t.Context())
	if !errors.Is(err, errBoom) || !errors.Is(err, errClose) || err.Error() != "boom\nclose" {
		t.Errorf("both fail: %v", err)
	}
	if _, err := stream.Using(opens, func(int) stream.Stream[int] { return nil }, closes).Collect(t.Context()); !errors.Is(err, errClose) || err.Error() !=
		"stream: Using: use returned a nil stream\nclose" {
		t.Errorf("a nil stream: %v", err)
	}
	if closed != 3 {
		t.Errorf("closed %d times", closed)
	}
}

// Whatever comes with it, an end by the context is one.
func TestUsing_ErrorsAndTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := stream.Using(func(context.Context) (int, error) { cancel(errCause); return 0, errBoom },
		func(int) stream.Stream[int] { return stream.Of(1) }, func(int) error { return nil })
	if _, err := s.Collect(ctx); !endedBy(ctx, err) || !errors.Is(err, errBoom) {
		t.Errorf("cancelled in open: %v", err)
	}

	var r resources
	if _, err := stream.Using(r.open, func(int) stream.Stream[int] { return stream.Of(1) }, r.close).Collect(ctx); !endedBy(ctx, err) {
		t.Errorf("cancelled before: %v", err)
	}
	r.expect(t)

	ctx, cancel = context.WithCancelCause(t.Context())
	careless := func(int) stream.Stream[int] {
		return func(_ context.Context, yield func(int) bool) error { yield(1); return nil }
	}
	s = stream.Using(r.open, careless, func(int) error { return errBoom })
	if err := s.ForEach(ctx, func(int) { cancel(errCause) }); !endedBy(ctx, err) || !errors.Is(err, errBoom) {
		t.Errorf("cancelled in the last value: %v", err)
	}
}
