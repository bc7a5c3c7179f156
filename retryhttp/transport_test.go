package retryhttp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

var quietLog = log.New(io.Discard, "", 0)

func TestStatusesThatAreRetried(t *testing.T) {
	for code := 200; code < 600; code++ {
		want := 1
		switch code {
		case 408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529:
			want = 2
		}
		synctest.Test(t, func(t *testing.T) {
			s := newScript(status(code, "body"), ok)
			if got := send(t, s, constant(3), get(t, t.Context())); len(s.calls) != want || want == 2 && got != "200 fine" {
				t.Errorf("status %d: %d calls, %s", code, len(s.calls), got)
			}
		})
	}
	bubble(t, "of the caller's choice", func(t *testing.T) {
		s := newScript(status(404, ""), status(503, "final"))
		codes := []int{100, 404, 999}
		choice := retryhttp.Statuses(codes...)
		codes[1] = 503
		expectSent(t, "503 final", s, constant(3), get(t, t.Context()), choice)
		s.expect(t, "0s 1s")
	})
}

func TestRequestsThatAreRetried(t *testing.T) {
	type req = *http.Request
	key := func(r req) { r.Header.Set("Idempotency-Key", "1") }
	memory := func() io.Reader { return strings.NewReader("in memory") }
	once := func() io.Reader { return io.NopCloser(strings.NewReader("once")) }
	none := func() io.Reader { return nil }
	const never, sometimes, always = 0, 1, 2
	for _, c := range []struct {
		name, method string
		body         func() io.Reader
		prepare      func(req)
		want         int
	}{
		{"GET", "GET", none, nil, always},
		{"no method", "", none, nil, always},
		{"HEAD", "HEAD", none, nil, always},
		{"OPTIONS", "OPTIONS", none, nil, always},
		{"TRACE", "TRACE", none, nil, always},
		{"DELETE", "DELETE", none, nil, always},
		{"PUT", "PUT", memory, nil, always},
		{"PUT, a body of one use", "PUT", once, nil, never},
		{"PUT, a body of one use with a key", "PUT", once, key, never},
		{"PUT, NoBody", "PUT", func() io.Reader { return http.NoBody }, nil, always},
		{"POST", "POST", memory, nil, sometimes},
		{"PATCH", "PATCH", memory, nil, sometimes},
		{"POST without a body", "POST", none, nil, sometimes},
		{"POST, NoBody", "POST", func() io.Reader { return http.NoBody }, nil, sometimes},
		{"POST, an empty body in memory", "POST", func() io.Reader { return strings.NewReader("") }, nil, sometimes},
		{"POST, NoBody without GetBody", "POST", func() io.Reader { return http.NoBody }, func(r req) { r.GetBody = nil }, sometimes},
		{"POST, a body of unknown length that is empty", "POST", func() io.Reader { return io.NopCloser(strings.NewReader("")) }, nil, never},
		{"POST, a body of one use", "POST", once, nil, never},
		{"POST with a key", "POST", memory, key, always},
		{"POST with a key, no body", "POST", none, key, always},
		{"POST with net/http's other key", "POST", memory, func(r req) { r.Header.Set("X-Idempotency-Key", "1") }, always},
		{"POST with a key that is not sent", "POST", memory, func(r req) { r.Header["Idempotency-Key"] = nil }, always},
		{"POST, a body of one use with GetBody", "POST", once, func(r req) {
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("again")), nil }
		}, sometimes},
	} {
		for _, f := range []struct {
			name   string
			answer func(req) (*http.Response, error)
			least  int // who is retried after it
		}{
			{"refused", failure(refused), sometimes},
			{"proxy refused", failure(&net.OpError{Op: "proxyconnect", Err: errCut}), sometimes},
			{"408", status(408, ""), sometimes},
			{"425", status(425, ""), sometimes},
			{"429", status(429, ""), sometimes},
			{"503", status(503, ""), sometimes},
			{"500", status(500, ""), always},
			{"502", status(502, ""), always},
			{"504", status(504, ""), always},
			{"522", status(522, ""), always},
			{"529", status(529, ""), always},
			{"cut", failure(errCut), always},
			{"cut while reading", failure(&net.OpError{Op: "read", Err: errCut}), always},
		} {
			bubble(t, c.name+"/"+f.name, func(t *testing.T) {
				r := request(t, t.Context(), c.method, c.body())
				if c.prepare != nil {
					c.prepare(r)
				}
				s := newScript(f.answer, ok)
				resp, err := retryhttp.NewTransport(s, constant(1)).RoundTrip(r)
				read(t, resp, err)
				want := 1
				if c.want >= f.least {
					want = 2
				}
				if len(s.calls) != want {
					t.Errorf("%d calls, want %d", len(s.calls), want)
				}
				if want == 1 {
					if e, ok := errors.AsType[*retry.Error](err); ok {
						t.Errorf("the error of what is not retried is wrapped: %v", e)
					}
				}
			})
		}
	}
	bubble(t, "of the caller's choice", func(t *testing.T) {
		mine := retryhttp.Idempotent(func(r *http.Request) bool { return r.Method == "POST" })
		s := newScript(status(500, ""), ok)
		expectSent(t, "200 fine", s, constant(1), request(t, t.Context(), "POST", memory()), mine)
		s.expect(t, "0s:in memory 1s:in memory")
		s = newScript(status(500, ""), ok)
		expectSent(t, "500 ", s, constant(1), request(t, t.Context(), "GET", nil), mine)
	})
}

