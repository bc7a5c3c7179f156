package retryhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// noted is a policy whose hooks note their calls and whether RequestFrom gives them the request.
func noted(want *http.Request, n int, opts ...retry.Option) (retry.Policy, *[]string) {
	var notes []string
	note := func(ctx context.Context, format string, args ...any) {
		if retryhttp.RequestFrom(ctx) != want {
			format += " of another request"
		}
		notes = append(notes, fmt.Sprintf(format, args...))
	}
	return constant(n, append(opts,
		retry.OnRetry(func(ctx context.Context, e retry.Event) { note(ctx, "retry %d", e.N) }),
		retry.OnGiveUp(func(ctx context.Context, e *retry.Error) { note(ctx, "gave up: %v", e.Last) }),
		retry.OnRecovered(func(ctx context.Context, r retry.Recovery) { note(ctx, "recovered after %d, %v", r.Retries, r.Down) }),
		retry.OnDone(func(ctx context.Context, r retry.Result) { note(ctx, "done: %d attempts, %v", r.Attempts, r.Err) }),
	)...), &notes
}

func TestHooks(t *testing.T) {
	const (
		busy    = "retryhttp: %s http://user:xxxxx@example.test/path: 503 Service Unavailable: busy"
		failing = "retryhttp: %s http://user:xxxxx@example.test/path: 500 Internal Server Error"
	)
	once := func() *http.Request {
		r, _ := http.NewRequest("PUT", "http://user:secret@example.test/path", &testBody{Reader: strings.NewReader("x")})
		return r
	}
	plain := func(method string) func() *http.Request {
		return func() *http.Request {
			r, _ := http.NewRequest(method, "http://user:secret@example.test/path", nil)
			return r
		}
	}
	for _, c := range []struct {
		name    string
		request func() *http.Request
		answers []func(*http.Request) (*http.Response, error)
		want    []string
	}{
		{"success", plain("GET"), []func(*http.Request) (*http.Response, error){ok}, []string{"done: 1 attempts, <nil>"}},
		{"recovery", plain("GET"), []func(*http.Request) (*http.Response, error){unavailable, failure(errCut), ok}, []string{
			"retry 1", "retry 2", "recovered after 2, 2s", "done: 3 attempts, <nil>",
		}},
		{"giving up", plain("GET"), []func(*http.Request) (*http.Response, error){unavailable}, []string{
			"retry 1", "retry 2", "gave up: " + fmt.Sprintf(busy, "GET"),
			"done: 3 attempts, retry: limit of 2 retries: 3 failures in 2s: " + fmt.Sprintf(busy, "GET"),
		}},
		{"hopeless", plain("GET"), []func(*http.Request) (*http.Response, error){failure(errors.New("net/http: invalid method"))}, []string{
			"done: 1 attempts, net/http: invalid method",
		}},
		{"a body of one use", once, []func(*http.Request) (*http.Response, error){unavailable}, []string{
			"gave up: " + fmt.Sprintf(busy, "PUT") + " (not retried: the body can be sent only once: use BufferBody, or set the request's GetBody)",
			"done: 1 attempts, retry: not retryable: 1 failure in 0s: " + fmt.Sprintf(busy, "PUT") + " (not retried: the body can be sent only once: use BufferBody, or set the request's GetBody)",
		}},
		{"a POST that may have been carried out", plain("POST"), []func(*http.Request) (*http.Response, error){unavailable, status(500, "")}, []string{
			"retry 1",
			"gave up: " + fmt.Sprintf(failing, "POST") + " (not retried: POST is not idempotent, and may have been carried out)",
			"done: 2 attempts, retry: not retryable: 2 failures in 1s: " + fmt.Sprintf(failing, "POST") + " (not retried: POST is not idempotent, and may have been carried out)",
		}},
	} {
		bubble(t, c.name, func(t *testing.T) {
			req := c.request().WithContext(t.Context())
			p, notes := noted(req, 2)
			send(t, newScript(c.answers...), p, req)
			if got, want := strings.Join(*notes, "\n"), strings.Join(c.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestRequestFromElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if r := retryhttp.RequestFrom(t.Context()); r != nil {
			t.Error(r)
		}
		s := newScript(func(r *http.Request) (*http.Response, error) {
			if got := retryhttp.RequestFrom(r.Context()); got != nil {
				t.Error("in the base transport:", got)
			}
			return unavailable(r)
		})
		send(t, s, constant(1), get(t, t.Context()))
		s.expect(t, "0s 1s")
	})
}

func TestWithoutRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(unavailable)
		expectSent(t, "503 busy", s, constant(2), get(t, retry.WithoutRetries(t.Context())))
		s.expect(t, "0s")
	})
}
