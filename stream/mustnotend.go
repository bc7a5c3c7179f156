package stream

import "context"

// MustNotEnd yields the values of s, and fails with err when s ends. So the end of a feed is a failure and can be
// retried. A consumer that stops is not an end.
//
//	source:           --a--b--|
//	MustNotEnd(err):  --a--b--#
func (s Stream[T]) MustNotEnd(err error) Stream[T] {
	s.require("MustNotEnd")
	requireFunc(err == nil, "MustNotEnd: err")
	return func(ctx context.Context, yield func(T) bool) error {
		return s.Concat(Fail[T](err))(ctx, yield)
	}
}
