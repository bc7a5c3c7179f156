package retryhttp

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
)

// isIdempotent reports whether carrying out r twice is the same as once, by its method (RFC 9110, section 9.2.2) or by
// what its header says. As in net/http, the key may be there without a value, and is not sent then.
func isIdempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	if _, ok := r.Header["Idempotency-Key"]; ok {
		return true
	}
	_, ok := r.Header["X-Idempotency-Key"]
	return ok
}

// hasBody reports whether r has a body. One of unknown length may turn out to be empty, and counts as a body.
func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// replayable reports whether r can be sent again.
func replayable(r *http.Request) bool { return !hasBody(r) || r.GetBody != nil }

// notCarriedOut reports whether it is known that the server did not act on the request.
func notCarriedOut(o *Outcome) bool {
	if o.Err == nil {
		switch o.Response.StatusCode {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return true
		}
		return false
	}
	op, ok := errors.AsType[*net.OpError](o.Err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect")
}

// hopeless reports whether the next attempt will fail with err too.
func hopeless(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || errors.Is(err, http.ErrSchemeMismatch) {
		return true
	}
	// What net/http says of requests that it cannot send has no types.
	text := err.Error()
	for _, said := range []string{"unsupported protocol scheme", "net/http: invalid ", "http: no Host in request URL", "http: nil Request."} {
		if strings.Contains(text, said) {
			return true
		}
	}
	return false
}
