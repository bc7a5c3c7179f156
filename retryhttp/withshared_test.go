package retryhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// numbers is a Shared whose n-th value is n. Opens with an error in fails fail.
func numbers(p retry.Policy, fails ...error) *retry.Shared[int] {
	opens := 0
	return retry.NewShared(p, func(context.Context) (int, error) {
		if opens++; opens <= len(fails) && fails[opens-1] != nil {
			return 0, fails[opens-1]
		}
		return opens, nil
	})
}

func setToken(r *http.Request, v int) { r.Header.Set("Authorization", fmt.Sprint("token ", v)) }

// valid is a server's answer: 401 unless the request has one of the tokens.
func valid(tokens ...int) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		for _, n := range tokens {
			if r.Header.Get("Authorization") == fmt.Sprint("token ", n) {
				return status(200, fmt.Sprint("with token ", n))(r)
			}
		}
		return status(401, "who?")(r)
	}
}

func TestWithShared_RenewsOnceAfterA401WhateverTheMethod(t *testing.T) {
	for _, c := range []struct {
		name   string
		method string
		body   io.Reader
		there  bool
		valid  int // the token; 9: none
		want   string
		calls  string
	}{
		{"valid", "GET", nil, true, 1, "200 with token 1", "1m0s"},
		{"GET", "GET", nil, true, 2, "200 with token 2", "1m0s 1m0s"},
		{"POST", "POST", strings.NewReader("order"), true, 2, "200 with token 2", "1m0s:order 1m0s:order"},
		{"no body", "POST", http.NoBody, true, 2, "200 with token 2", "1m0s: 1m0s:"},
		{"body once", "POST", io.MultiReader(strings.NewReader("order")), true, 2, "401 who?", "1m0s:order"},
		{"refused twice", "GET", nil, true, 9, "401 who?", "1m0s 1m0s"},
		{"opened for it", "GET", nil, false, 9, "401 who?", "1m0s"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			base := newScript(valid(c.valid))
			shared := numbers(retry.New(backoff.Constant(time.Second)))
			if c.there {
				_ = shared.Do(t.Context(), func(context.Context, int) error { return nil })
			}
			time.Sleep(time.Minute)
			r := request(t, t.Context(), c.method, c.body)
			resp, err := retryhttp.WithShared(base, shared, setToken).RoundTrip(r)
			if err != nil || resp.Request != r || r.Header.Get("Authorization") != "" {
				t.Fatalf("%v; the request was changed: %v, the response's is another: %v", err, r.Header, resp.Request != r)
			}
			if got := read(t, resp, err); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			base.expect(t, c.calls)
			for i, b := range base.bodies {
				if !b.ended.Load() || !b.closed.Load() {
					t.Errorf("body %d is not at its end, or not closed", i)
				}
			}
			// A body that can be sent once is no reason to keep a token that was refused.
			if c.want != "401 who?" || !c.there {
				return
			}
			_ = shared.Try(t.Context(), func(_ context.Context, v int) error {
				if v < 2 {
					t.Errorf("the value is still %d", v)
				}
				return nil
			})
		})
	}
}

func TestWithShared_AfterA401WithoutAnotherValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(valid(9))
		shared := numbers(retry.New(backoff.Constant(time.Second)), nil, retry.Permanent(errCut))
		transport := retryhttp.WithShared(base, shared, setToken)
		_ = shared.Do(t.Context(), func(context.Context, int) error { return nil })
		time.Sleep(time.Minute)
		resp, err := transport.RoundTrip(get(t, t.Context()))
		if resp != nil || !errors.Is(err, errCut) || !base.bodies[0].closed.Load() {
			t.Errorf("%v, %v; the 401's body is closed: %v", resp, err, base.bodies[0].closed.Load())
		}
	})
}

func TestWithShared_ReturnsOtherResponsesAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(failure(errCut), failure(&retryhttp.StatusError{Status: "own"}), status(403, "no"), status(500, "oops"), valid(1))
		transport := retryhttp.WithShared(base, numbers(retry.New(backoff.Constant(time.Second))), setToken)
		for _, want := range []string{errCut.Error(), "retryhttp:  : own", "403 no", "500 oops", "200 with token 1"} {
			resp, err := transport.RoundTrip(get(t, t.Context()))
			if got := read(t, resp, err); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

func TestWithShared_ClosesTheBodyOfWhatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := numbers(retry.New(backoff.Constant(time.Second)))
		shared.Close()
		base := newScript(ok)
		body := &testBody{Reader: strings.NewReader("order")}
		resp, err := retryhttp.WithShared(base, shared, setToken).RoundTrip(request(t, t.Context(), "POST", body))
		if resp != nil || !errors.Is(err, retry.ErrClosed) || err.Error() != retry.ErrClosed.Error() || !body.closed.Load() {
			t.Errorf("%v, %v; the body is closed: %v", resp, err, body.closed.Load())
		}
		base.expect(t, "")
	})
}

func TestWithShared_AnErrorThatIsATimeoutSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		shared := numbers(retry.New(backoff.Constant(time.Second)), errCut)
		client := &http.Client{Transport: retryhttp.WithShared(newScript(ok), shared, setToken)}
		_, err := client.Do(get(t, ctx))
		if e, ok := errors.AsType[interface {
			error
			Timeout() bool
		}](err); !ok || !e.Timeout() || !errors.Is(err, retry.ErrDeadline) {
			t.Errorf("%v is no timeout", err)
		}
	})
}

