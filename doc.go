// Package retrywhen contains only documentation: the vocabulary, and an overview of the packages.
//
// The library provides generic reactive streams with retry, backoff and jitter. A stream that fails continues where it
// stopped, or starts again:
//
//	operators.Resume(0, open, after, policy)
//	src.RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3))
//
// The same policy value serves a stream, an rxgo observable, a channel pipeline, a plain function, a range loop, an
// HTTP client and a durable queue. Time is injected, so every flow can be tested exactly, on virtual time.
//
// # Packages
//
// The library:
//
//   - jitter: maps a uniform draw to a factor for the delay.
//   - backoff: maps the number of failures to the delay; a value without state.
//   - retry: policies, which add to a backoff when to give up, when to restart the count, and which hooks to call. Do,
//     Run and Attempts retry without a stream.
//   - stream: cold streams. A run yields values and returns nil or an error. Sources, sinks, operators that keep the
//     type, RetryWhen, Clock.
//   - operators: functions from streams to streams of another type; Resume and its kin; ExpBackoff; RetryChans for
//     plain channels; MapRetry for single items.
//   - streamtest: virtual time, marble diagrams, contract checks.
//   - reconnecttest: tests whether a stream, or any client, comes back when its connection breaks.
//   - prove: the same in real time, for a program in any language; and what its calls do when a server fails.
//
// What connects it:
//
//   - retryhttp: an http.RoundTripper with a policy.
//   - retrygrpc, a module: gRPC interceptors with a policy; streams of messages for Resume.
//   - retryotel, a module: OpenTelemetry metrics and span events of a policy.
//   - operators/rx: the same for github.com/reactivex/rxgo/v2 observables.
//
// Its evidence:
//
//   - sim, a module: fleets of clients against a server, in simulated time.
//   - cmd/retrywhen, a module: the command. It retries a command, breaks a program's connections, measures its
//     calls, shows a policy's schedule, and simulates fleets.
//   - examples, a module: programs that do a real job.
//
// And durable, a module: retries that survive the process, on NATS JetStream; durable/embedded runs the server inside
// the process. Modules of their own keep their dependencies away from the library.
//
// # Words
//
//   - attempt: one run of the source, or one call.
//   - failure: an attempt that ended in an error.
//   - retry: an attempt after the first.
//   - delay: the wait before a retry.
//   - backoff: the rule for delays. Jitter is its random part, cap the maximum delay.
//   - limit: the maximum number of retries in a row. Exhausted: gave up.
//   - cold: every run of a stream is a new subscription that shares nothing with others. Hot: runs share a source.
package retrywhen
