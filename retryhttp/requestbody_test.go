package retryhttp_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/retryhttp"
)

func TestBufferBody(t *testing.T) {
	for _, c := range []struct {
		body   string
		length int64
		n      int
		want   string
	}{
		{"abc", 0, 3, "0s:abc 1s:abc 2s:abc"},
		{"abc", -1, 3, "0s:abc 1s:abc 2s:abc"},
		{"abc", 3, 3, "0s:abc 1s:abc 2s:abc"},
		{"abc", 3, math.MaxInt, "0s:abc 1s:abc 2s:abc"},
		{"", -1, 3, "0s: 1s: 2s:"},
		{"abcd", -1, 3, "0s:abcd"},
		{"abcd", 4, 3, "0s:abcd"},
		{"abc", 3, 0, "0s:abc"},
		{"", -1, 0, "0s:"},
	} {
		bubble(t, c.body, func(t *testing.T) {
			body := &testBody{Reader: strings.NewReader(c.body)}
			req := request(t, t.Context(), "POST", body)
			req.ContentLength = c.length
			s := newScript(unavailable)
			resp, err := retryhttp.NewTransport(s, constant(2), retryhttp.BufferBody(c.n)).RoundTrip(req)
			if err != nil || resp.Request != req {
				t.Error("the response's request is another")
			}
			if got := read(t, resp, err); got != "503 busy" || !body.closed.Load() {
				t.Error(got, "closed:", body.closed.Load())
			}
			if s.expect(t, c.want); req.GetBody != nil || req.Body != body {
				t.Error("the request has been changed")
			}
		})
	}
	bubble(t, "a body that is known to be too long is not read ahead", func(t *testing.T) {
		body := &testBody{Reader: strings.NewReader("abcd")}
		req := request(t, t.Context(), "POST", body)
		req.ContentLength = 4
		resp, err := retryhttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Body != body {
				t.Error("another body is sent")
			}
			return ok(r)
		}), constant(2), retryhttp.BufferBody(3)).RoundTrip(req)
		read(t, resp, err)
	})
	bubble(t, "one with GetBody is not read ahead", func(t *testing.T) {
		req := request(t, t.Context(), "POST", strings.NewReader("x"))
		resp, err := retryhttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			if r != req {
				t.Error("another request is sent")
			}
			return ok(r)
		}), constant(2), retryhttp.BufferBody(3)).RoundTrip(req)
		read(t, resp, err)
	})
	bubble(t, "a body that fails", func(t *testing.T) {
		body := &testBody{Reader: io.MultiReader(strings.NewReader("ab"), errReader{errCause})}
		_, err := retryhttp.NewTransport(newScript(ok), constant(2), retryhttp.BufferBody(3)).RoundTrip(request(t, t.Context(), "POST", body))
		if err != errCause {
			t.Error(err)
		}
	})
	bubble(t, "a body that does not come, under a context that ends", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, w := io.Pipe()
		_, err := retryhttp.NewTransport(newScript(ok), constant(2), retryhttp.BufferBody(3)).RoundTrip(request(t, ctx, "POST", r))
		if !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("the body is not closed")
		}
	})
	bubble(t, "the context's end does not close what is sent", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		body := &countingBody{Reader: strings.NewReader("abcd")}
		resp, err := retryhttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			cancel()
			synctest.Wait()
			if body.closed != 0 {
				t.Error("closed by another than the base transport")
			}
			r.Body.Close()
			return ok(r)
		}), constant(2), retryhttp.BufferBody(3)).RoundTrip(request(t, ctx, "POST", body))
		if read(t, resp, err); body.closed != 1 {
			t.Error("closed", body.closed, "times")
		}
	})
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestIdempotencyKeys(t *testing.T) {
	send := func(t *testing.T, req *http.Request, opts ...retryhttp.Option) (keys []string) {
		header := req.Header.Clone()
		s := newScript(func(r *http.Request) (*http.Response, error) {
			keys = append(keys, r.Header.Get("Idempotency-Key"))
			if r.Header.Get("X-Mine") != header.Get("X-Mine") {
				t.Errorf("a header of the caller's is lost: %v", r.Header)
			}
			return status(500, "")(r)
		})
		resp, err := retryhttp.NewTransport(s, constant(2), append(opts, retryhttp.IdempotencyKeys())...).RoundTrip(req)
		if err != nil || resp.Request != req {
			t.Error("the response's request is another")
		}
		if read(t, resp, err); len(header) != len(req.Header) {
			t.Errorf("the request's header was changed: %v", req.Header)
		}
		return keys
	}
	for _, method := range []string{"POST", "PATCH"} {
		bubble(t, method, func(t *testing.T) {
			req := request(t, t.Context(), method, strings.NewReader("x"))
			req.Header.Set("X-Mine", "kept")
			keys := send(t, req)
			if len(keys) != 3 || !uuid.MatchString(keys[0]) || keys[1] != keys[0] || keys[2] != keys[0] {
				t.Errorf("%q", keys)
			}
			if other := send(t, request(t, t.Context(), method, nil)); len(other) != 3 || other[0] == keys[0] {
				t.Errorf("%q and %q", keys, other)
			}
		})
	}
	bubble(t, "without a header", func(t *testing.T) {
		req := request(t, t.Context(), "POST", nil)
		req.Header = nil
		if keys := send(t, req); len(keys) != 3 || keys[0] == "" {
			t.Errorf("%q", keys)
		}
	})
	bubble(t, "an own rule", func(t *testing.T) {
		none := retryhttp.Idempotent(func(*http.Request) bool { return false })
		if keys := send(t, request(t, t.Context(), "POST", nil), none); len(keys) != 3 {
			t.Errorf("%q", keys)
		}
	})
	bubble(t, "a buffered body", func(t *testing.T) {
		if keys := send(t, request(t, t.Context(), "POST", &testBody{Reader: strings.NewReader("x")}), retryhttp.BufferBody(1)); len(keys) != 3 || keys[0] == "" {
			t.Errorf("%q", keys)
		}
	})
	for name, req := range map[string]func(t *testing.T) *http.Request{
		"PUT": func(t *testing.T) *http.Request { return request(t, t.Context(), "PUT", nil) },
		"a body of one use": func(t *testing.T) *http.Request {
			return request(t, t.Context(), "POST", &testBody{Reader: strings.NewReader("x")})
		},
		"net/http's other key": func(t *testing.T) *http.Request {
			r := request(t, t.Context(), "POST", nil)
			r.Header.Set("X-Idempotency-Key", "mine")
			return r
		},
	} {
		bubble(t, name, func(t *testing.T) {
			if keys := send(t, req(t)); keys[0] != "" {
				t.Errorf("%q", keys)
			}
		})
	}
	bubble(t, "a key of the caller's", func(t *testing.T) {
		req := request(t, t.Context(), "POST", nil)
		req.Header.Set("Idempotency-Key", "mine")
		if keys := send(t, req); strings.Join(keys, " ") != "mine mine mine" {
			t.Errorf("%q", keys)
		}
	})
}

