package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/stream"
)

// ConcatMap returns the stream of the values of the streams that f returns for the values of s, one stream after the
// other, in order. While one of these inner streams runs, s waits.
//
//	s:               --1--------2--|
//	f(1):              --a--b|
//	f(2):                       --c|
//	ConcatMap(f):    ----a--b-----c|
//
// The first error, of s or of an inner stream, ends it. f must not return nil: the stream fails then. ConcatMap starts
// no goroutine. A nil s or f panics.
func ConcatMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	notNil("ConcatMap", "s", s == nil)
	notNil("ConcatMap", "f", f == nil)
	return concatMap("ConcatMap", s, f)
}

func concatMap[T, U any](operator string, s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return func(ctx context.Context, yield func(U) bool) error {
		var failure error
		stopped := false
		deliver := func(v U) bool {
			stopped = stopped || !yield(v)
			return !stopped
		}
		err := s(ctx, func(v T) bool {
			if stopped || failure != nil {
				return false
			}
			if inner := f(v); inner != nil {
				failure = inner(ctx, deliver)
			} else {
				failure = nilStream(operator)
			}
			return !stopped && failure == nil
		})
		switch {
		case stopped:
			return nil
		case failure != nil:
			return failure
		}
		return err
	}
}
