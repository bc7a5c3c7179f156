package stream

import "context"

// Stream runs a source: it calls yield for each value, in order, on the goroutine that called the stream, and
// returns nil when the source has ended or yield has returned false, else the error that ended it.
//
// A stream is cold: each call is a new subscription, and two of them share nothing. The contract, which every stream
// of this library keeps and every operator expects of its source:
//
//   - yield is called on the caller's own goroutine only, one call at a time;
//   - after yield has returned false it is called no more, and the stream returns nil;
//   - when ctx ends the stream returns promptly, with an error that matches context.Cause(ctx); the library's own
//     streams match ctx.Err() too;
//   - after the stream has returned, nothing that it started is still running;
//   - a panic in yield passes through untouched;
//   - nothing is buffered unless the operator's comment says so: a slow consumer slows the source.
//
// The nil Stream is no stream: a method called on it panics when the operator is built.
type Stream[T any] func(ctx context.Context, yield func(T) bool) error

// require panics when s is nil, naming the operator that was given it.
func (s Stream[T]) require(operator string) {
	if s == nil {
		panic("stream: " + operator + ": the stream is nil")
	}
}
