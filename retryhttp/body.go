package retryhttp

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// peek returns the first bytes of the body, at most limit, and puts them back.
func peek(resp *http.Response, limit int) []byte {
	if p, ok := resp.Body.(*peekedBody); ok {
		return p.seen
	}
	if resp.Body == nil || resp.Body == http.NoBody || limit == 0 || resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	seen, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)))
	var rest io.Reader = resp.Body
	if err != nil {
		rest = failedReader{err}
	}
	p := &peekedBody{io.MultiReader(bytes.NewReader(seen), rest), resp.Body, seen}
	resp.Body = p
	return p.seen
}

// peekedBody is a body whose beginning has been read.
type peekedBody struct {
	io.Reader
	io.Closer
	seen []byte
}

type failedReader struct{ err error }

func (r failedReader) Read([]byte) (int, error) { return 0, r.err }

// What is left of a body that nobody wants is read, so that its connection can be used again, if it is not more than
// this and comes within that time.
const (
	drainLimit = 256 << 10
	drainTime  = 50 * time.Millisecond
)

// discard drains and closes a body.
func discard(body io.ReadCloser) {
	if body == nil {
		return
	}
	timer := time.AfterFunc(drainTime, func() { body.Close() })
	_, _ = io.CopyN(io.Discard, body, drainLimit+1)
	timer.Stop()
	body.Close()
}

// releasing returns the body with release called when it is closed or has ended. A body that can be written to, that of
// a switch of protocols, stays so.
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
	err := b.ReadCloser.Close()
	b.release()
	return err
}
