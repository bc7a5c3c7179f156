// Package retryhttp is HTTP with retries. NewTransport puts a policy into an http.Client, and the code that uses the
// client stays as it is. Slots is the other side: a handler that tells clients when to come back.
//
//	client := &http.Client{Transport: retryhttp.NewTransport(nil, retry.Default)}
//
// Arguments that are no sense (a nil function, a negative number) panic when an option, a Transport or a handler is
// made. Nothing here starts a goroutine.
//
// # Which requests are retried
//
// A request is sent again only if its body can be: it has none (Body is nil or http.NoBody), or it has GetBody, which
// http.NewRequest sets for bodies in memory, or the option BufferBody has kept it. Beyond that it depends on what a
// second one may do:
//
//   - GET, HEAD, OPTIONS, TRACE, PUT, DELETE, and requests with the header Idempotency-Key or X-Idempotency-Key, are
//     retried after any failure (RFC 9110, section 9.2.2);
//   - others, like a POST, are retried only when it is known that the server did not carry out the first one: no connection
//     came about, or the status is 408, 425, 429 or 503.
//
// The option IdempotencyKeys gives others a key; the option Idempotent replaces the rule. A Classify that returns
// Retryable overrules it. Where one of these rules prevents a retry, the policy gives up with the Cause
// retry.ErrRefused, and its hooks and Log see the reason.
//
// # Which failures are retried
//
// Connection errors of all sorts, but not those that will be the same next time (a certificate that is not trusted, a
// malformed request); and the statuses 408, 425, 429, 500, 502, 503 and 504, or those of the option Statuses. A
// Retry-After, in seconds or as a date, dictates the delay: the retry comes no earlier, and where that passes the
// policy's MaxRetryAfter or Within or the request's deadline there is none. A Retry-After in the past, or one that
// cannot be read, has no effect. The option RateLimitHeaders reads more headers. CheckBody makes a body that is not
// what it should be a failure. Classify decides otherwise, having seen the response, the first bytes of its body too.
//
// # What comes back
//
// The last response, whatever its status, with its body to be read, as net/http users expect. When it was the
// connection that failed last, or the request's context has ended, it is a *retry.Error with the number of attempts. An
// error that is not retried is returned as it is.
//
// The responses before the last are read to their end, if that is near, and closed, so that their connections are used
// again. A response that has been handed over is never retried, whatever becomes of its body.
//
// # Hooks, contexts, time
//
// The policy's hooks see what failed as a *StatusError or as the transport's error, and get the request by RequestFrom
// of their context. The base transport finds the number of the attempt by stream.AttemptFrom of the request's context:
// one less is OpenTelemetry's http.request.resend_count.
//
// The first bytes of a failed response are waited for, at most 1 s (PeekTimeout), for the hooks. The policy's
// AttemptTimeout is for each attempt until its response's header has come and, of one that failed, these bytes; the
// rest of the body may take longer. Waits are on the policy's clock, else on that of the request's context
// (stream.WithClock), else on the system's.
package retryhttp
