package stream

import "context"

// Stream runs a source: it calls yield for each value, in order, on the goroutine that called the stream. It returns
// nil when the source has ended or yield has returned false, else the error that ended it.
//
// A stream is cold: each call is a new subscription, and two subscriptions share nothing. Every stream of this library
// keeps the following contract, and every operator expects it of its source:
//
//   - yield is called only on the caller's own goroutine, one call at a time;
//   - after yield has returned false it is not called again, and the stream returns nil;
//   - when ctx ends the stream returns promptly, with an error that matches context.Cause(ctx); the library's own
//     streams match ctx.Err() too;
//   - when the stream has returned, nothing that it started is still running;
//   - a panic in yield reaches the caller unchanged;
//   - a slow consumer slows the source: nothing is buffered unless the operator's comment says so.
//
// A nil Stream is invalid: its methods panic when the operator is built.
type Stream[T any] func(ctx context.Context, yield func(T) bool) error

// require panics when s is nil, with the operator's name.
func (s Stream[T]) require(operator string) {
	if s == nil {
		panic("stream: " + operator + ": the stream is nil")
	}
}