func TestRetryAfter(t *testing.T) {
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		name   string
		header func() []string
		want   string
	}{
		{"seconds", func() []string { return []string{"Retry-After: 7"} }, "0s 7s"},
		{"spaces", func() []string { return []string{"Retry-After:  7 "} }, "0s 7s"},
		{"a date", func() []string { return []string{"Retry-After: " + at(30*time.Second)} }, "0s 30s"},
		{"a date by the server's clock", func() []string {
			return []string{"Retry-After: " + at(10*time.Hour+5*time.Second), "Date: " + at(10*time.Hour)}
		}, "0s 5s"},
		{"a date of the old kind", func() []string {
			return []string{"Retry-After: " + time.Now().Add(3*time.Second).UTC().Format(time.ANSIC)}
		}, "0s 3s"},
		{"the largest of several", func() []string { return []string{"Retry-After: 2", "Retry-After: 9", "Retry-After: 4"} }, "0s 9s"},
		{"0", func() []string { return []string{"Retry-After: 0"} }, "0s 1s"},
		{"negative", func() []string { return []string{"Retry-After: -5"} }, "0s 1s"},
		{"malformed", func() []string { return []string{"Retry-After: soon"} }, "0s 1s"},
		{"a fraction", func() []string { return []string{"Retry-After: 7.5"} }, "0s 1s"},
		{"empty", func() []string { return []string{"Retry-After: "} }, "0s 1s"},
		{"a past date", func() []string { return []string{"Retry-After: " + at(-time.Hour)} }, "0s 1s"},
		{"longer than the backoff at a limit", func() []string { return []string{"Retry-After: 3600"} }, "0s 1h0m0s"},
	} {
		for _, code := range []int{429, 503, 500} {
			bubble(t, c.name, func(t *testing.T) {
				s := newScript(status(code, "", c.header()...), ok)
				expectSent(t, "200 fine", s, constant(3), get(t, t.Context()))
				s.expect(t, c.want)
			})
		}
	}
	for _, huge := range []string{"61", "9223372036", "9223372037", "99999999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		bubble(t, "huge, past MaxRetryAfter: "+huge, func(t *testing.T) {
			s := newScript(status(503, "later", "Retry-After: "+huge))
			expectSent(t, "503 later", s, retry.New(backoff.Constant(time.Second), retry.MaxRetryAfter(time.Minute)), get(t, t.Context()))
			s.expect(t, "0s")
		})
		bubble(t, "huge, past the deadline: "+huge, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := newScript(status(503, "later", "Retry-After: "+huge))
			expectSent(t, "503 later", s, constant(5), get(t, ctx))
			s.expect(t, "0s")
		})
		bubble(t, "huge, no bound: "+huge, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(59*time.Second, func() { cancel(errCause) })
			s := newScript(status(503, "later", "Retry-After: "+huge))
			resp, err := retryhttp.NewTransport(s, constant(5)).RoundTrip(get(t, ctx))
			if !errors.Is(err, errCause) || resp != nil {
				t.Errorf("%v, %v", resp, err)
			}
			s.expect(t, "0s")
		})
	}
}

var errCause = errors.New("the cause")

