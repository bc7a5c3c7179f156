// Package streamtest tests streams, retries and anything else that waits, on virtual time: exactly, in milliseconds of
// real time, and without a flake.
//
//	func TestReconnect(t *testing.T) {
//		streamtest.Run(t, func(s *streamtest.Session) {
//			feed := streamtest.Cold[string](s, `
//				--a--#
//				--b--|`)
//			policy := operators.ExpBackoff(jitter.None, 10*time.Millisecond, 3)
//			streamtest.Expect(s, feed.RetryWhen(policy)).ToBe("--a-- 10ms --b--|")
//		})
//	}
//
// # Words
//
// A bubble is what testing/synctest makes: a group of goroutines with a clock of their own, which moves when all of
// them wait. All has come to rest when that is so. A [Session] is a test in a bubble, with a clock that shows the
// bubble's time and fires the timers of one instant in the order armed.
//
// **Inside a session use the session's Context, never the Context of the t outside.** What waits for that one freezes
// the session, which fails after ten seconds; a context that is derived from it there and not cancelled ends the whole
// test process.
//
// # Ways to say what should happen
//
// Marble diagrams, in the syntax of RxJS' TestScheduler: [Cold] and [Hot] make sources of them, [Expect] says what a
// stream should be, [Source.Subscriptions] when a source should have been subscribed to. Or step by step, with [Watch].
// Or by hand: run the code under test on a goroutine, and move time with [Session.Advance].
//
// # Marble diagrams
//
//	a        a value, after which the frame is over; letters and digits, whose values are given in a map
//	-        a frame: a millisecond in which nothing happens
//	|        the end
//	#        an error
//	(ab|)    all at the instant of the "("; each character, the brackets too, takes a frame, as in RxJS
//	10ms     time passes; also 1.5s and 2m. With a space, or the start or end of the diagram, on both sides
//	^        the instant 0 of a hot source; the subscription, in a subscription diagram
//	!        the end of a subscription, in a subscription diagram
//
// Spaces mean nothing else. RxJS wants a space after every time, also at the end of a diagram.
//
// # Contracts
//
// [Check] takes a stream through the contract of stream.Stream, [CheckOperator] an operator. [Session.Rand] scripts
// randomness. [NewClock] is for tests that cannot be in a bubble.
package streamtest
