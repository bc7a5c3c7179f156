package retryhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"

	"github.com/benbjohnson/clock"
)

func TestCheckBody(t *testing.T) {
	decode := retryhttp.CheckBody(func(resp *http.Response) error {
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(new(any))
	})
	cut := func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: &testBody{Reader: io.MultiReader(strings.NewReader(`{"a":`), errReader{errCut})}}, nil
	}
	send := func(t *testing.T, s *script, req *http.Request, p retry.Policy, o ...retryhttp.Option) string {
		resp, err := retryhttp.NewTransport(s, p, o...).RoundTrip(req)
		got := read(t, resp, err)
		for i, b := range s.bodies {
			if !b.closed.Load() {
				t.Errorf("the body of response %d is not closed", i)
			}
		}
		return got
	}
	bubble(t, "again until it decodes", func(t *testing.T) {
		var seen []string
		p := constant(5, retry.OnRetry(func(_ context.Context, e retry.Event) {
			status, ok := errors.AsType[*retryhttp.StatusError](e.Err)
			if !ok || (status.Err == nil) != (status.StatusCode == 503) {
				t.Error(e.Err)
			}
			seen = append(seen, fmt.Sprintf("%v; %s; %v", status, status.Body, errors.Is(e.Err, errCut)))
		}))
		s := newScript(cut, status(200, "<html>"), unavailable, status(204, `{"b":1} and more`))
		if got := send(t, s, get(t, t.Context()), p, decode); got != `204 {"b":1} and more` {
			t.Error(got)
		}
		s.expect(t, "0s 1s 2s 3s")
		want := `retryhttp: GET http://user:xxxxx@example.test/path: 200 OK: connection reset by peer; {"a":; true
retryhttp: GET http://user:xxxxx@example.test/path: 200 OK: invalid character '<' looking for beginning of value; <html>; false
retryhttp: GET http://user:xxxxx@example.test/path: 503 Service Unavailable: busy; busy; false`
		if got := strings.Join(seen, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
	bubble(t, "when the policy gives up the response is handed over as it came", func(t *testing.T) {
		if got := send(t, newScript(cut), get(t, t.Context()), constant(1), decode); got != `200 {"a": and then connection reset by peer` {
			t.Error(got)
		}
		if got := send(t, newScript(status(200, "<html>")), get(t, t.Context()), timed(1), decode); got != `200 <html>` {
			t.Error(got)
		}
	})
	bubble(t, "what is not looked at", func(t *testing.T) {
		for _, code := range []int{199, 300, 404} {
			s := newScript(status(code, "<html>"))
			if got := send(t, s, get(t, t.Context()), constant(1), decode); got != fmt.Sprint(code, " <html>") {
				t.Error(got)
			}
			s.expect(t, "0s")
		}
		final := retryhttp.Classify(func(*retryhttp.Outcome) retryhttp.Class { return retryhttp.NotRetryable })
		s := newScript(status(200, "<html>"))
		if got := send(t, s, get(t, t.Context()), constant(1), decode, final); got != "200 <html>" {
			t.Error(got)
		}
		s.expect(t, "0s")
	})
	bubble(t, "a nil body", func(t *testing.T) {
		s := newScript(bodiless(299))
		var seen error
		check := retryhttp.CheckBody(func(resp *http.Response) error {
			_, seen = resp.Body.Read(make([]byte, 1))
			return nil
		})
		if got := send(t, s, get(t, t.Context()), constant(1), check); got != "299 " || seen != io.EOF {
			t.Error(got, seen)
		}
	})
	bubble(t, "a POST is not sent again", func(t *testing.T) {
		s := newScript(status(200, "<html>"))
		if got := send(t, s, request(t, t.Context(), "POST", nil), constant(1), decode); got != "200 <html>" {
			t.Error(got)
		}
		s.expect(t, "0s")
	})
	for name, c := range map[string]struct {
		err    error
		header string
		want   string
	}{
		"permanent":                     {retry.Permanent(errCause), "A: b", "0s"},
		"its delay":                     {retry.RetryAfter(errCause, 7*time.Second), "A: b", "0s 7s"},
		"the header's delay goes first": {retry.RetryAfter(errCause, 7*time.Second), "Retry-After: 3", "0s 3s"},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newScript(status(200, "body", c.header))
			check := retryhttp.CheckBody(func(resp *http.Response) error { return c.err })
			if got := send(t, s, get(t, t.Context()), constant(1), check); got != "200 body" {
				t.Error(got)
			}
			s.expect(t, c.want)
		})
	}
	bubble(t, "under the attempt's timeout", func(t *testing.T) {
		s := newScript(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(hangingReader{r.Context()})}, nil
		}, status(200, "{}"))
		if got := send(t, s, get(t, t.Context()), timed(1), decode); got != "200 {}" {
			t.Error(got)
		}
		s.expect(t, "0s 6s")
	})
	bubble(t, "a panic closes the body", func(t *testing.T) {
		s := newScript(ok)
		defer func() {
			if got := recover(); got != errCause || !s.bodies[0].closed.Load() {
				t.Error(got)
			}
		}()
		send(t, s, get(t, t.Context()), constant(1), retryhttp.CheckBody(func(*http.Response) error { panic(errCause) }))
	})
}

