// Package retryotel reports the work of policies to OpenTelemetry: metrics of operations, attempts, delays and outages,
// and events on the spans of the operations.
//
//	observe := retryotel.Observe("load prices", meterProvider.Meter("shop"), tracerProvider.Tracer("shop"))
//	policy := retry.Default.With(observe)
//
// # Metrics
//
// Observe reports, each with the attribute retry.name:
//
//	name                    instrument  unit         further attributes
//	retry.operations        counter     {operation}  retry.outcome, retry.reason, retry.retried
//	retry.attempts          counter     {attempt}    retry.outcome
//	retry.attempt.duration  histogram   s            retry.outcome
//	retry.delay             histogram   s            error.type
//	retry.down_time         histogram   s
//	retry.down              gauge       {outage}
//	retry.down_since        gauge       s
//
// An operation is counted when it is over; a subscription is one. Its retry.outcome is success, exhausted, deadline,
// budget, refused or canceled, and retry.retried says whether it needed retries. Unless it succeeded, retry.reason says
// why there was no further retry:
//
//   - exhausted: limit, within, stop_at, max_retry_after, or without_retries (retry.WithoutRetries)
//   - deadline, budget and canceled: the same word
//   - refused: permanent; for requests of retryhttp body, if it can be sent only once, or not_idempotent; else refused,
//     by the policy's predicate or by the caller
//
// An attempt is counted when it ends, also if its operation goes on: a feed reports each connection that breaks. Its
// retry.outcome is success, failure, or planned, for an end that is no failure (retry.Planned). retry.delay is recorded
// when a retry is scheduled. retry.down_time is recorded when an attempt works again: it is the time since the first
// failure of the outage.
//
// retry.down is 1 from the first failure that is retried until an attempt works or the operation is over, else 0. An
// attempt of a stream works when it has delivered a value or a bookmark, or has called stream.Works. If a source does
// not call stream.Works when it is connected, or when a heartbeat comes, retry.down stays 1 until the next value: for
// hours, if the source is idle. retry.down_since is the time of that first failure, as a Unix time; it has no value
// while nothing is down. With several operations of a name, retry.down is 1 while one of them is down, and the longest
// outage counts. The items of operators.MapRetry and the jobs of durable do not count, because they are stored between
// two attempts: watch their retry.attempts, or the queue's Stats.
//
// # Names
//
// Names with "http." and "error." are OpenTelemetry's semantic conventions. There are no conventions for retries: the
// names that begin with "retry." are defined by this package and experimental.
//
// The functions are safe for concurrent use. Nil arguments panic at construction, with the argument's name.
package retryotel