// The error of a request whose body can be sent only once says what would help.
func TestABodyOfOneUseSaysWhatHelps(t *testing.T) {
	for _, c := range []struct {
		opts []retryhttp.Option
		want string
	}{
		{nil, "use BufferBody, or set the request's GetBody"},
		{[]retryhttp.Option{retryhttp.BufferBody(3)}, "BufferBody could not keep it within 3 bytes"},
	} {
		tr := retryhttp.NewTransport(newScript(failure(errCut)), constant(3), c.opts...)
		_, err := tr.RoundTrip(request(t, t.Context(), "PUT", io.NopCloser(strings.NewReader("once"))))
		want := "connection reset by peer (not retried: the body can be sent only once: " + c.want + ")"
		if !errors.Is(err, errCut) || !errors.Is(err, retryhttp.ErrBodyOnce) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	client := &http.Client{Transport: retryhttp.NewTransport(newScript(failure(&url.Error{Op: "Put", Err: context.DeadlineExceeded})), constant(3))}
	_, err := client.Do(request(t, t.Context(), "PUT", io.NopCloser(strings.NewReader("once"))))
	if e, ok := err.(*url.Error); !ok || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not a timeout", err)
	}
	_, err = retryhttp.NewTransport(newScript(failure(errCut)), constant(3)).RoundTrip(request(t, t.Context(), "POST", strings.NewReader("order")))
	if err != errCut {
		t.Errorf("a POST's error: %v", err)
	}
}
