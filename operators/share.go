package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Share runs s once for all consumers that run the returned stream at the same time. The first consumer starts the run,
// others join it and receive the values that come from then on, and the last consumer to leave cancels it. When the run
// has ended, every present consumer receives its end or error, and the next consumer starts a new run. (ReactiveX:
// share, publish().refCount().)
//
//	s:           --a--b--c--d--|        --a--b--
//	consumer 1:  --a--b--c--d--|
//	consumer 2:     --b--c (stops)
//	consumer 3:                         --a--b--
//
// Each consumer receives its values on its own goroutine, and s waits until all of them have processed the value:
// nothing is buffered, no consumer misses a value, and the slowest consumer slows all. A stream.Buffer after Share lets
// a consumer fall behind. It is necessary if one consumer waits for another, as in ZipWith(shared, shared.Skip(1), …),
// or if a consumer runs the shared stream inside its own yield: without it they wait forever.
//
// The run of s has its own goroutine and its own context. That context has the values, such as the clock, of the
// context that started it, but not its end or deadline: a consumer whose context ends leaves alone, with its own cause.
// The last consumer to leave waits until s has returned, and a new run does not begin before that. A panic of s is
// raised in each consumer.
//
// All consumers must use the same returned stream, which is safe for concurrent use: two calls of Share(s) share
// nothing.
func Share[T any](s stream.Stream[T]) stream.Stream[T] {
	return op.Share(here, "Share", s, 1)
}

// ShareN is Share with a run of s that starts when there are n consumers. So n consumers that come at about the same
// time all receive its first value. The first ones wait. (RxJava: publish().refCount(n).)
//
//	s:               --a--b--c--|
//	consumer 1:  ------a--b--c--|
//	consumer 2:      --a--b--c--|
//
// Once started, the run continues as long as any consumer is left. When it has ended, the next run waits for n
// consumers again.
func ShareN[T any](s stream.Stream[T], n int) stream.Stream[T] {
	return op.Share(here, "ShareN", s, n)
}

// ShareReplay is Share for consumers that come late: each receives the last n values first, then the values that come
// from then on. After a run has ended without an error, s is not run again: later consumers receive its last n values
// and the end, for as long as the returned stream is in use. So ShareReplay(s, 1) of a stream of one value runs it
// once, if a consumer waits for its end: First and One leave before that, use Last. (RxJS: shareReplay with refCount;
// RxJava's replay(n).refCount() runs s again after its end.)
//
//	s:           --a--b--c--d--|
//	consumer 1:  --a--b--c--d--|
//	consumer 2:           bc--d--|      (n = 2)
//	consumer 3:                      cd|
//
// A run that has failed, or that all consumers have left before its end, is forgotten with its values: the next
// consumer starts a new one. So a consumer that retries receives none of the values of a failed run again.
//
// A late consumer first receives what it has missed, and s waits for that too. All else is as with Share. An n below 1
// panics.
func ShareReplay[T any](s stream.Stream[T], n int) stream.Stream[T] {
	return op.ShareReplay(here, s, n)
}
