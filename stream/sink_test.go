package stream_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestCollect_NothingIsNil(t *testing.T) {
	if got, err := stream.Empty[int]().Collect(t.Context()); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestTryForEach(t *testing.T) {
	var got []int
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 1)
	err := stream.Of(1, 2).TryForEach(ctx, func(c context.Context, v int) error {
		if c != ctx {
			t.Error("f was given another context")
		}
		got = append(got, v)
		return nil
	})
	if err != nil || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("got %v, %v", got, err)
	}
	err = stream.Of(1).Concat(stream.Fail[int](errBoom)).TryForEach(ctx, func(context.Context, int) error { return nil })
	if err != errBoom {
		t.Errorf("the source's failure became %v", err)
	}
}

// An error of f stops the source, which has not failed: nothing is retried, and f is not called again.
func TestTryForEach_AnErrorOfFIsNoFailureOfTheSource(t *testing.T) {
	calls, runs := 0, 0
	var end error
	rude := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		runs++
		for i := range 5 {
			yield(i)
		}
		return errCause
	})
	err := rude.Retry(3).OnEnd(func(err error) { end = err }).TryForEach(t.Context(), func(context.Context, int) error {
		calls++
		return errBoom
	})
	if err != errBoom || end != nil || calls != 1 || runs != 1 {
		t.Errorf("got %v after %d calls and %d runs; the source ended with %v", err, calls, runs, end)
	}
	calls = 0
	if err := rude.TryForEach(t.Context(), func(context.Context, int) error { calls++; return errBoom }); err != errBoom || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

// A source that returns nil because its yield has returned false at the end of the context is no good end.
func TestChans_ASourceThatOnlyLooksAtYield(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	values, errs := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		cancel(errCause)
		if yield(1) {
			t.Error("yield returned true")
		}
		return nil
	}).Chans(ctx, 1)
	for v := range values {
		t.Errorf("received %d", v)
	}
	if err := <-errs; !endedBy(ctx, err) {
		t.Errorf("got %v, want the cause", err)
	}
}

// A source that ends its goroutine is no good end.
func TestChans_ASourceThatExits(t *testing.T) {
	values, errs := stream.Of(1).Tap(func(int) { runtime.Goexit() }).Chans(t.Context(), 1)
	if _, ok := <-values; ok {
		t.Error("a value")
	}
	if err := <-errs; err == nil || err.Error() != "stream: Chans: the source ended its goroutine" {
		t.Error(err)
	}
}

func TestOne(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	rude := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		yield(1)
		yield(2)
		return errBoom
	})
	for name, c := range map[string]struct {
		ctx  context.Context
		s    stream.Stream[int]
		want int
		errs []error // none: nil
	}{
		"the first of many":                     {t.Context(), stream.Range(7, many), 7, nil},
		"a value that is zero":                  {t.Context(), stream.Of(0), 0, nil},
		"a source that goes on and fails":       {t.Context(), rude, 1, nil},
		"a failure after the value":             {t.Context(), stream.Of(3).Concat(stream.Fail[int](errBoom)), 3, nil},
		"a failure before it":                   {t.Context(), stream.Fail[int](errBoom), 0, []error{errBoom}},
		"no value":                              {t.Context(), stream.Empty[int](), 0, []error{stream.ErrEmpty}},
		"no value, all filtered":                {t.Context(), stream.Of(1).Filter(func(int) bool { return false }), 0, []error{stream.ErrEmpty}},
		"a context that has ended":              {cancelled, stream.Of(1), 0, []error{errCause, context.Canceled}},
		"an end that comes after the context's": {cancelled, func(context.Context, func(int) bool) error { return nil }, 0, []error{errCause, context.Canceled, stream.ErrEmpty}},
		"an empty stream that is replaced":      {t.Context(), stream.Fail[int](stream.ErrEmpty).Catch(func(error) stream.Stream[int] { return stream.Of(9) }), 9, nil},
	} {
		v, err := c.s.One(c.ctx)
		if v != c.want || (err != nil) != (len(c.errs) > 0) {
			t.Errorf("%s: got %d, %v, want %d", name, v, err, c.want)
		}
		for _, want := range c.errs {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v does not match %v", name, err, want)
			}
		}
	}
	if text := stream.ErrEmpty.Error(); text != "stream: the stream ended without a value" {
		t.Error(text)
	}
}

// The source is stopped before One returns, and a context that ends at the value does not hide it.
func TestOne_StopsTheSource(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := errors.New("not yet")
	s := stream.Range(0, many).Tap(func(int) { cancel() }).OnEnd(func(err error) { ended = err })
	if v, err := s.One(ctx); v != 0 || err != nil || ended != nil {
		t.Errorf("got %d, %v; the source ended with %v", v, err, ended)
	}
}
