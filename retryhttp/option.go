package retryhttp

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Option is one setting of NewTransport.
type Option func(*settings)

// settings holds the options.
type settings struct {
	statuses         []int
	classify         func(*Outcome) Class
	idempotent       func(*http.Request) bool
	check            func(*http.Response) error
	peekLimit        int
	peekTimeout      time.Duration
	bufferBody       int
	rateLimitHeaders bool
	idempotencyKeys  bool
	attemptHeader    bool
	resumeBody       bool
	stall            time.Duration
	gate             *gate
}

// Statuses replaces the default set of retryable statuses, which the package comment lists. A code must be from 100 to
// 999.
func Statuses(codes ...int) Option {
	requireStatuses("Statuses", "codes", codes)
	codes = slices.Clone(codes)
	return func(s *settings) { s.statuses = codes }
}

// Classify calls f once after each attempt, a successful one too, before the Transport classifies it. f runs on the
// request's goroutine. If AttemptTimeout ends an attempt before its response, f receives an error that is a timeout; if
// it does so later, while f or the Transport reads the body's first bytes, f's decision about the response applies to
// the timeout.
func Classify(f func(*Outcome) Class) Option {
	if f == nil {
		panicf("Classify", "f is nil")
	}
	return func(s *settings) { s.classify = f }
}

// CheckBody calls f with each response whose status is from 200 to 299 and not in Statuses, unless Classify has
// decided, but not with the parts that ResumeBody requests. An error of f is a failure of the attempt. So a body that
// is cut off or cannot be decoded is fetched again:
//
//	retryhttp.CheckBody(func(resp *http.Response) error { return json.NewDecoder(resp.Body).Decode(new(any)) })
//
// What f reads of the body is kept in memory until the response is returned, and later readers read it again: f should
// set a limit. A Close by f has no effect. Hooks receive f's error in a *StatusError. An error marked as permanent is
// not retried. An error with a delay (retry.RetryAfter) dictates it if the response has no Retry-After. The server has
// carried out such a request, so the request is retried only if it is idempotent. When the policy gives up, the
// response is still returned, with its original body. AttemptTimeout covers f too.
func CheckBody(f func(*http.Response) error) Option {
	if f == nil {
		panicf("CheckBody", "f is nil")
	}
	return func(s *settings) { s.check = f }
}

// Idempotent replaces the rule for which requests may be carried out twice, by default their method or key. The
// request's body must still be one that can be sent again.
func Idempotent(f func(*http.Request) bool) Option {
	if f == nil {
		panicf("Idempotent", "f is nil")
	}
	return func(s *settings) { s.idempotent = f }
}

// IdempotencyKeys adds the header Idempotency-Key to each POST or PATCH that can be sent again and has no such header,
// nor X-Idempotency-Key. Its value is a random UUID, the same for all attempts of the request. Such a request counts as
// idempotent, so use this option only for servers that carry out requests with the same key once
// (draft-ietf-httpapi-idempotency-key-header). A retry around the client's call makes a request, and so a key, for each
// of its attempts: set the header yourself there.
func IdempotencyKeys() Option {
	return func(s *settings) { s.idempotencyKeys = true }
}

// BufferBody reads up to n bytes of a body that has no GetBody into memory before the request is sent, so that it can
// be sent again. A longer body, by its ContentLength or when it is read, is sent once, as without the option. The first
// attempt begins when the body has ended or has yielded more than n bytes, or at once if ContentLength is more than n.
func BufferBody(n int) Option {
	if n < 0 {
		panicf("BufferBody", "n is %d, want at least 0", n)
	}
	return func(s *settings) { s.bufferBody = n }
}

// RateLimitHeaders reads more headers than Retry-After, in forms that servers use without a final standard. If a 429,
// 503 or 529 has no readable Retry-After, the first of these headers that is readable dictates the delay:
//
//   - Retry-After-Ms and X-Ms-Retry-After-Ms, in milliseconds (the retry strategy of Azure's core-rest-pipeline). With
//     a Retry-After they count if they are the same delay, not rounded up
//   - RateLimit, with RateLimit-Policy for a window that RateLimit lacks: "default";r=0;t=5, where the remaining quota
//     r must be 0 (draft-ietf-httpapi-ratelimit-headers-08 to -11, sections 3 and 4); or limit=10, remaining=0, reset=5
//     (draft 07)
//   - RateLimit-Reset (draft 00 to 06 of the same), X-RateLimit-Reset-After (Discord's API documentation),
//     X-RateLimit-Reset (GitHub's and Discord's) and X-Rate-Limit-Reset (X's), unless the corresponding Remaining
//     header is more than 0: seconds, with or without a fraction; from 1e8 on the time since 1970 in seconds, from 1e11
//     on in milliseconds; or a time of RFC 3339
//
// Such a delay is treated like Retry-After's: the policy's MaxRetryAfter and Within apply. A date is compared with the
// response's own Date.
//
// A 403 or 429 is a failure, whatever Statuses says, if it has a Retry-After, or a Remaining header that is 0 with its
// Reset header, or an exhausted quota in RateLimit (GitHub's documentation of rate limits for the REST API). It has not
// been carried out, so a POST is retried too. A 403 without these is returned as it is.
//
// X-Should-Retry, which has no standard, with "true" or "false" decides whether a response with a status of 400 or more
// may be retried, like Retryable and NotRetryable, unless Classify has decided.
func RateLimitHeaders() Option {
	return func(s *settings) { s.rateLimitHeaders = true }
}

// PeekLimit sets how many bytes of a body a StatusError and Outcome.Peek contain; the default is 1024.
func PeekLimit(n int) Option {
	if n < 0 {
		panicf("PeekLimit", "n is %d, want at least 0", n)
	}
	return func(s *settings) { s.peekLimit = n }
}

// PeekTimeout sets how long the Transport waits for the first bytes of a body; the default is 1 s. A slower body is
// closed: its readers receive what has come, and then an error that is a timeout.
func PeekTimeout(d time.Duration) Option {
	if d <= 0 {
		panicf("PeekTimeout", "d is %v, want more than 0", d)
	}
	return func(s *settings) { s.peekTimeout = d }
}

// AttemptHeader adds the header X-Retry-Attempt to each retry: 1 for the first retry. The first attempt does not have
// it.
func AttemptHeader() Option {
	return func(s *settings) { s.attemptHeader = true }
}

func requireStatuses(where, name string, codes []int) {
	for i, code := range codes {
		if code < 100 || code > 999 {
			panicf(where, "%s[%d] is %d, want 100 to 999", name, i, code)
		}
	}
}

func panicf(where, format string, args ...any) {
	panic("retryhttp: " + where + ": " + fmt.Sprintf(format, args...))
}
