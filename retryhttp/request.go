package retryhttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
)

// hasBody reports whether r has a body. A body of unknown length counts, even if it turns out to be empty.
func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// replayable reports whether r can be sent again.
func replayable(r *http.Request) bool { return !hasBody(r) || r.GetBody != nil }

// method returns r's method, GET if it has none.
func method(r *http.Request) string { return cmp.Or(r.Method, http.MethodGet) }

// isIdempotent reports whether carrying out r twice is the same as once, by its method (RFC 9110, section 9.2.2) or by
// its key.
func isIdempotent(r *http.Request) bool {
	switch method(r) {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return hasKey(r)
}

// hasKey reports whether r has an idempotency key. As in net/http, the header may be present without a value; then it
// is not sent.
func hasKey(r *http.Request) bool {
	_, key := r.Header["Idempotency-Key"]
	_, other := r.Header["X-Idempotency-Key"]
	return key || other
}

// prepare sets the request to send: the original, or a copy with a buffered body and a key.
func (x *exchange) prepare() {
	r := x.Request
	if limit := x.transport.bufferBody; !replayable(r) && r.ContentLength <= int64(limit) && limit > 0 {
		r = buffered(r, limit)
	}
	if x.transport.idempotencyKeys && (r.Method == http.MethodPost || r.Method == http.MethodPatch) && replayable(r) && !hasKey(r) {
		header := withHeader(r.Header, "Idempotency-Key", newUUID())
		r = r.WithContext(r.Context())
		r.Header, x.keyed = header, true
	}
	x.prepared = r
}

// withHeader returns a copy of h with one header set.
func withHeader(h http.Header, key, value string) http.Header {
	h = h.Clone()
	if h == nil {
		h = make(http.Header)
	}
	h.Set(key, value)
	return h
}

// newUUID returns a random UUID (RFC 9562, version 4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// buffered returns a copy of r whose body can be sent again if it has at most limit bytes. For a longer body, the
// copy's body begins with the bytes already read. The end of r's context closes the body, so that a read of it ends.
func buffered(r *http.Request, limit int) *http.Request {
	body := r.Body
	defer context.AfterFunc(r.Context(), func() { body.Close() })()
	seen, err := io.ReadAll(io.LimitReader(body, int64(min(limit, math.MaxInt-1))+1))
	r = r.WithContext(r.Context())
	if err != nil || len(seen) > limit {
		r.Body = putBack(seen, body, err)
		return r
	}
	body.Close()
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(seen)), nil }
	r.Body, _ = r.GetBody()
	return r
}

// onlyOnce returns why the request's body cannot be sent again, with what would help.
func (x *exchange) onlyOnce() string {
	if limit := x.transport.bufferBody; limit > 0 {
		return fmt.Sprintf("BufferBody could not keep it within %d bytes", limit)
	}
	return "use BufferBody, or set the request's GetBody"
}

// notCarriedOut reports whether the server is known not to have acted on the request.
func (x *exchange) notCarriedOut() bool {
	if x.Err == nil {
		switch x.Response.StatusCode {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return true
		case http.StatusUnauthorized:
			return slices.Contains(x.transport.statuses, http.StatusUnauthorized)
		case http.StatusForbidden:
			return x.rateLimited()
		}
	}
	op, ok := errors.AsType[*net.OpError](x.Err)
	return isUnsent(x.Err) || ok && (op.Op == "dial" || op.Op == "proxyconnect") || isExcluded(x.Err)
}

// isExcluded reports whether err says that a GOAWAY has excluded the request's HTTP/2 stream: then the server has not
// processed it (RFC 9113, section 6.8). net/http's errors have no types; these are those of streams above the GOAWAY's
// last one.
func isExcluded(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		for _, text := range []string{"http2: Transport received GOAWAY from server ErrCode:", "http2: Transport received Server's graceful shutdown GOAWAY",
			"http2: Transport: cannot retry err [http2: Transport received Server's graceful shutdown GOAWAY]", "http2: server sent GOAWAY and closed the connection; LastStreamID=0,"} {
			if strings.HasPrefix(err.Error(), text) {
				return true
			}
		}
	}
	return false
}

// rateLimited reports whether the response is a failure because of RateLimitHeaders.
func (x *exchange) rateLimited() bool {
	return x.transport.rateLimitHeaders && isRateLimit(x.Response)
}

// isHopeless reports whether the next attempt will fail with err again.
func isHopeless(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	// net/http's errors for requests that it cannot send have no types.
	text := err.Error()
	for _, part := range []string{"unsupported protocol scheme", "net/http: invalid ", "http: no Host in request URL", "http: nil Request."} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
