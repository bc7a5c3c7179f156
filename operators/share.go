package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// Share returns the stream whose consumers share one run of s: the first consumer starts it, others join it and get
// the values that come from then on, and the last one to leave cancels it. When the run has ended, every consumer that
// is there gets its end or error, and the next one to come starts a new run. (ReactiveX: share, publish().refCount().)
//
//	s:           --a--b--c--d--|        --a--b--
//	consumer 1:  --a--b--c--d--|
//	consumer 2:     --b--c (stops)
//	consumer 3:                         --a--b--
//
// Each consumer gets its values on its own goroutine, and s waits until all of them have processed the value: nothing
// is buffered, nobody misses a value, and the slowest consumer slows all. stream.Buffer behind Share gives a consumer
// room. Two consumers of which one waits for the other, as in ZipWith(shared, shared.Skip(1), …), or a consumer that
// runs the shared stream inside its own yield, need it, or they wait forever.
//
// The run of s has a goroutine of its own and a context of its own. That has the values, such as the clock, of the
// context that started it, but neither its end nor its deadline: a consumer whose context ends leaves alone, and gets
// its cause. Whoever leaves last waits until s has returned; and a new run does not begin before the last one has
// returned. A panic of s is raised in each consumer.
//
// The returned stream is one value to be used by all the consumers; it is safe for concurrent use. Share(s) twice makes
// two that share nothing.
func Share[T any](s stream.Stream[T]) stream.Stream[T] {
	return op.Share(here, "Share", s, 1)
}

// ShareN is Share with a run of s that starts when the n-th consumer is there, so that n consumers that come at about
// the same time all get its first value. Those that come first wait. (RxJava: publish().refCount(n).)
//
//	s:               --a--b--c--|
//	consumer 1:  ------a--b--c--|
//	consumer 2:      --a--b--c--|
//
// Later it goes on as long as any consumer is left. When it has ended, the next run waits for n consumers again.
func ShareN[T any](s stream.Stream[T], n int) stream.Stream[T] {
	return op.Share(here, "ShareN", s, n)
}

// ShareReplay is Share for consumers that come late: each gets the last n values first, then those that come from then
// on. When the run has ended well it is not repeated: whoever comes later gets its last n values and the end, for as
// long as the returned stream is in use. So ShareReplay(s, 1) of a stream of one value asks for it once. (RxJS:
// shareReplay with refCount; RxJava's replay(n).refCount() runs s again after its end.)
//
//	s:           --a--b--c--d--|
//	consumer 1:  --a--b--c--d--|
//	consumer 2:           bc--d--|      (n = 2)
//	consumer 3:                      cd|
//
// A run that has failed, or that all consumers have left before its end, is forgotten with its values: the next
// consumer starts a new one. So a consumer that retries gets none of the values of a failed run again.
//
// A late consumer has what it has missed first, and s waits for that too. All else is as with Share. An n below 1
// panics.
func ShareReplay[T any](s stream.Stream[T], n int) stream.Stream[T] {
	return op.ShareReplay(here, s, n)
}