func TestPeekTimeout(t *testing.T) {
	stalled := func() (func(*http.Request) (*http.Response, error), *io.PipeWriter) {
		r, w := io.Pipe()
		return func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503, Body: r}, nil }, w
	}
	const late = "503 half and then retryhttp: the body's first 1024 bytes did not come within "
	for name, c := range map[string]struct {
		opts []retryhttp.Option
		want string
	}{
		"1 s":    {nil, "1s"},
		"an own": {[]retryhttp.Option{retryhttp.PeekTimeout(3 * time.Second)}, "3s"},
	} {
		bubble(t, name, func(t *testing.T) {
			answer, w := stalled()
			go w.Write([]byte("half"))
			start := time.Now()
			var body string
			p := constant(0, retry.OnGiveUp(func(_ context.Context, e *retry.Error) {
				if s, ok := errors.AsType[*retryhttp.StatusError](e.Last); ok {
					body = string(s.Body)
				}
			}))
			resp, err := retryhttp.NewTransport(newScript(answer), p, c.opts...).RoundTrip(get(t, t.Context()))
			if err != nil || time.Since(start).String() != c.want || body != "half" {
				t.Error(err, time.Since(start), body)
			}
			if _, err := w.Write([]byte("x")); err != io.ErrClosedPipe {
				t.Error("the body is open:", err)
			}
			expectBody(t, resp, err, late+c.want)
		})
	}
	bubble(t, "is a timeout", func(t *testing.T) {
		answer, _ := stalled()
		resp, err := retryhttp.NewTransport(newScript(answer), constant(0)).RoundTrip(get(t, t.Context()))
		must(t, err)
		_, err = resp.Body.Read(make([]byte, 1))
		if e, ok := errors.AsType[interface {
			error
			Timeout() bool
		}](err); !ok || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	bubble(t, "a retry comes after it", func(t *testing.T) {
		answer, _ := stalled()
		s := newScript(answer, ok)
		expectSent(t, "200 fine", s, constant(1), get(t, t.Context()))
		s.expect(t, "0s 2s")
	})
	bubble(t, "a body in time is never closed by it", func(t *testing.T) {
		body := &countingBody{Reader: strings.NewReader(strings.Repeat("x", 2000))}
		resp, err := retryhttp.NewTransport(newScript(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Body: body}, nil
		}), constant(0)).RoundTrip(get(t, t.Context()))
		if time.Sleep(time.Hour); body.closed != 0 {
			t.Error("closed")
		}
		if got := read(t, resp, err); len(got) != 2004 {
			t.Error(len(got))
		}
	})
	bubble(t, "on the clock of the request's context", func(t *testing.T) {
		mock := clock.NewMock()
		answer, _ := stalled()
		done := make(chan error)
		go func() {
			_, err := retryhttp.NewTransport(newScript(answer), constant(0)).RoundTrip(get(t, stream.WithClock(t.Context(), mock)))
			done <- err
		}()
		time.Sleep(time.Hour)
		mock.Add(time.Second)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestNewStatusError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resp, _ := status(503, "busy", "Retry-After: 7")(nil)
		resp.Request = request(t, t.Context(), "PUT", nil)
		e := retryhttp.NewStatusError(resp)
		if e.Error() != "retryhttp: PUT http://user:xxxxx@example.test/path: 503 Service Unavailable: busy" || e.RetryAfter() != 7*time.Second || e.Err != nil {
			t.Errorf("%v, %v", e, e.RetryAfter())
		}
		if got := read(t, resp, nil); got != "503 busy" {
			t.Error(got)
		}
		if e := retryhttp.NewStatusError(&http.Response{StatusCode: 404}); e.Error() != "retryhttp: GET : 404 Not Found" || e.RetryAfter() != 0 {
			t.Error(e)
		}
		mock := clock.NewMock()
		resp, _ = status(503, "", "Retry-After: "+mock.Now().Add(5*time.Second).UTC().Format(http.TimeFormat))(nil)
		resp.Request = get(t, stream.WithClock(t.Context(), mock))
		if e := retryhttp.NewStatusError(resp); e.RetryAfter() != 5*time.Second {
			t.Error(e.RetryAfter())
		}
	})
}

func TestPeekOfAnOutcomeMadeByHand(t *testing.T) {
	resp, _ := ok(nil)
	o := &retryhttp.Outcome{Response: resp}
	if got := string(o.Peek()); got != "fine" {
		t.Error(got)
	}
	if got := new(retryhttp.Outcome).Peek(); got != nil {
		t.Error(got)
	}
}

func TestClassHasNames(t *testing.T) {
	if got := fmt.Sprint(retryhttp.Unclassified, retryhttp.Retryable, retryhttp.NotRetryable, retryhttp.Class(3), retryhttp.Class(-1)); got != "Unclassified Retryable NotRetryable Class(3) Class(-1)" {
		t.Error(got)
	}
}
