package retryhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// ResumeBody continues the body of a GET's response where its reading failed, or where nothing came for stall (0: no
// limit). The reader of the body sees one body; its Read waits as long as the policy does:
//
//	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy, retryhttp.ResumeBody(30*time.Second))}
//
// The Transport sends the same request with Range and If-Range (RFC 9110, sections 13.1.5 and 14.2), and continues only
// with a 206 that begins at the next byte, and whose complete length and validator are those of the response. So bytes
// of two versions are never mixed. A body can be continued if
//
//   - the response is a 200 with a strong ETag, or, without an ETag, with a Last-Modified at least a second before its
//     Date (RFC 9110, section 8.8.2.2); or a 206 with a strong ETag to a request that asks for one open range, such as
//     "Range: bytes=500-" for the rest of a file. Its Content-Range must begin there and have the complete length. The
//     200 may be the response to any Range: it is the whole content;
//   - it has a length or Accept-Ranges: bytes, and neither Accept-Ranges: none nor trailers. Without a length an early
//     end cannot be seen: only a Read that fails is continued;
//   - the base transport has not decompressed it. http.Transport asks for gzip unless the request has an
//     Accept-Encoding or DisableCompression is set;
//   - the request's own body, if any, can be sent again.
//
// In all other cases, and if the server sends something else (200 because the content has changed, 416, another length
// or validator), Read returns the error with which the body broke, with the reason why it was not continued;
// errors.Is and errors.As find both. If the request's context ends, the error matches its cause; http.Client's Timeout
// is such an end, and covers the whole body.
//
// For the policy and its hooks, each time that a body breaks is an operation of its own: its first attempt is the one
// that broke, it works again with the next byte, and so each byte is progress that starts the count again. stall also
// limits the wait for the response that continues a body, as AttemptTimeout does. It covers Read only, not the time
// between two calls of Read. Close ends a Read that waits.
func ResumeBody(stall time.Duration) Option {
	if stall < 0 {
		panicf("ResumeBody", "stall is %v, want at least 0", stall)
	}
	return func(s *settings) { s.resumeBody, s.stall = true, stall }
}

// resuming returns the Transport that continues bodies: t with stall as a limit for the header, and without CheckBody,
// which cannot judge a part.
func (t *Transport) resuming() *Transport {
	r := *t
	r.check = nil
	if d, timed := t.policy.AttemptTimeout(); t.stall > 0 && (!timed || t.stall < d) {
		r.policy = t.policy.With(retry.AttemptTimeout(t.stall))
	}
	return &r
}

// resumedBody is a body that may break and go on.
type resumedBody struct {
	transport *Transport
	request   *http.Request // as it was passed to the Transport
	prepared  *http.Request // as it is sent, without a range
	validator validator
	encoding  string    // Content-Encoding
	obstacle  error     // why the body cannot be continued; nil if it can
	at        int64     // the next byte of the content
	length    int64     // all bytes; -1 if unknown
	began     time.Time // of the present response
	failed    error     // of the last read; nil if the body can be read on
	final     bool      // failed is final

	mu     sync.Mutex // never held while something is read or sent
	body   io.ReadCloser
	closed bool
	ctx    context.Context // of what continues the body; nil until then
	cancel context.CancelCauseFunc
}

// resumable returns the response's body, so that it can be continued.
func (x *exchange) resumable(resp *http.Response) io.ReadCloser {
	partial := resp.StatusCode == http.StatusPartialContent
	if method(x.Request) != http.MethodGet || resp.StatusCode != http.StatusOK && !partial ||
		resp.Body == nil || resp.Body == http.NoBody || resp.ContentLength == 0 {
		return resp.Body
	}
	b := &resumedBody{
		transport: x.transport.resumer, request: x.Request, prepared: x.prepared, body: resp.Body,
		encoding: resp.Header.Get("Content-Encoding"), length: resp.ContentLength,
	}
	b.began = b.now()
	ranges := resp.Header.Get("Accept-Ranges")
	var reason string
	switch b.validator, reason = strongValidator(resp.Header); {
	case resp.Uncompressed:
		reason = "the base transport has decompressed the body"
	case !replayable(x.prepared):
		reason = "the request's body can be sent only once"
	case len(resp.Trailer) > 0:
		reason = "the response has trailers"
	case partial:
		if reason == "" {
			reason = b.ownRange(resp)
		}
	case strings.EqualFold(ranges, "none"):
		reason = "the server accepts no ranges"
	case resp.ContentLength < 0 && !strings.EqualFold(ranges, "bytes"):
		reason = "the response has neither a length nor Accept-Ranges"
	}
	if reason != "" {
		b.obstacle = errors.New(reason)
	}
	return b
}

