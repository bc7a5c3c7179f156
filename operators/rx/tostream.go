package rx

import (
	"context"
	"fmt"
	"reflect"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// ToStream returns a stream of the values of the observable that src opens. Each run calls src once, with its own
// context, observes the result under that context, and cancels the context when the run is over.
//
//	src     --1--2--#--3--|
//	stream  --1--2--#
//
// A run ends with the first error item, unchanged, although rxgo continues after an error item. It ends without an
// error when the observable closes its channel. When ctx ends, it returns context.Cause(ctx) at once, whatever the
// source does once src and Observe have returned, even if it has closed its channel because of ctx. But a deadline that
// src itself sets looks like an end without an error, because rxgo's operators close without an error then: use Timeout
// on the stream instead.
//
// A value that is not a T ends the run with an error such as "rx: ToStream: item 3 is string, want int", which no
// policy retries. A nil value becomes T's nil if T has one. ToStream[any] accepts every value.
//
// yield is called on the goroutine that runs the stream. Nothing is buffered that src does not buffer. When a run has
// ended early, the source's goroutines end by their context, a moment later. What they still send is received and
// dropped, for sources that ignore the context. But a channel that was given to FromChannel is the caller's: every
// value taken from it is yielded.
//
// If src returns nil, the run fails.
func ToStream[T any](src func(context.Context) rxgo.Observable) stream.Stream[T] {
	require("ToStream", "src", src != nil)
	return items[T]("ToStream", opener("ToStream", src))
}

// opener returns the function that subscribes to the observable that src opens.
func opener(function string, src func(context.Context) rxgo.Observable) func(context.Context) (observed, error) {
	return func(run context.Context) (observed, error) {
		own := &watchedContext{Context: run}
		o := src(own)
		if isNil(o) {
			return observed{}, stream.Permanent(fmt.Errorf("rx: %s: src returned a nil Observable", function))
		}
		return subscribe(run, own, o, inspect(o))
	}
}

// items is the stream of the values of the observable that open subscribes to.
func items[T any](function string, open func(context.Context) (observed, error)) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		run, cancel := context.WithCancel(ctx)
		var s observed
		defer func() {
			cancel()
			s.abandon()
		}()
		s, err := open(run)
		if err != nil {
			return err
		}
		if s.items == nil {
			return stream.Permanent(fmt.Errorf("rx: %s: Observe returned a nil channel", function))
		}
		for n := 1; ; n++ {
			item, more, err := s.next(ctx, n)
			if !more {
				return err
			}
			v, ok := as[T](item.V)
			if !ok {
				return stream.Permanent(fmt.Errorf("rx: %s: item %d is %T, want %v", function, n, item.V, reflect.TypeFor[T]()))
			}
			if !yield(v) {
				return nil
			}
		}
	}
}

// as returns v as a T. nil is a T if T has a nil.
func as[T any](v any) (T, bool) {
	t, ok := v.(T)
	if v != nil {
		return t, ok
	}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return t, true
	}
	return t, false
}

// isNil reports whether o is nil, a nil pointer, or a zero Observable.
func isNil(o rxgo.Observable) bool {
	switch o := o.(type) {
	case nil:
		return true
	case Observable:
		return isNil(o.Observable)
	case *rxgo.ObservableImpl:
		return o == nil
	}
	return false
}
