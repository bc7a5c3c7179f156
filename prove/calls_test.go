package prove_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/prove"
)

// ask makes one attempt. A status that is not 200 is an error.
func ask(ctx context.Context, r prove.Run, method string) (string, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, 800*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.Addr+"/item", strings.NewReader("order"))
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	switch s := resp.StatusCode; {
	case err != nil:
		return "", err
	case s == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" || s == http.StatusInternalServerError:
		return "", errAgain
	case s != http.StatusOK:
		return "", fmt.Errorf("status %d", s)
	}
	return string(all), nil
}

var errAgain = errors.New("again")

// retrying is a client that asks up to five times while the answer is 503 or 500.
func retrying(method string, wait func(n int) time.Duration) func(context.Context, prove.Run) (string, error) {
	return func(ctx context.Context, r prove.Run) (string, error) {
		for n := 1; ; n++ {
			result, err := ask(ctx, r, method)
			if !errors.Is(err, errAgain) || n == 5 {
				return result, err
			}
			select {
			case <-time.After(wait(n)):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
	}
}

func jittered(n int) time.Duration { return 100*time.Millisecond<<n + rand.N(100*time.Millisecond<<n) }

// In real time, too, a fault is found and a right client is not blamed. Waits show the policy.
func TestCalls_Measure(t *testing.T) {
	if testing.Short() {
		t.Skip("each takes seconds")
	}
	redirects := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/item" {
			http.Redirect(w, r, "/moved", http.StatusFound)
		}
	}))
	t.Cleanup(redirects.Close)
	for _, test := range []struct {
		name   string
		client func(context.Context, prove.Run) (string, error)
		server string
		kinds  string
		policy string // a part of it
	}{
		{"right", retrying(http.MethodGet, jittered), "", "", "exponential "},
		{"a redirect", retrying(http.MethodGet, jittered), strings.TrimPrefix(redirects.URL, "http://"), "", " limit=4"},
		{"hot", retrying(http.MethodGet, func(int) time.Duration { return 0 }), "", "hot?", " limit=4"},
		{"unsafe", retrying(http.MethodPost, jittered), "", "unsafe", " limit=4"},
		{"no jitter", retrying(http.MethodGet, func(n int) time.Duration { return 200 * time.Millisecond << n }), "", "jitter?", "base=400ms factor=2 limit=4"},
		{"one attempt, no timeout", func(ctx context.Context, r prove.Run) (string, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Addr, nil)
			if err != nil {
				return "", err
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				return "", err
			}
			defer func() { _ = resp.Body.Close() }()
			all, err := io.ReadAll(resp.Body)
			return string(all), err
		}, "", "silent swallowed", ""},
		{"deaf", func(_ context.Context, r prove.Run) (string, error) {
			return retrying(http.MethodGet, func(int) time.Duration { return 2 * time.Second })(context.Background(), r)
		}, "", "jitter? late", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var told []string
			runs, done := atomic.Int64{}, 0
			c := prove.Calls{Client: func(ctx context.Context, r prove.Run) (string, error) {
				runs.Add(1)
				return test.client(ctx, r)
			}, Server: test.server, Within: 4 * time.Second, Stop: time.Second, OnFinding: func(f prove.Finding) { told = append(told, string(f.Kind)) }, OnProgress: func(n, _ int) { done = n }}
			m, err := c.Measure(t.Context())
			if errors.Is(err, prove.ErrBusy) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range m.Findings {
				got = append(got, string(f.Kind))
			}
			slices.Sort(got)
			for kind := range strings.FieldsSeq(test.kinds) {
				if kind, busy := strings.CutSuffix(kind, "?"); busy { // a busy machine makes waits longer and unequal
					got = slices.DeleteFunc(got, func(k string) bool { return k == kind })
					test.kinds = strings.TrimSpace(strings.Replace(test.kinds, kind+"?", "", 1))
				}
			}
			if strings.Join(got, " ") != test.kinds || len(told) != len(m.Findings) {
				t.Errorf("found %q, told %q, want %s: %v", got, told, test.kinds, m.Findings)
			}
			if !strings.Contains(m.Policy, test.policy) {
				t.Logf("the policy is %q or %q: %s", m.Policy, m.Or, m.Why)
			}
			if m.Request != "GET /item" && m.Request != "POST /item" && m.Request != "GET /" || int64(done) != runs.Load()-2 {
				t.Errorf("got %s, %d of %d runs", m.Request, done, runs.Load()-2)
			}
		})
	}
}