func TestGivingUp(t *testing.T) {
	bubble(t, "the last response is intact", func(t *testing.T) {
		body := strings.Repeat("x", 5000)
		s := newScript(status(503, "first"), status(502, body, "X-Test: kept"))
		req := get(t, t.Context())
		resp, err := retryhttp.NewTransport(s, constant(2)).RoundTrip(req)
		if err != nil || resp.Header.Get("X-Test") != "kept" || resp.Request != req || resp.Status != "502 Bad Gateway" {
			t.Errorf("%+v, %v", resp, err)
		}
		if s.bodies[2].closed.Load() {
			t.Error("the body is closed")
		}
		expectBody(t, resp, err, "502 "+body)
		s.expect(t, "0s 1s 2s")
		for i, b := range s.bodies {
			if !b.ended.Load() || !b.closed.Load() {
				t.Errorf("response %d: read to its end %v, closed %v", i, b.ended.Load(), b.closed.Load())
			}
		}
	})
	bubble(t, "a connection error has the attempts", func(t *testing.T) {
		s := newScript(unavailable, failure(errCut))
		_, err := retryhttp.NewTransport(s, constant(2)).RoundTrip(get(t, t.Context()))
		e, ok := err.(*retry.Error)
		if !ok || e.Attempts != 3 || e.Last != errCut || !errors.Is(e.Cause, retry.ErrLimit) || e.Elapsed != 2*time.Second {
			t.Errorf("%#v", err)
		}
	})
	bubble(t, "budget", func(t *testing.T) {
		b := retry.NewBudget(1, 1, 1)
		s := newScript(unavailable)
		expectSent(t, "503 busy", s, constant(9, retry.WithBudget(b)), get(t, t.Context()))
		s.expect(t, "0s 1s")
		if send(t, newScript(status(404, "")), constant(9, retry.WithBudget(b)), get(t, t.Context())); b.Tokens() != 1 {
			t.Error("a response that is no failure gives no refund", b)
		}
	})
	bubble(t, "what is not retried gives no refund", func(t *testing.T) {
		b := retry.NewBudget(1, 1, 1)
		tr := retryhttp.NewTransport(newScript(unavailable, status(500, "")), constant(1, retry.WithBudget(b)))
		resp, err := tr.RoundTrip(request(t, t.Context(), "POST", strings.NewReader("x")))
		if got := read(t, resp, err); got != "500 " || b.Tokens() != 0 {
			t.Error(got, b)
		}
	})
	bubble(t, "the policy's predicate", func(t *testing.T) {
		p := constant(9, retry.If(func(err error) bool {
			e, ok := errors.AsType[*retryhttp.StatusError](err)
			return ok && e.StatusCode == 503
		}))
		s := newScript(unavailable, status(502, "no"))
		expectSent(t, "502 no", s, p, get(t, t.Context()))
		_, err := retryhttp.NewTransport(newScript(failure(errCut)), p).RoundTrip(get(t, t.Context()))
		if err != errCut {
			t.Errorf("%#v", err)
		}
	})
	bubble(t, "no limit, until the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2500*time.Millisecond, func() { cancel(errCause) })
		s := newScript(unavailable)
		_, err := retryhttp.NewTransport(s, retry.New(backoff.Constant(time.Second))).RoundTrip(get(t, ctx))
		s.expect(t, "0s 1s 2s")
		e, ok := err.(*retry.Error)
		if !ok || e.Attempts != 3 || !errors.Is(err, errCause) {
			t.Errorf("%#v", err)
		}
		if last, ok := errors.AsType[*retryhttp.StatusError](err); !ok || last.StatusCode != 503 || string(last.Body) != "busy" {
			t.Errorf("%v", last)
		}
	})
	bubble(t, "a wait that would pass the deadline is not begun", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		s := newScript(unavailable)
		start := time.Now()
		if got := send(t, s, constant(99), get(t, ctx)); got != "503 busy" || time.Since(start) != 2*time.Second {
			t.Error(got, time.Since(start))
		}
	})
	bubble(t, "the context has ended before", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		body := &testBody{Reader: strings.NewReader("x")}
		req := request(t, ctx, "PUT", body)
		if _, err := retryhttp.NewTransport(newScript(ok), constant(1)).RoundTrip(req); !errors.Is(err, errCause) {
			t.Error(err)
		}
		if !body.closed.Load() {
			t.Error("the request's body is not closed")
		}
		if _, err := retryhttp.NewTransport(newScript(ok), constant(1)).RoundTrip(get(t, ctx)); !errors.Is(err, errCause) {
			t.Error(err)
		}
	})
	bubble(t, "a body that was sent is the base transport's to close", func(t *testing.T) {
		body := &countingBody{Reader: strings.NewReader("x")}
		req := request(t, t.Context(), "PUT", body)
		req.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
		if _, err := retryhttp.NewTransport(newScript(failure(errCut)), constant(1)).RoundTrip(req); body.closed != 1 {
			t.Error(err, "closed", body.closed, "times")
		}
	})
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"an error":               failure(errCut),
		"the context's error":    failure(errCause),
		"a failing response":     unavailable,
		"a failing one, by POST": status(500, ""),
	} {
		bubble(t, "the context ends during the first attempt: "+name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := newScript(func(r *http.Request) (*http.Response, error) {
				cancel(errCause)
				return answer(r)
			})
			method := "GET"
			if name == "a failing one, by POST" {
				method = "POST"
			}
			resp, err := retryhttp.NewTransport(s, constant(1)).RoundTrip(request(t, ctx, method, nil))
			if method == "POST" {
				if got := read(t, resp, err); got != "500 " {
					t.Error(got) // it is not the transport's to judge
				}
			} else if !errors.Is(err, errCause) || strings.Contains(name, "an error") && !errors.Is(err, errCut) {
				t.Error(err)
			}
			for _, b := range s.bodies {
				if !b.closed.Load() {
					t.Error("the body is not closed")
				}
			}
		})
	}
	bubble(t, "GetBody fails", func(t *testing.T) {
		req := request(t, t.Context(), "PUT", strings.NewReader("x"))
		gone := errors.New("gone")
		req.GetBody = func() (io.ReadCloser, error) { return nil, gone }
		_, err := retryhttp.NewTransport(newScript(failure(errCut)), constant(5)).RoundTrip(req)
		if !errors.Is(err, gone) || !errors.Is(err, errCut) {
			t.Error(err)
		}
	})
	bubble(t, "neither a response nor an error", func(t *testing.T) {
		_, err := retryhttp.NewTransport(newScript(failure(nil)), constant(1)).RoundTrip(get(t, t.Context()))
		if err == nil || !strings.Contains(err.Error(), "neither a response nor an error") {
			t.Error(err)
		}
	})
}

