// Package reconnecttest checks that a client comes back when its connection breaks, and loses and repeats nothing.
//
//	func TestPrices(t *testing.T) {
//		events := []Event{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}} // the server's log
//		feed := reconnecttest.Feed[Event, int64]{Events: events, From: func(last int64) int { return int(last) }}
//		reconnecttest.CheckResume(t, feed, func(connect func(last int64) stream.Stream[Event]) stream.Stream[Event] {
//			return prices(0, connect) // the code under test, over connections of the check
//		})
//	}
//
// [CheckResume] checks a stream, whose connections it makes from a [Feed]. [Check] checks any Go client that dials, of
// whatever library and protocol, against a server in the test. [CheckCalls] measures what the calls of a client do when
// an HTTP server fails. All three run in virtual time, in at most a minute. [CheckTCP] is for what cannot run in virtual
// time: see package prove. docs/testing.md of the repository lists the ways in which they break connections, and what a
// client may not do. Nothing beyond that list is checked.
//
// [Network] is the network of Check for a test of your own, which judges for itself.
//
// Each group of scenarios is a subtest, and each run is in a bubble of testing/synctest. A kind of fault is reported
// once: what broke, at which event or write, what was lost or repeated, and what usually mends it. t is a *testing.T,
// or a struct that embeds one: then the faults go to the struct's Errorf. Check and CheckResume panic in a bubble.
//
// A dial takes 1 ms, and what is written arrives 50 µs later. A fault must be over within 10 minutes. Repeated values,
// and connections of a client that has ended, are watched for 10 s. Time never goes back: each run begins an hour after
// the latest instant of the runs before it.
package reconnecttest

import "errors"

// errCause is the cause with which the checks end a client's context.
var errCause = errors.New("reconnecttest: the cause of a cancellation")
