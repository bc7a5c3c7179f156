package stream_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestOnEnd_IsToldOnceHowTheRunEnded(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	for name, test := range map[string]struct {
		s    stream.Stream[int]
		ctx  context.Context
		more bool
		want error
	}{
		"ends":                      {s: stream.Of(1), more: true},
		"fails":                     {s: stream.Of(1).Concat(stream.Fail[int](errBoom)), more: true, want: errBoom},
		"stopped":                   {s: stream.Of(1, 2)},
		"stopped, then a bad error": {s: func(_ context.Context, yield func(int) bool) error { yield(1); return errBoom }},
		"cancelled":                 {s: stream.Of(1), ctx: ended, more: true, want: errCause},
	} {
		t.Run(name, func(t *testing.T) {
			var told []error
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			err := test.s.OnEnd(func(err error) { told = append(told, err) })(ctx, func(int) bool { return test.more })
			if !errors.Is(err, test.want) || !slices.Equal(told, []error{err}) {
				t.Errorf("f received %v, returned %v, want %v", told, err, test.want)
			}
		})
	}
}

func TestOnEnd_IsToldOfAPanicThatGoesOn(t *testing.T) {
	var told []error
	s := stream.Of(1).OnEnd(func(err error) { told = append(told, err) })
	if v := recovered(func() { _ = s.ForEach(t.Context(), func(int) { panic("mine") }) }); v != "mine" {
		t.Errorf("panicked with %v", v)
	}
	if !exits(func() { _ = s.ForEach(t.Context(), func(int) { runtime.Goexit() }) }) {
		t.Error("the goroutine went on")
	}
	if len(told) != 2 || told[0] == nil || told[1] == nil {
		t.Errorf("f received %v, want an error twice", told)
	}
}