// fading is a context that ends after a given number of calls of Err.
type fading struct {
	context.Context
	left int
}

func (c *fading) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Wherever the context ends, bodies are closed or handed over, and the error says what has happened.
func TestTheContextEndsAtAnyMoment(t *testing.T) {
	for name, p := range map[string]retry.Policy{"": constant(1), ", attempts timed": constant(1, retry.ResetAfter(time.Hour))} {
		for left := range 8 {
			bubble(t, fmt.Sprint(left, name), func(t *testing.T) {
				sent := &testBody{Reader: strings.NewReader("x")}
				req := request(t, &fading{t.Context(), left}, "PUT", sent)
				req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
				s := newScript(unavailable)
				resp, err := retryhttp.NewTransport(s, p).RoundTrip(req)
				if !sent.closed.Load() {
					t.Error("the request's body is not closed")
				}
				if resp != nil {
					resp.Body.Close()
				}
				for i, b := range s.bodies {
					if !b.closed.Load() {
						t.Errorf("the body of response %d is not closed", i)
					}
				}
				if err == nil {
					return
				}
				status, known := errors.AsType[*retryhttp.StatusError](err)
				if !errors.Is(err, context.Canceled) || known != (len(s.calls) > 0) || known && status.StatusCode != 503 {
					t.Errorf("after %d calls: %v", len(s.calls), err)
				}
			})
		}
	}
}

