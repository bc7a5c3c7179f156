// Package retryhttp is an http.RoundTripper that retries by a policy: put it into an http.Client, and the code that uses
// the client stays as it is.
//
//	client := &http.Client{Transport: retryhttp.NewTransport(nil, retry.Default)}
//
// # Which requests
//
// A request is sent again only if its body can be: it has none (Body is nil or http.NoBody), or it has GetBody, which
// http.NewRequest sets for bodies in memory. Beyond that it depends on what a second one may do:
//
//   - GET, HEAD, OPTIONS, TRACE, PUT, DELETE, and whatever has an Idempotency-Key or X-Idempotency-Key header, are
//     retried after any failure (RFC 9110, section 9.2.2);
//   - others, like a POST, are retried only when it is known that the first one was not carried out: no connection came
//     about, or the status is 408, 425, 429 or 503.
//
// The option Idempotent says it better where you know better; a Classify that returns Retry goes before it.
//
// # Which failures
//
// Connection errors of all sorts, but not those that will be the same next time (a certificate that is not trusted, a
// malformed request); and the statuses 408, 425, 429, 500, 502, 503 and 504, or those of the option Statuses. A
// response that says Retry-After, in seconds or as a date, is taken at its word: the retry comes no earlier, and where
// that passes the policy's MaxRetryAfter or Within or the request's deadline there is none. A Retry-After in the past,
// or one that cannot be read, says nothing. The option Classify decides otherwise, having seen the response, the first
// bytes of its body too.
//
// # What comes back
//
// The last response, whatever its status, with its body to be read, as net/http users expect. When it was the
// connection that failed last, or the request's context has ended during a wait, it is a *retry.Error with the number
// of attempts. An error that is not retried is returned as it is.
//
// The responses before the last are read to their end, if that is near, and closed, so that their connections are used
// again. A response that has been handed over is never retried, whatever becomes of its body.
//
// The policy's hooks see what failed as a *StatusError or as the transport's error. Its AttemptTimeout is for each
// attempt until its response's header has come and, of one that failed, the first bytes of the body, which are waited
// for; the rest of the body may take longer. Waits are on the policy's clock, else on that of the request's context
// (stream.WithClock), else on the system's.
package retryhttp
