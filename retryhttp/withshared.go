package retryhttp

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/retrywhen/retrywhen/retry"
)

// WithShared returns an http.RoundTripper that sends requests through base, or http.DefaultTransport if base is nil,
// with the value of s: set adds it to a copy of each request, such as a token to the header. If the server refuses the
// value with one of the statuses, by default 401, s opens a new one for all requests that wait for it, and the request
// is sent once more, whatever its method, because a refused request was not carried out. It stands below NewTransport:
//
//	retryhttp.NewTransport(retryhttp.WithShared(nil, token, setBearer), policy)
//
// A refused request is not sent again, and the response is returned, if its body can be sent only once (set GetBody, or
// use BufferBody in NewTransport), if the value was opened for this request, or if the second value is refused too. A
// value is proven (retry.Shared) by any other response.
//
// If no value can be had, RoundTrip returns an error that wraps that of s.Do. Nothing was sent then, so NewTransport
// may retry a POST too. s.Do waits under the request's context: an AttemptTimeout of NewTransport's policy should leave
// time for an open and its retries.
//
// After a redirect to another host, the request is sent without the value. WithShared can be nested, with other
// statuses for each: a session over a token.
func WithShared[T any](base http.RoundTripper, s *retry.Shared[T], set func(r *http.Request, v T), statuses ...int) http.RoundTripper {
	switch {
	case s == nil:
		panicf("WithShared", "s is nil")
	case set == nil:
		panicf("WithShared", "set is nil")
	case statuses == nil:
		statuses = []int{http.StatusUnauthorized}
	}
	requireStatuses("WithShared", "statuses", statuses)
	if base == nil {
		base = http.DefaultTransport
	}
	return &withShared[T]{base, s, set, slices.Clone(statuses)}
}

type withShared[T any] struct {
	base     http.RoundTripper
	shared   *retry.Shared[T]
	set      func(*http.Request, T)
	statuses []int
}

// CloseIdleConnections closes the idle connections of the base transport.
func (t *withShared[T]) CloseIdleConnections() { closeIdle(t.base) }

// RoundTrip sends r with the value.
func (t *withShared[T]) RoundTrip(r *http.Request) (*http.Response, error) {
	first := r
	for first.Response != nil && first.Response.Request != nil { // r follows a redirect
		first = first.Response.Request
	}
	if r.URL.Host != first.URL.Host {
		return t.send(r, r)
	}
	call := t.shared.Try
	if replayable(r) {
		call = t.shared.Do
	}
	var (
		resp    *http.Response
		refused *StatusError
		sent    bool
	)
	err := call(r.Context(), func(ctx context.Context, v T) (err error) {
		request := r.Clone(ctx)
		if refused != nil {
			drain(resp.Body)
			resp.Body.Close()
			resp, refused = nil, nil
			if hasBody(r) {
				if request.Body, err = r.GetBody(); err != nil {
					return err
				}
			}
		}
		t.set(request, v)
		sent = true
		if resp, err = t.send(request, r); err != nil {
			return err
		}
		if slices.Contains(t.statuses, resp.StatusCode) {
			refused = newStatusError(r, resp, nil)
			return t.shared.Broken(refused)
		}
		return nil
	})
	if e, ok := err.(*StatusError); ok && e == refused {
		return resp, nil
	}
	switch {
	case refused != nil: // and there was no other value
		resp.Body.Close()
	case sent:
		return resp, err
	case r.Body != nil:
		r.Body.Close()
	}
	return nil, &unsentError{err}
}

// send sends a request for r, which becomes the response's: redirects are followed back through it.
func (t *withShared[T]) send(request, r *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(request)
	if err == nil {
		resp.Request = r
	}
	return resp, err
}

// unsentError is the error of a request that was not sent, or not again after a 401.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// Timeout is called by url.Error.
func (e *unsentError) Timeout() bool { return isTimeout(e.err) }

func isUnsent(err error) bool {
	_, ok := errors.AsType[*unsentError](err)
	return ok
}