// What a broken answer was about has been carried out by the server behind.
func TestCalls_Server(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	var mu sync.Mutex
	orders := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		orders[r.Method+" "+r.URL.Path+" "+string(body)+" "+r.Header.Get("Run")]++
		mu.Unlock()
		_, _ = io.WriteString(w, "done")
	}))
	defer server.Close()
	var run atomic.Int64
	c := prove.Calls{Server: strings.TrimPrefix(server.URL, "http://"), Within: 2 * time.Second, Request: "POST /order",
		Client: func(ctx context.Context, r prove.Run) (string, error) {
			number := fmt.Sprint(run.Add(1))
			order := func(path string) (string, error) {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.Addr+path, strings.NewReader("x"))
				if err != nil {
					return "", err
				}
				req.Header.Set("Run", number)
				transport := &http.Transport{DisableKeepAlives: true}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					return "", err
				}
				defer func() { _ = resp.Body.Close() }()
				all, err := io.ReadAll(resp.Body)
				if err == nil && resp.StatusCode != http.StatusOK {
					err = fmt.Errorf("%w: %s", errAgain, resp.Status)
				}
				return string(all), err
			}
			if _, err := order("/login"); err != nil {
				return "", err
			}
			result, err := order("/order")
			if err != nil && !errors.Is(err, errAgain) {
				result, err = order("/order") // after a broken answer
			}
			return result, err
		}}
	m, err := c.Measure(t.Context())
	if err != nil || len(m.Findings) == 0 || m.Findings[0].Kind != prove.Unsafe || m.Request != "POST /order" || m.Rows[0].Result != "done" {
		t.Fatalf("%v, %+v", err, m)
	}
	mu.Lock()
	defer mu.Unlock()
	twice := 0
	for name, n := range orders {
		if n > 1 && strings.HasPrefix(name, "POST /order x ") {
			twice++
		}
	}
	if twice < 2 {
		t.Errorf("got %v, want orders that were carried out twice", orders)
	}
}

func TestCalls_WhatCannotBeMeasured(t *testing.T) {
	for want, c := range map[string]prove.Calls{
		"prove: undisturbed: the program failed: no":      {Client: func(ctx context.Context, r prove.Run) (string, error) { return "", errors.New("no") }},
		"prove: undisturbed: the program made no request": {Client: func(ctx context.Context, r prove.Run) (string, error) { return "", nil }},
		"prove: undisturbed: the program panicked: no":    {Client: func(ctx context.Context, r prove.Run) (string, error) { panic("no") }},
		"prove: undisturbed: the program made no request GET /other, but GET /item": {Request: "GET /other",
			Client: func(ctx context.Context, r prove.Run) (string, error) { return ask(ctx, r, http.MethodGet) }},
		"prove: undisturbed: a call makes 2 requests GET /item, which cannot be told from retries": {
			Client: func(ctx context.Context, r prove.Run) (string, error) {
				_, _ = ask(ctx, r, http.MethodGet)
				return ask(ctx, r, http.MethodGet)
			}},
		"prove: two undisturbed results differ": {Client: func(ctx context.Context, r prove.Run) (string, error) {
			_, err := ask(ctx, r, http.MethodGet)
			return r.Addr, err
		}},
	} {
		if m, err := c.Measure(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) || len(m.Findings)+len(m.Rows) > 0 {
			t.Errorf("got %v, %v, want %s", m, err, want)
		}
	}
	for want, c := range map[string]prove.Calls{
		"prove: Calls.Client is nil":                   {},
		"prove: Calls.Most is -1, want at least 0":     {Client: retrying("GET", jittered), Most: -1},
		"prove: Calls.Within is -1ns, want at least 0": {Client: retrying("GET", jittered), Within: -1},
	} {
		check.Panics(t, want, func() { _, _ = c.Measure(t.Context()) })
	}
}

func TestCalls_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	var running atomic.Int64
	c := prove.Calls{Client: func(ctx context.Context, r prove.Run) (string, error) {
		running.Add(1)
		defer running.Add(-1)
		return retrying(http.MethodGet, jittered)(ctx, r)
	}, OnProgress: func(done, _ int) {
		if done == 3 {
			cancel(enough)
		}
	}}
	m, err := c.Measure(ctx)
	if n := running.Load(); n > 0 {
		t.Errorf("%d calls go on", n)
	}
	if !errors.Is(err, enough) || len(m.Findings) > 0 || len(m.Rows) < 2 {
		t.Errorf("got %v, %+v", err, m)
	}
}
