// Package op contains the implementations of the operators, on plain function types. Packages operators and stream have
// the documented functions and methods that call them. They pass their package's name, with which the texts of panics
// and errors begin.
package op

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Stream is stream.Stream as a plain function type. Functions that return streams have the type func(T) S, where S is
// any function type of this form. So a func(T) stream.Stream[U] needs no conversion.
type Stream[T any] = func(ctx context.Context, yield func(T) bool) error

// Package is the name of the package that exports an operator.
type Package string

// Panicf panics with what is wrong with an argument of an operator.
func (p Package) Panicf(operator, format string, args ...any) {
	panic(string(p) + ": " + operator + ": " + fmt.Sprintf(format, args...))
}

// NotNil panics if an argument of an operator is nil.
func (p Package) NotNil(operator, argument string, isNil bool) {
	if isNil {
		panic(string(p) + ": " + operator + ": " + argument + " is nil")
	}
}

// require panics if s or the argument is nil. It is generic and not a method of Package, because the compiler can
// inline only generic functions of a package that is not imported directly, and without that no operator is inlined.
func require[T any](p Package, operator string, s Stream[T], argument string, isNil bool) {
	if s == nil {
		panic(string(p) + ": " + operator + ": s is nil")
	}
	if isNil {
		panic(string(p) + ": " + operator + ": " + argument + " is nil")
	}
}

func (p Package) atLeast1(operator, argument string, n int) {
	if n < 1 {
		p.Panicf(operator, "%s is %d, want at least 1", argument, n)
	}
}

func (p Package) notNegative(operator, argument string, d time.Duration) {
	if d < 0 {
		p.Panicf(operator, "%s is %v, want at least 0", argument, d)
	}
}

// streamsOf returns a copy of s, whose streams must not be nil.
func streamsOf[T any, S ~func(context.Context, func(T) bool) error](p Package, operator string, s []S) []Stream[T] {
	streams := make([]Stream[T], len(s))
	for i := range s {
		p.NotNil(operator, fmt.Sprintf("s[%d]", i), s[i] == nil)
		streams[i] = Stream[T](s[i])
	}
	return streams
}

// madeBy returns the stream that an operator's function f has made, or the error of a nil one.
func madeBy[U any, S ~func(context.Context, func(U) bool) error](p Package, operator string, made S) (Stream[U], error) {
	if made == nil {
		return nil, fmt.Errorf("%s: %s: f returned a nil stream", string(p), operator)
	}
	return Stream[U](made), nil
}

// empty is the stream of an operator without sources.
func empty[T any](ctx context.Context, _ func(T) bool) error { return ending.ContextError(ctx) }

// startInto starts s in a receiver of another type: for each of its values, which is in *value until the next one is
// requested, an event comes with mark.
func startInto[T, U any](in *handoff.Receiver[U], s Stream[T], value *T, mark U) *handoff.Source[U] {
	return in.Start(func(ctx context.Context, yield func(U) bool) error {
		return s(ctx, func(v T) bool { *value = v; return yield(mark) })
	})
}
