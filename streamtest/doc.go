// Package streamtest tests streams, retries and other code that waits, on virtual time: times are exact, and no test
// waits.
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
// A bubble is made by testing/synctest: it is a group of goroutines with their own clock, which moves when all of them
// wait. Then the bubble is at rest. A [Session] is a test in a bubble. Its clock shows the bubble's time and fires the
// timers of one instant in the order armed.
//
// **Inside a session use the session's Context, never the Context of the t outside**: [Run] says why.
//
// # Ways to write a test
//
// Tests can use marble diagrams, in the syntax of RxJS' TestScheduler: [Cold] and [Hot] make sources of them, [Expect]
// checks a stream, [Source.Subscriptions] the times of subscriptions. Or a test goes step by step, with [Watch]. Or it
// runs the code under test on a goroutine, and moves time with [Session.Advance].
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
// Spaces have no other meaning. RxJS requires a space after every time, also at the end of a diagram.
//
// # Contracts
//
// [Check] checks a stream against the contract of stream.Stream, [CheckOperator] an operator. Package reconnecttest
// checks whether a client comes back. [Session.Rand] provides given random numbers. [NewClock] is for tests that cannot
// run in a bubble.
package streamtest