// The first wait for the token outlasts the attempt, and the token's server is down for the second.
func TestWithShared_APostThatWasNotSentIsRetried(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy retry.Policy // of the transport
		fails  error
		takes  time.Duration
		calls  string
	}{
		{"the value cannot be had", constant(1), retry.Permanent(errCut), 0, "1s:order"},
		{"AttemptTimeout covers the wait", constant(1, retry.AttemptTimeout(10*time.Second)), nil, 15 * time.Second, "15s:order"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			opens := 0
			shared := retry.NewShared(constant(0), func(context.Context) (int, error) {
				time.Sleep(c.takes)
				if opens++; opens == 1 {
					// Not marked as permanent for the request.
					if c.fails != nil {
						return 0, errCut
					}
				}
				return opens, nil
			})
			base := newScript(ok)
			transport := retryhttp.NewTransport(retryhttp.WithShared(base, shared, setToken), c.policy)
			resp, err := transport.RoundTrip(request(t, t.Context(), "POST", strings.NewReader("order")))
			expectBody(t, resp, err, "200 fine")
			base.expect(t, c.calls)
		})
	}
}

func TestStatuses_A401IsNotCarriedOutIfItIsOneOfThem(t *testing.T) {
	for _, c := range []struct {
		name string
		opts []retryhttp.Option
		want string
	}{
		{"it is", []retryhttp.Option{retryhttp.Statuses(401)}, "0s:order 1s:order"},
		{"it is not", nil, "0s:order"},
		{"retried for another reason", []retryhttp.Option{retryhttp.CheckBody(func(*http.Response) error { return nil })}, "0s:order"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			base := newScript(status(401, "who?"), ok)
			send(t, base, constant(1), request(t, t.Context(), "POST", strings.NewReader("order")), c.opts...)
			base.expect(t, c.want)
		})
	}
}

func TestWithShared_ARedirectToAnotherHostGoesWithoutTheValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			seen = append(seen, fmt.Sprint(r.URL.Host, r.URL.Path, " ", r.Header["Authorization"]))
			to := map[string]string{"/1": "http://other.test/2", "/2": "http://other.test/3", "/3": "http://example.test/4"}[r.URL.Path]
			if to == "" {
				return status(200, "fine")(r)
			}
			return status(307, "", "Location: "+to)(r)
		})
		client := &http.Client{Transport: retryhttp.WithShared(base, numbers(constant(0)), setToken)}
		resp, err := client.Get("http://example.test/1")
		read(t, resp, err)
		want := "example.test/1 [token 1], other.test/2 [], other.test/3 [], example.test/4 [token 1]"
		if got := strings.Join(seen, ", "); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		r := get(t, t.Context())
		r.Response = new(http.Response) // of no request
		resp, err = client.Transport.RoundTrip(r)
		expectBody(t, resp, err, "200 fine")
	})
}

func TestWithShared_OverARealServer(t *testing.T) {
	var mu sync.Mutex
	counts := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		counts[r.Header.Get("Authorization")+string(body)]++
		if r.Header.Get("Authorization") == "token 1" && counts["token 1order"] > 1 {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	shared := numbers(retry.New(backoff.Constant(0)))
	defer shared.Close()
	client := &http.Client{Transport: retryhttp.WithShared(base, shared, setToken)}
	for range 3 {
		resp, err := client.Post(server.URL, "text/plain", strings.NewReader("order"))
		expectBody(t, resp, err, "200 ")
	}
	client.CloseIdleConnections()
	if want := map[string]int{"token 1order": 2, "token 2order": 2}; !maps.Equal(counts, want) {
		t.Errorf("the server saw %v, want %v", counts, want)
	}
}

// ending replaces *ctx by one that ends after d.
func ending(ctx *context.Context, d time.Duration) context.CancelFunc {
	inner, cancel := context.WithTimeout(*ctx, d)
	*ctx = inner
	return cancel
}

func TestWithShared_ClosesTheIdleConnectionsOfItsBase(t *testing.T) {
	base := &idle{}
	(&http.Client{Transport: retryhttp.WithShared(base, numbers(constant(0)), setToken)}).CloseIdleConnections()
	if base.closed != 1 {
		t.Error("they are not closed")
	}
}

func TestWithShared_KeepsItsStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, statuses := numbers(constant(0)), []int{403}
		transport := retryhttp.WithShared(newScript(status(403, ""), ok), shared, setToken, statuses...)
		statuses[0] = 404
		_ = shared.Do(t.Context(), func(context.Context, int) error { return nil })
		resp, err := transport.RoundTrip(get(t, t.Context()))
		expectBody(t, resp, err, "200 fine")
	})
}

func TestWithShared_InvalidArguments(t *testing.T) {
	shared := numbers(constant(0))
	check.Panics(t, "retryhttp: WithShared: s is nil", func() { retryhttp.WithShared[int](nil, nil, setToken) })
	check.Panics(t, "retryhttp: WithShared: set is nil", func() { retryhttp.WithShared(nil, shared, nil) })
	check.Panics(t, "retryhttp: WithShared: statuses[1] is 99, want 100 to 999", func() { retryhttp.WithShared(nil, shared, setToken, 401, 99) })
}
