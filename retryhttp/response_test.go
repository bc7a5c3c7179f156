package retryhttp_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// timed is a policy whose attempts have contexts of their own.
func timed(n int) retry.Policy { return constant(n, retry.AttemptTimeout(5*time.Second)) }

// bodiless responds with a status and neither a body nor a status text.
func bodiless(code int) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: code}, nil }
}

func TestTheContextLastsAsLongAsTheBody(t *testing.T) {
	for name, finish := range map[string]func(io.ReadCloser){
		"read to its end": func(b io.ReadCloser) { io.Copy(io.Discard, b) },
		"closed":          func(b io.ReadCloser) { b.Close() },
	} {
		bubble(t, name, func(t *testing.T) {
			var ctx context.Context
			tr := retryhttp.NewTransport(newScript(func(r *http.Request) (*http.Response, error) {
				ctx = r.Context()
				return ok(r)
			}), timed(1))
			resp, err := tr.RoundTrip(get(t, t.Context()))
			if err != nil || ctx.Err() != nil {
				t.Fatal("too early", err)
			}
			if _, err := resp.Body.Read(make([]byte, 1)); err != nil || ctx.Err() != nil {
				t.Error("too early", err)
			}
			if finish(resp.Body); ctx.Err() == nil {
				t.Error("not with its body")
			}
			resp.Body.Close()
		})
	}
}

// brittle is a body that cannot be closed well.
type brittle struct{ io.Reader }

func (brittle) Close() error { return errBrittle }

var errBrittle = errors.New("brittle")

func TestTheBodysOwnErrorOfClose(t *testing.T) {
	base := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: brittle{strings.NewReader("x")}}, nil
	}
	resp, err := retryhttp.NewTransport(newScript(base), timed(1)).RoundTrip(get(t, t.Context()))
	must(t, err)
	if err := resp.Body.Close(); err != errBrittle {
		t.Errorf("Close returned %v, want the body's error", err)
	}
}

func TestAResponseThatCameTooLateIsClosed(t *testing.T) {
	for name, sleep := range map[string]time.Duration{"late": 6 * time.Second, "in time": 4 * time.Second} {
		bubble(t, name, func(t *testing.T) {
			var ctx context.Context
			s := newScript(func(r *http.Request) (*http.Response, error) {
				ctx = r.Context()
				time.Sleep(sleep) // not cancelled
				return ok(r)
			})
			resp, err := retryhttp.NewTransport(s, timed(0)).RoundTrip(get(t, t.Context()))
			if name == "in time" {
				expectBody(t, resp, err, "200 fine")
				return
			}
			if resp != nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "attempt 1: no response in time") {
				t.Error(resp, err)
			}
			if !s.bodies[0].closed.Load() || ctx.Err() == nil {
				t.Error("the body is not closed, or the attempt's context has not ended")
			}
		})
	}
}

// A base transport that returns no Body breaks net/http's rule, and is served all the same.
func TestNilBodies(t *testing.T) {
	for name, p := range map[string]retry.Policy{"": constant(1), "timed": timed(1), "refusing": constant(1, retry.If(func(error) bool { return false }))} {
		for _, code := range []int{200, 503} {
			bubble(t, name, func(t *testing.T) {
				for _, header := range []func(*http.Request) (*http.Response, error){bodiless(code), func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: code, Body: http.NoBody}, nil
				}} {
					s := newScript(header)
					var ctx context.Context
					resp, err := retryhttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
						ctx = r.Context()
						return s.RoundTrip(r)
					}), p).RoundTrip(get(t, t.Context()))
					if err != nil || resp.StatusCode != code || resp.Body != nil && resp.Body != http.NoBody {
						t.Error(resp, err)
					}
					if name == "timed" && ctx.Err() == nil {
						t.Error("the attempt's context does not end")
					}
				}
			})
		}
	}
	bubble(t, "of a response that is dropped", func(t *testing.T) {
		_, err := retryhttp.NewTransport(newScript(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Minute)
			return bodiless(200)(r)
		}), timed(0)).RoundTrip(get(t, t.Context()))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type countingBody struct {
	io.Reader
	closed int
}

func (b *countingBody) Close() error { b.closed++; return nil }

func TestADiscardedBodyIsClosedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &countingBody{Reader: strings.NewReader("busy")}
		s := newScript(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503, Body: body}, nil }, ok)
		send(t, s, constant(1), get(t, t.Context()))
		if time.Sleep(time.Minute); body.closed != 1 {
			t.Errorf("closed %d times", body.closed)
		}
	})
}

func TestStatusErrorOfASparseResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			code int
			want string
		}{{503, "retryhttp: GET http://user:xxxxx@example.test/path: 503 Service Unavailable"}, {599, "retryhttp: GET http://user:xxxxx@example.test/path: 599"}} {
			var last error
			req := get(t, t.Context())
			req.Method = ""
			p := constant(0, retry.OnGiveUp(func(_ context.Context, e *retry.Error) { last = e.Last }))
			_, err := retryhttp.NewTransport(newScript(bodiless(c.code)), p, retryhttp.Statuses(c.code)).RoundTrip(req)
			if err != nil || last == nil || last.Error() != c.want {
				t.Errorf("%v, %v, want %s", err, last, c.want)
			}
			if e, ok := errors.AsType[*retryhttp.StatusError](last); !ok || e.Method != "GET" || e.Body != nil {
				t.Errorf("%+v", e)
			}
		}
		var last error
		req := get(t, t.Context())
		req.URL = nil
		p := constant(0, retry.OnGiveUp(func(_ context.Context, e *retry.Error) { last = e.Last }))
		if _, err := retryhttp.NewTransport(newScript(bodiless(503)), p).RoundTrip(req); err != nil || last.Error() != "retryhttp: GET : 503 Service Unavailable" {
			t.Error(err, last)
		}
	})
}

func TestStatusErrorsText(t *testing.T) {
	for body, want := range map[string]string{
		"":                             "",
		" \n first \r\nsecond":         ": first",
		strings.Repeat("x", 100):       ": " + strings.Repeat("x", 100),
		strings.Repeat("x", 101):       ": " + strings.Repeat("x", 100) + "…",
		strings.Repeat("x", 99) + "ö!": ": " + strings.Repeat("x", 99) + "?…",
	} {
		e := &retryhttp.StatusError{Method: "PUT", URL: "http://h/", Status: "500 Oh", Body: []byte(body)}
		if got := e.Error(); got != "retryhttp: PUT http://h/: 500 Oh"+want {
			t.Errorf("%q", got)
		}
	}
}

// timers is a clock that knows how many of its timers are neither stopped nor over.
type timers struct {
	stream.Clock
	pending *atomic.Int64
}

func (c timers) AfterFunc(d time.Duration, f func()) stream.Stopper {
	c.pending.Add(1)
	done := sync.OnceFunc(func() { c.pending.Add(-1) })
	return stopper{c.Clock.AfterFunc(d, func() { done(); f() }), done}
}

type stopper struct {
	stream.Stopper
	done func()
}

func (s stopper) Stop() bool { s.done(); return s.Stopper.Stop() }

func TestNoTimerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := timers{stream.ClockFrom(t.Context()), new(atomic.Int64)}
		tr := retryhttp.NewTransport(newScript(unavailable, failure(errCut), ok), timed(3))
		resp, err := tr.RoundTrip(get(t, stream.WithClock(t.Context(), c)))
		if got := read(t, resp, err); got != "200 fine" || c.pending.Load() != 0 {
			t.Errorf("%s, and %d timers are left", got, c.pending.Load())
		}
	})
}

func TestABodyIsNoWriterByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resp, err := retryhttp.NewTransport(newScript(ok), timed(1)).RoundTrip(get(t, t.Context()))
		if _, ok := resp.Body.(io.Writer); ok {
			t.Error("a body that cannot be written to is an io.Writer")
		}
		read(t, resp, err)
	})
}

// The connection of a switch of protocols is nobody's to look at.
func TestASwitchOfProtocolsIsNotPeekedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := net.Pipe()
		defer theirs.Close()
		peek := retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
			if got := o.Peek(); got != nil {
				t.Error(got)
			}
			return retryhttp.Unclassified
		})
		resp, err := retryhttp.NewTransport(newScript(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 101, Body: mine}, nil
		}), constant(1), peek).RoundTrip(get(t, t.Context()))
		if err != nil || resp.Body != io.ReadCloser(mine) {
			t.Error(resp, err)
		}
		resp.Body.Close()
	})
}

type idle struct {
	http.RoundTripper
	closed int
}

func (c *idle) CloseIdleConnections() { c.closed++ }

func TestCloseIdleConnections(t *testing.T) {
	base := &idle{}
	(&http.Client{Transport: retryhttp.NewTransport(base, constant(1))}).CloseIdleConnections()
	if base.closed != 1 {
		t.Error(base.closed)
	}
	retryhttp.NewTransport(newScript(ok), constant(1)).CloseIdleConnections() // has none
}

func TestTheLargestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"9223372035":           9223372035 * time.Second,
		"9223372036":           9223372036 * time.Second,
		"9223372037":           math.MaxInt64,
		"99999999999999999999": math.MaxInt64,
	} {
		e := retryhttp.NewStatusError(&http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {value}}})
		if e.RetryAfter() != want {
			t.Errorf("%s: %v, want %v", value, e.RetryAfter(), want)
		}
	}
}

func TestAnAttemptsContextEndsBeforeTheNext(t *testing.T) {
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){"a response": unavailable, "a response without a body": bodiless(503), "an error": failure(errCut)} {
		bubble(t, name, func(t *testing.T) {
			var last context.Context
			s := newScript(func(r *http.Request) (*http.Response, error) {
				if last != nil && last.Err() == nil {
					t.Error("the context of the last attempt has not ended")
				}
				last = r.Context()
				return answer(r)
			})
			resp, err := retryhttp.NewTransport(s, timed(2)).RoundTrip(get(t, t.Context()))
			if err == nil && resp.Body != nil {
				resp.Body.Close()
			}
			if last.Err() == nil {
				t.Error("the context of the last attempt outlives the request")
			}
			s.expect(t, "0s 1s 2s")
		})
	}
}
