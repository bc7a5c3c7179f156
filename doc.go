// Package retrywhen is documentation only: the vocabulary, and a map of the packages.
//
// The library is generic reactive streams whose centre is retry with backoff and jitter. A stream that fails comes back
// where it stopped, or from its start:
//
//	operators.Resume(0, open, after, policy)
//	src.RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3))
//
// The same policy value serves a stream, an rxgo observable, a channel pipeline, a plain function, a range loop, an
// HTTP client and a durable queue. Time is injected, so every flow can be tested exactly, on virtual time.
//
// # Packages
//
//   - stream: a cold source. Run it, get values, then nil or an error. Sources, sinks, T→T operators, RetryWhen, Clock.
//   - operators: functions from streams to streams of another type; Resume; ExpBackoff; RetryChans for plain channels; MapRetry.
//   - jitter: a uniform draw in, a factor for the delay out.
//   - backoff: the number of failures in, the delay out; a value without state.
//   - retry: a backoff plus when to give up, when to start over, which hooks to call. Do, Run and Attempts without a stream.
//   - operators/rx: the same on github.com/reactivex/rxgo/v2 observables.
//   - retryhttp: an http.RoundTripper with a policy.
//   - streamtest: virtual time, marble diagrams and contract checks for tests of streams.
//   - sim: fleets of clients against a server, in simulated time.
//
// Modules of their own, so that what they need stays out of the library:
//
//   - cmd/retrywhen: the command. It retries a command, shows a policy's schedule, and simulates fleets.
//   - durable: retries that survive the process, on NATS JetStream; durable/embedded has its server in the process.
//   - examples: programs that do a real job.
//
// # Words
//
//   - attempt: one run of the source, or one call.
//   - failure: an attempt that ended in an error.
//   - retry: an attempt after the first.
//   - delay: the wait before a retry.
//   - backoff: the rule for delays. Jitter is its random part, cap the most a delay may be.
//   - limit: the most retries in a row. Exhausted: gave up.
//   - cold: every run of a stream is a new subscription, with nothing shared. Hot: it is not.
package retrywhen
