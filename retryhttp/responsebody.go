package retryhttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/stream"
)

// peek returns the first bytes of the body, at most limit, and puts them back. A body that is slower than timeout is
// closed.
func peek(resp *http.Response, limit int, timeout time.Duration, clock stream.Clock) []byte {
	if p, ok := resp.Body.(*peekedBody); ok {
		return p.seen[:min(limit, len(p.seen))]
	}
	if resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	body := resp.Body
	var seen []byte
	var err error
	if !inTime(clock, timeout, body, func() { seen, err = io.ReadAll(io.LimitReader(body, int64(limit))) }) {
		err = timeoutError(fmt.Sprintf("retryhttp: the body's first %d bytes did not come within %v", limit, timeout))
	}
	resp.Body = putBack(seen, body, err)
	return seen
}

// inTime calls read, which reads from body, and reports whether it has returned within timeout. At timeout it closes
// body, to end read.
func inTime(clock stream.Clock, timeout time.Duration, body io.Closer, read func()) bool {
	var decided atomic.Bool // read has returned, or it is too late
	timer := clock.AfterFunc(timeout, func() {
		if decided.CompareAndSwap(false, true) {
			body.Close()
		}
	})
	read()
	ok := decided.CompareAndSwap(false, true)
	timer.Stop()
	return ok
}

// peekedBody is a body whose beginning has been read.
type peekedBody struct {
	io.Reader
	io.Closer
	seen []byte
}

// putBack returns a body that yields seen and then the rest; err is the error of the reading so far.
func putBack(seen []byte, body io.ReadCloser, err error) *peekedBody {
	var rest io.Reader = body
	if err != nil {
		rest = failedReader{err}
	}
	return &peekedBody{io.MultiReader(bytes.NewReader(seen), rest), body, seen}
}

type failedReader struct{ err error }

func (r failedReader) Read([]byte) (int, error) { return 0, r.err }

// checkBody calls the function of the option CheckBody with the response, and puts back what the function has read.
func (x *exchange) checkBody() error {
	resp := x.Response
	if x.transport.check == nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	body := &recordedBody{ReadCloser: resp.Body}
	checked := *resp
	checked.Body = body
	err := x.transport.check(&checked)
	resp.Body = putBack(body.seen, resp.Body, body.err)
	return err
}

// recordedBody records what is read of a body, and the error that ended it.
type recordedBody struct {
	io.ReadCloser
	seen []byte
	err  error
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.seen, b.err = append(b.seen, p[:n]...), err
	return n, err
}

// Close leaves the body open, for its later readers.
func (b *recordedBody) Close() error { return nil }

// The rest of an unwanted body is read, so that its connection can be used again, if it is at most drainLimit bytes and
// comes within drainTime.
const (
	drainLimit = 256 << 10
	drainTime  = 50 * time.Millisecond
)

// drain reads the rest of a body.
func drain(body io.ReadCloser) {
	if body != nil {
		inTime(timer.System{}, drainTime, body, func() { _, _ = io.CopyN(io.Discard, body, drainLimit+1) })
	}
}

// releasing returns the body with release called when it is closed or has ended. A writable body, as after a switch of
// protocols, remains writable.
func releasing(body io.ReadCloser, release func()) io.ReadCloser {
	if body == nil || body == http.NoBody {
		release()
		return body
	}
	b := &releasingBody{body, release}
	if w, ok := body.(io.Writer); ok {
		return struct {
			*releasingBody
			io.Writer
		}{b, w}
	}
	return b
}

type releasingBody struct {
	io.ReadCloser
	release func()
}

func (b *releasingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.release()
	}
	return n, err
}

func (b *releasingBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