// A panic of anybody's code passes through, and leaves no connection behind.
func TestPanicsLeaveNoBodyOpen(t *testing.T) {
	for name, c := range map[string]struct {
		policy retry.Policy
		opts   []retryhttp.Option
	}{
		"OnRetry":    {constant(1, retry.OnRetry(func(_ context.Context, _ retry.Event) { panic(errCause) })), nil},
		"OnGiveUp":   {constant(0, retry.OnGiveUp(func(_ context.Context, _ *retry.Error) { panic(errCause) })), nil},
		"If":         {constant(1, retry.If(func(error) bool { panic(errCause) })), nil},
		"Classify":   {constant(1), []retryhttp.Option{retryhttp.Classify(func(*retryhttp.Outcome) retryhttp.Class { panic(errCause) })}},
		"Idempotent": {constant(1), []retryhttp.Option{retryhttp.Idempotent(func(*http.Request) bool { panic(errCause) })}},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newScript(unavailable)
			p := c.policy.With(retry.AttemptTimeout(time.Minute))
			got := check.Recovered(func() { _, _ = retryhttp.NewTransport(s, p, c.opts...).RoundTrip(get(t, t.Context())) })
			if got != errCause || !s.bodies[0].closed.Load() {
				t.Errorf("panicked with %v; the body is closed: %t", got, s.bodies[0].closed.Load())
			}
		})
	}
}

func TestErrorsThatAreHopeless(t *testing.T) {
	for name, spoil := range map[string]func(*http.Request){
		"method": func(r *http.Request) { r.Method = "G E T"; r.Header.Set("Idempotency-Key", "x") },
		"header": func(r *http.Request) { r.Header["A b"] = []string{"x"} },
		"value":  func(r *http.Request) { r.Header["A"] = []string{"x\n"} },
		"url":    func(r *http.Request) { r.URL = nil },
		"scheme": func(r *http.Request) { r.URL.Scheme = "gopher" },
		"host":   func(r *http.Request) { r.URL.Host = "" },
	} {
		t.Run(name, func(t *testing.T) {
			req := get(t, t.Context())
			spoil(req)
			_, err := retryhttp.NewTransport(nil, quick(3, retry.OnRetry(func(_ context.Context, e retry.Event) { t.Errorf("retried: %v", e.Err) }))).RoundTrip(req)
			if err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestClassify(t *testing.T) {
	full := func(o *retryhttp.Outcome) retryhttp.Class {
		if strings.Contains(string(o.Peek()), "queue capacity exceeded") {
			return retryhttp.Retryable
		}
		return retryhttp.Unclassified
	}
	bubble(t, "by the body", func(t *testing.T) {
		var seen []string
		p := constant(3, retry.OnRetry(func(_ context.Context, e retry.Event) { seen = append(seen, e.Err.Error()) }))
		s := newScript(status(200, `{"error":"queue capacity exceeded"}`), status(400, "queue capacity exceeded\nsecond line"), ok)
		expectSent(t, "200 fine", s, p, get(t, t.Context()), retryhttp.Classify(full))
		s.expect(t, "0s 1s 2s")
		want := []string{
			`retryhttp: GET http://user:xxxxx@example.test/path: 200 OK: {"error":"queue capacity exceeded"}`,
			`retryhttp: GET http://user:xxxxx@example.test/path: 400 Bad Request: queue capacity exceeded`,
		}
		if strings.Join(seen, "\n") != strings.Join(want, "\n") {
			t.Errorf("got  %q\nwant %q", seen, want)
		}
	})
	bubble(t, "the peek is bounded, and the body whole", func(t *testing.T) {
		body := strings.Repeat("y", 100)
		for _, limit := range []int{0, 1, 99, 100, 101, math.MaxInt} {
			var seen string
			c := retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
				seen = string(o.Peek())
				if again := string(o.Peek()); again != seen {
					t.Errorf("a second peek is %q", again)
				}
				return retryhttp.Unclassified
			})
			if got := send(t, newScript(status(200, body)), constant(0), get(t, t.Context()), c, retryhttp.PeekLimit(limit)); got != "200 "+body || seen != body[:min(limit, 100)] {
				t.Errorf("limit %d: peek %q, %s", limit, seen, got)
			}
		}
	})
	bubble(t, "a body that fails within the peek", func(t *testing.T) {
		broken := func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Body: io.NopCloser(io.MultiReader(strings.NewReader("half"), errReader{errCut}))}, nil
		}
		expectSent(t, "503 half and then "+errCut.Error(), newScript(broken), constant(0), get(t, t.Context()))
	})
	bubble(t, "an error that is hopeless, otherwise", func(t *testing.T) {
		c := retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
			if o.Err != nil {
				return retryhttp.Retryable
			}
			return retryhttp.Unclassified
		})
		s := newScript(failure(&tls.CertificateVerificationError{Err: errCut}), ok)
		expectSent(t, "200 fine", s, constant(3), get(t, t.Context()), c)
		s.expect(t, "0s 1s")
	})
	bubble(t, "final", func(t *testing.T) {
		c := retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class { return retryhttp.NotRetryable })
		expectSent(t, "503 busy", newScript(unavailable), constant(3), get(t, t.Context()), c)
		if _, err := retryhttp.NewTransport(newScript(failure(errCut)), constant(3), c).RoundTrip(get(t, t.Context())); err != errCut {
			t.Error(err)
		}
	})
	bubble(t, "retry goes before the method, not before the body", func(t *testing.T) {
		c := retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
			if o.Err != nil {
				return retryhttp.Retryable
			}
			return retryhttp.Unclassified
		})
		s := newScript(failure(errCut), ok)
		send(t, s, constant(3), request(t, t.Context(), "POST", strings.NewReader("x")), c)
		s.expect(t, "0s:x 1s:x")
		s = newScript(failure(errCut), ok)
		_, err := retryhttp.NewTransport(s, constant(3), c).RoundTrip(request(t, t.Context(), "POST", io.NopCloser(strings.NewReader("x"))))
		if s.expect(t, "0s:x"); !errors.Is(err, errCut) || !strings.Contains(err.Error(), "use BufferBody") {
			t.Error(err)
		}
	})
	bubble(t, "what it sees", func(t *testing.T) {
		n := 0
		req := get(t, t.Context())
		c := retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
			n++
			if o.Attempt != n || o.Request != req || (o.Response == nil) != (n == 1) || (o.Err != nil) != (n == 1) || n == 1 && o.Peek() != nil {
				t.Errorf("outcome %d: %+v", n, o)
			}
			return retryhttp.Unclassified
		})
		if send(t, newScript(failure(errCut), unavailable, ok), constant(3), req, c); n != 3 {
			t.Errorf("%d outcomes, want those of all three attempts", n)
		}
	})
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestRetriesBearTheirNumber(t *testing.T) {
	for name, p := range map[string]retry.Policy{"": constant(2), "timed": timed(2)} {
		bubble(t, name, func(t *testing.T) {
			var headers []string
			var counts []int
			note := func(r *http.Request) (*http.Response, error) {
				headers = append(headers, r.Header.Get("X-Retry-Attempt"))
				counts = append(counts, stream.AttemptFrom(r.Context()))
				return unavailable(r)
			}
			req := get(t, t.Context())
			send(t, newScript(note), p, req, retryhttp.AttemptHeader())
			if strings.Join(headers, ",") != ",1,2" || fmt.Sprint(counts) != "[1 2 3]" {
				t.Errorf("%q %v", headers, counts)
			}
			if len(req.Header) != 0 {
				t.Errorf("the request was changed: %v", req.Header)
			}
		})
	}
}

