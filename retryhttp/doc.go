// Package retryhttp adds retries to HTTP. NewTransport adds a policy to an http.Client; the code that uses the client
// does not change. WithShared adds a token that one request renews for all. Slots is for servers: a handler that tells
// clients when to retry.
//
//	client := &http.Client{Transport: retryhttp.NewTransport(nil, retry.Default)}
//
// This client makes at most five attempts, with at most five minutes of waits. If a server asks for a wait of more than
// a minute, it returns that response (retry.Default says how to wait longer).
//
// Invalid arguments (a nil function, a negative number) panic when an option, a Transport or a handler is made, with
// the argument's name. A call that has returned leaves no goroutine.
//
// # Which requests are retried
//
// A request is sent again only if its body can be sent again: it has no body (Body is nil or http.NoBody), or it has
// GetBody, which http.NewRequest sets for bodies in memory, or the option BufferBody has kept the body. Then its method
// or key decides:
//
//   - GET, HEAD, OPTIONS, TRACE, PUT and DELETE requests, and requests with the header Idempotency-Key or
//     X-Idempotency-Key, are retried after any failure (RFC 9110, section 9.2.2);
//   - other requests, such as POST, are retried only if the server is known not to have carried them out: no connection
//     was established, WithShared or a Gate has not sent the request, a GOAWAY has excluded its HTTP/2 stream (RFC
//     9113, section 6.8), or the status is 408, 425, 429 or 503, 401 if it is one of Statuses, or 403 if
//     RateLimitHeaders made it a failure. If a connection is closed after a GOAWAY, net/http's error does not tell
//     whether the stream was one of the excluded ones: then the request is not sent again.
//
// If a kept connection turns out to be closed, net/http's own Transport as the base repeats a request once by itself,
// and the policy does not see that: with retry.Limit(5) a server can see seven requests.
//
// The option IdempotencyKeys adds a key to other requests; the option Idempotent replaces the rule. A Classify that
// returns Retryable overrides it. If one of these rules prevents a retry, the policy gives up with the Cause
// retry.ErrRefused, and its hooks and Log receive the reason.
//
// # Which failures are retried
//
// Failures are all connection errors, except those that will occur again (a certificate that is not trusted, a
// malformed request), and these statuses, or those of the option Statuses:
//
//	408      the request did not come in time; it can be sent again          RFC 9110, section 15.5.9
//	425      not carried out, because it may be a replay                     RFC 8470, section 5.2
//	429      not carried out: too many requests                              RFC 6585, section 4
//	500      the server met a condition that it did not expect               RFC 9110, section 15.6.1
//	502      a gateway received a wrong response                             RFC 9110, section 15.6.3
//	503      not carried out: overload or maintenance                        RFC 9110, section 15.6.4
//	504      a gateway received no response in time                          RFC 9110, section 15.6.5
//	520-524  Cloudflare received a wrong response from the server, or none   Cloudflare's documentation of 5xx errors
//	529      overloaded                                                      the APIs of language models
//
// Cloudflare's 525 and 526, which are about certificates, are not failures, as they will occur again.
//
// A Retry-After header, in seconds or as a date, dictates the delay (retry.RetryAfter), and there is no retry if the
// delay exceeds the policy's MaxRetryAfter or Within or the request's deadline. A Retry-After in the past, or one that
// cannot be read, has no effect. With the option Gate, all requests to the host wait. The option RateLimitHeaders reads
// more headers, and makes a 403 that refuses by a rate limit a failure. The option CheckBody makes a wrong body a
// failure. The option Classify can replace these rules: its function sees the response and the first bytes of its body.
//
// # What is returned
//
// RoundTrip returns the last response, whatever its status, with a readable body, as users of net/http expect. If the
// last attempt failed without a response, or the request's context has ended, it returns a *retry.Error with the number
// of attempts. An error that is not retried is returned unchanged, except that it says so if the reason is a body that
// can be sent only once.
//
// Earlier responses are closed. If their end is near they are read to the end first, so their connections are used
// again. A returned response is not requested again, whatever happens to its body; the option ResumeBody continues a
// body that breaks.
//
// # Hooks, contexts, time
//
// The policy's hooks receive a failure as a *StatusError or as the base transport's error. RequestFrom returns the
// request from their context. In the base transport, stream.AttemptFrom returns the number of the attempt from the
// request's context; that number minus one is OpenTelemetry's http.request.resend_count.
//
// For the hooks, the Transport waits for the first bytes of a failed response, at most 1 s (PeekTimeout). The policy's
// AttemptTimeout covers each attempt until its response's header has come and, if it failed, these bytes; the rest of
// the body may take longer. Waits use the clock of the policy, else the clock of the request's context
// (stream.WithClock), else the system clock.
package retryhttp
