// Package reconnecttest checks that a client comes back when its connection breaks, and loses and repeats nothing.
//
// [CheckResume] checks a stream, whose connections it makes from a [Feed]. [Check] checks any Go client that dials, of
// whatever library and protocol, against a server in the test. Both run in virtual time and take seconds;
// [CheckTCP] does less, in real time, for what cannot: see package prove. [CheckCalls] measures what the calls of a client
// do when an HTTP server fails. The ways in which they break connections, and
// what a client may not do, are listed in docs/testing.md of the repository. Nothing beyond that list is checked.
//
// [Network] is the network of Check for a test of your own, which judges for itself.
//
// Each group of scenarios is a subtest, and each run is in a bubble of testing/synctest. A kind of fault is reported
// once: what broke, at which event or write, what was lost or repeated, and what usually mends it. t is a *testing.T,
// or a struct that embeds one: then the faults go to the struct's Errorf. Check and CheckResume panic in a bubble.
//
// To dial takes 1 ms, and what is written arrives 50 µs later. A fault must be over within 10 minutes. Repeated values,
// and connections of a client that has ended, are watched for 10 s. Time does not go back from run to run: each begins an hour after the latest instant of those
// before.
//
// # Between a test and a finding
//
//	check                what is expected of a client, and what has been reported
//	└── group            scenarios that break connections in the same way, and who judges them
//	    └── scenario     what happens to the connections of one run, and to the client's consumer
//	        ├── session  plays it with a client: a stream and a Feed, or what dials and a server on a host
//	        ├── network  makes it happen: to links, which for a client that dials are the ends of wires;
//	        │            its record and its timeline are what the client did
//	        └── outcome  what the run has shown: the record, and a judge.Tally of the values;
//	                     a judge.Group collects the faults in it, which become Findings
package reconnecttest

import "errors"

// errCause is the cause with which the checks end a client's context.
var errCause = errors.New("reconnecttest: the cause of a cancellation")