func TestAttemptTimeout(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	bubble(t, "is retried", func(t *testing.T) {
		s := newScript(hang, hang, ok)
		expectSent(t, "200 fine", s, constant(3, retry.AttemptTimeout(5*time.Second)), get(t, t.Context()))
		s.expect(t, "0s 6s 12s")
	})
	bubble(t, "is a timeout to net/http's users", func(t *testing.T) {
		client := http.Client{Transport: retryhttp.NewTransport(newScript(hang), constant(1, retry.AttemptTimeout(5*time.Second)))}
		_, err := client.Do(get(t, t.Context()))
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, retry.ErrExhausted) {
			t.Error(err)
		}
	})
	bubble(t, "is a timeout to them when it is not retried, too", func(t *testing.T) {
		client := http.Client{Transport: retryhttp.NewTransport(newScript(hang), constant(1, retry.AttemptTimeout(5*time.Second)))}
		_, err := client.Do(request(t, t.Context(), "POST", strings.NewReader("x")))
		if e, ok := errors.AsType[*url.Error](err); !ok || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	bubble(t, "is not the caller's end", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := retryhttp.NewTransport(newScript(hang), constant(3, retry.AttemptTimeout(5*time.Second))).RoundTrip(get(t, ctx))
		if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	bubble(t, "while the body is looked at", func(t *testing.T) {
		s := newScript(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Body: io.NopCloser(hangingReader{r.Context()})}, nil
		}, ok)
		expectSent(t, "200 fine", s, constant(3, retry.AttemptTimeout(5*time.Second)), get(t, t.Context()))
		s.expect(t, "0s 6s")
	})
	for class, want := range map[retryhttp.Class]string{retryhttp.Unclassified: "0s 6s", retryhttp.NotRetryable: "0s"} {
		bubble(t, "is classified once, as "+class.String(), func(t *testing.T) {
			var seen []string
			s := newScript(hang, ok)
			_, err := retryhttp.NewTransport(s, constant(3, retry.AttemptTimeout(5*time.Second)), retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
				seen = append(seen, fmt.Sprint(o.Attempt, " ", o.Err))
				return class
			})).RoundTrip(get(t, t.Context()))
			wantSeen := []string{"1 retryhttp: attempt 1: no response in time: context deadline exceeded", "2 <nil>"}[:strings.Count(want, "s")]
			if !slices.Equal(seen, wantSeen) || (err != nil) != (class == retryhttp.NotRetryable) {
				t.Errorf("classified %q, want %q; %v", seen, wantSeen, err)
			}
			s.expect(t, want)
		})
		bubble(t, "is classified once while the body is looked at, as "+class.String(), func(t *testing.T) {
			var seen []string
			s := newScript(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: io.NopCloser(hangingReader{r.Context()})}, nil
			}, ok)
			_, err := retryhttp.NewTransport(s, constant(3, retry.AttemptTimeout(5*time.Second)), retryhttp.PeekTimeout(time.Minute), retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
				seen = append(seen, fmt.Sprintf("%d %q", o.Attempt, o.Peek()))
				return class
			})).RoundTrip(get(t, t.Context()))
			wantSeen := []string{`1 ""`, `2 "fine"`}[:strings.Count(want, "s")]
			if !slices.Equal(seen, wantSeen) || (err != nil) != (class == retryhttp.NotRetryable) {
				t.Errorf("classified %q, want %q; %v", seen, wantSeen, err)
			}
			s.expect(t, want)
		})
	}
	bubble(t, "does not cut the body that is handed over", func(t *testing.T) {
		slow := func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(io.MultiReader(
				readerFunc(func([]byte) (int, error) {
					select {
					case <-time.After(time.Hour):
						return 0, io.EOF
					case <-r.Context().Done():
						return 0, r.Context().Err()
					}
				}), strings.NewReader("late")))}, nil
		}
		expectSent(t, "200 late", newScript(slow), constant(3, retry.AttemptTimeout(5*time.Second)), get(t, t.Context()))
	})
	bubble(t, "a body that can be written to", func(t *testing.T) {
		mine, theirs := net.Pipe()
		defer theirs.Close()
		tr := retryhttp.NewTransport(newScript(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 101, Body: mine}, nil
		}), constant(3, retry.AttemptTimeout(5*time.Second)))
		resp, err := tr.RoundTrip(get(t, t.Context()))
		check.Must(t, err)
		go io.WriteString(resp.Body.(io.ReadWriteCloser), "hello")
		got := make([]byte, 5)
		if _, err := io.ReadFull(theirs, got); string(got) != "hello" {
			t.Error(string(got), err)
		}
		resp.Body.Close()
	})
}