// ownRange makes b the rest of the content that the request has asked for, or returns why it cannot be continued.
func (b *resumedBody) ownRange(resp *http.Response) (reason string) {
	asked := strings.Join(b.prepared.Header["Range"], ", ")
	from, open := strings.CutSuffix(asked, "-")
	from, bytes := strings.CutPrefix(from, "bytes=")
	at, err := strconv.ParseUint(from, 10, 63)
	switch {
	case err != nil || !open || !bytes:
		return fmt.Sprintf("the request's Range %q is not one open range, such as bytes=500-", asked)
	case b.validator.name != "ETag":
		return "the part has no strong ETag"
	}
	length, err := part(resp, int64(at))
	if err != nil {
		return err.Error()
	}
	b.body, b.at, b.length = resp.Body, int64(at), length
	return ""
}

func (b *resumedBody) now() time.Time { return b.transport.policy.Clock(b.request.Context()).Now() }

// Read reads what comes next. It continues a broken body.
func (b *resumedBody) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.failed == nil {
		n, b.failed = b.read(p)
	}
	if n == 0 && b.failed != nil && !b.final {
		n, b.failed = b.proceed(p, b.failed)
		if b.final = b.failed != nil && n == 0; b.final {
			b.endRest()
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, b.failed
}

// read reads from the present body. An end before the length is the error io.ErrUnexpectedEOF.
func (b *resumedBody) read(p []byte) (n int, err error) {
	b.mu.Lock()
	body := b.body
	b.mu.Unlock()
	t := b.transport
	if t.stall == 0 {
		n, err = body.Read(p)
	} else if !inTime(t.policy.Clock(b.request.Context()), t.stall, body, func() { n, err = body.Read(p) }) {
		err = timeoutError(fmt.Sprintf("retryhttp: no byte of the body came for %v", t.stall))
	}
	if b.at += int64(n); err == io.EOF && b.at < b.length {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// proceed continues the body, which has failed with err, and reads from it. It returns err if that is the body's end.
func (b *resumedBody) proceed(p []byte, err error) (int, error) {
	if err == io.EOF || b.length >= 0 && b.at >= b.length {
		return 0, err
	}
	if ctx := b.request.Context(); ctx.Err() != nil {
		return 0, stream.ContextError(ctx, err)
	}
	broken := &bodyError{request: b.request, at: b.at, length: b.length, err: err, reason: b.obstacle}
	ctx := b.beginRest()
	switch {
	case ctx == nil: // closed
		return 0, err
	case broken.reason != nil:
		return 0, broken
	}
	x := b.transport.begin(ctx, &exchange{prepared: b.rest(), failure: broken, lasted: b.now().Sub(b.began), Outcome: Outcome{Request: b.request}})
	defer x.drop()
	end := x.op.Cancelled()
	for n := 2; end == nil; n++ { // the first one broke
		if end = x.next(); end != nil {
			break
		}
		x.attempt(n, x.failure)
		if x.failure == nil {
			if read := b.join(x, p, broken); read > 0 {
				_ = x.op.Done(retry.Outcome{})
				return read, b.failed
			}
		}
		if x.final {
			_ = x.op.Done(retry.Outcome{Err: x.failure})
			return 0, broken.because(x.failure)
		}
	}
	return 0, broken.because(x.op.Done(retry.Outcome{Err: end}))
}

// join goes on with the exchange's response, and reads its first bytes. If that fails, the exchange has a failure.
func (b *resumedBody) join(x *exchange, p []byte, broken *bodyError) (n int) {
	length, err := b.check(x.Response)
	if err != nil {
		x.failure = broken.because(err)
		return 0
	}
	b.length, b.began = length, b.now()
	resp := x.response()
	b.replace(resp.Body)
	if n, b.failed = b.read(p); n == 0 {
		x.failure, x.final = &bodyError{request: b.request, at: b.at, length: length, err: b.failed}, false
	}
	return n
}

// rest returns the request for the rest of the body.
func (b *resumedBody) rest() *http.Request {
	r := b.prepared.WithContext(b.prepared.Context())
	r.Header = withHeader(r.Header, "Range", "bytes="+strconv.FormatInt(b.at, 10)+"-")
	r.Header.Set("If-Range", b.validator.value)
	return r
}

// beginRest returns the context of what continues the body, and closes the broken body. It returns nil if the body has
// been closed.
func (b *resumedBody) beginRest() context.Context {
	b.mu.Lock()
	closed, body := b.closed, b.body
	if b.ctx == nil {
		b.ctx, b.cancel = context.WithCancelCause(b.request.Context())
	}
	ctx := b.ctx
	b.mu.Unlock()
	body.Close()
	if closed {
		return nil
	}
	return ctx
}

// replace sets the present body. If the body has been closed, so is this one.
func (b *resumedBody) replace(body io.ReadCloser) {
	b.mu.Lock()
	old, closed := b.body, b.closed
	b.body = body
	b.mu.Unlock()
	old.Close()
	if closed {
		body.Close()
	}
}

// endRest ends the context of what has continued the body.
func (b *resumedBody) endRest() {
	b.mu.Lock()
	cancel := b.cancel
	b.mu.Unlock()
	if cancel != nil {
		cancel(http.ErrBodyReadAfterClose)
	}
}

// Close closes the body, and ends a Read that waits.
func (b *resumedBody) Close() error {
	b.mu.Lock()
	body := b.body
	b.closed = true
	b.mu.Unlock()
	defer b.endRest()
	return body.Close()
}