type hangingReader struct{ ctx context.Context }

func (r hangingReader) Read([]byte) (int, error) {
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestInjectedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock() // stands at 1970
		date := mock.Now().Add(10 * time.Second).UTC().Format(http.TimeFormat)
		s := newScript(status(503, "", "Retry-After: "+date), ok)
		done := make(chan string)
		go func() {
			resp, err := retryhttp.NewTransport(s, constant(3)).RoundTrip(get(t, stream.WithClock(t.Context(), mock)))
			done <- read(t, resp, err)
		}()
		synctest.Wait()
		mock.Add(10*time.Second - 1)
		synctest.Wait()
		if len(s.calls) != 1 {
			t.Error("too early")
		}
		mock.Add(1)
		if got := <-done; got != "200 fine" {
			t.Error(got)
		}
	})
}

func TestDrainingIsBounded(t *testing.T) {
	bubble(t, "a body without end", func(t *testing.T) {
		n := 0
		endless := &testBody{Reader: readerFunc(func(p []byte) (int, error) { n += len(p); return len(p), nil })}
		s := newScript(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Body: endless}, nil
		}, ok)
		if send(t, s, constant(1), get(t, t.Context())); !endless.closed.Load() || n > 1<<20 {
			t.Errorf("closed %v after %d bytes", endless.closed.Load(), n)
		}
	})
	bubble(t, "a body that stalls", func(t *testing.T) {
		r, w := io.Pipe()
		s := newScript(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503, Body: r}, nil }, ok)
		go w.Write(make([]byte, 1024)) // the peek, and then nothing
		send(t, s, constant(1), get(t, t.Context()))
		s.expect(t, "0s 1.05s")
	})
}

func TestMistakesPanic(t *testing.T) {
	for want, f := range map[string]func(){
		"retryhttp: NewTransport: opts[1] is nil":              func() { retryhttp.NewTransport(nil, retry.Default, retryhttp.AttemptHeader(), nil) },
		"retryhttp: Statuses: codes[1] is 99, want 100 to 999": func() { retryhttp.Statuses(100, 99) },
		"retryhttp: Classify: f is nil":                        func() { retryhttp.Classify(nil) },
		"retryhttp: Idempotent: f is nil":                      func() { retryhttp.Idempotent(nil) },
		"retryhttp: PeekLimit: n is -1, want at least 0":       func() { retryhttp.PeekLimit(-1) },

		"retryhttp: Statuses: codes[0] is 1000, want 100 to 999":            func() { retryhttp.Statuses(1000, 999) },
		"retryhttp: CheckBody: f is nil":                                    func() { retryhttp.CheckBody(nil) },
		"retryhttp: BufferBody: n is -1, want at least 0":                   func() { retryhttp.BufferBody(-1) },
		"retryhttp: PeekTimeout: d is 0s, want more than 0":                 func() { retryhttp.PeekTimeout(0) },
		"retryhttp: ResumeBody: stall is -1s, want at least 0":              func() { retryhttp.ResumeBody(-time.Second) },
		"retryhttp: Slots: perSecond is 0, want a finite number above 0":    func() { retryhttp.Slots(0, 1, passed) },
		"retryhttp: Slots: perSecond is -1, want a finite number above 0":   func() { retryhttp.Slots(-1, 1, passed) },
		"retryhttp: Slots: perSecond is NaN, want a finite number above 0":  func() { retryhttp.Slots(math.NaN(), 1, passed) },
		"retryhttp: Slots: perSecond is +Inf, want a finite number above 0": func() { retryhttp.Slots(math.Inf(1), 1, passed) },
		"retryhttp: Slots: burst is 0, want at least 1":                     func() { retryhttp.Slots(1, 0, passed) },
		"retryhttp: Slots: next is nil":                                     func() { retryhttp.Slots(1, 1, nil) },
	} {
		check.Panics(t, want, f)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"7", "-1", "Fri, 31 Dec 1999 23:59:59 GMT", "1e9", "99999999999999999999"} {
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		synctest.Test(t, func(t *testing.T) {
			// Whatever it says: one retry, not before a second (the backoff's) has passed, or none.
			s := newScript(func(r *http.Request) (*http.Response, error) {
				resp, err := unavailable(r)
				resp.Header["Retry-After"] = []string{value}
				resp.Header["Date"] = []string{date}
				return resp, err
			}, ok)
			start := time.Now()
			p := constant(1, retry.MaxRetryAfter(math.MaxInt64/2))
			resp, err := retryhttp.NewTransport(s, p).RoundTrip(get(t, t.Context()))
			switch read(t, resp, err); {
			case len(s.calls) == 2 && time.Since(start) < time.Second:
				t.Errorf("%q: retried after %v", value, time.Since(start))
			case len(s.calls) == 1 && err != nil:
				t.Error(err)
			}
		})
	})
}

// countingClock is the system's clock, and counts how often it is read.
type countingClock struct{ reads int }

func (c *countingClock) Now() time.Time {
	c.reads++
	return time.Now()
}

func (*countingClock) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

func TestARequestThatSucceedsAtOnceCostsLittle(t *testing.T) {
	var clock countingClock
	base := roundTripper(func(r *http.Request) (*http.Response, error) { return &sparse, nil })
	transport := retryhttp.NewTransport(base, constant(3, retry.WithClock(&clock)))
	req := get(t, t.Context())
	allocations := testing.AllocsPerRun(100, func() { _, _ = transport.RoundTrip(req) })
	if allocations > 2 || clock.reads > 0 {
		t.Errorf("%v allocations and %d reads of the clock, want 2 and 0", allocations, clock.reads)
	}
}

var sparse = http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
