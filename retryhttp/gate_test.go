package retryhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// closedUntil is a server that refuses requests until d after the beginning, and says so.
type closedUntil struct {
	start   time.Time
	d       time.Duration
	mu      sync.Mutex
	refused int
	passed  []time.Duration
}

func (s *closedUntil) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Since(s.start)
	if at < s.d {
		s.refused++
		return status(429, "", fmt.Sprintf("Retry-After: %d", int((s.d-at+time.Second-1)/time.Second)))(r)
	}
	s.passed = append(s.passed, at)
	return status(200, "")(r)
}

// pass sends a request whose response does not matter.
func pass(t *testing.T, transport http.RoundTripper, req *http.Request) {
	t.Helper()
	resp, err := transport.RoundTrip(req)
	read(t, resp, err)
}

func TestGate_OneOf100CallersIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		opts    []retryhttp.Option
		refused int
	}{
		{"without", nil, 100},
		{"gate", []retryhttp.Option{retryhttp.Gate()}, 1},
	} {
		bubble(t, c.name, func(t *testing.T) {
			server := &closedUntil{start: time.Now(), d: time.Minute}
			client := &http.Client{Transport: retryhttp.NewTransport(server, constant(1), c.opts...)}
			var group sync.WaitGroup
			for i := range 100 {
				group.Go(func() {
					time.Sleep(time.Duration(i) * 100 * time.Millisecond)
					resp, err := client.Get("http://example.test")
					expectBody(t, resp, err, "200 ")
				})
			}
			group.Wait()
			if server.refused != c.refused || len(server.passed) != 100 || server.passed[0] != time.Minute {
				t.Errorf("%d were refused, want %d; %d passed", server.refused, c.refused, len(server.passed))
			}
		})
	}
}

func TestGate_WhatClosesIt(t *testing.T) {
	after := func(code int, header ...string) func(*http.Request) (*http.Response, error) {
		return status(code, "busy", header...)
	}
	for _, c := range []struct {
		name  string
		first func(*http.Request) (*http.Response, error)
		opts  []retryhttp.Option
		want  time.Duration // when the second request is sent
	}{
		{"429", after(429, "Retry-After: 60"), nil, time.Minute},
		{"503", after(503, "Retry-After: 60"), nil, time.Minute},
		{"529", after(529, "Retry-After: 60"), nil, time.Minute},
		{"at most an hour", after(503, "Retry-After: 86400"), nil, time.Hour},
		{"a status that is no failure", after(503, "Retry-After: 60"), []retryhttp.Option{retryhttp.Statuses(500)}, time.Minute},
		{"a status that is not retried", after(503, "Retry-After: 60"), []retryhttp.Option{retryhttp.Classify(func(*retryhttp.Outcome) retryhttp.Class { return retryhttp.NotRetryable })}, time.Minute},
		{"another header", after(429, "Retry-After-Ms: 1500"), []retryhttp.Option{retryhttp.RateLimitHeaders()}, 1500 * time.Millisecond},
		{"another header, without the option", after(429, "Retry-After-Ms: 1500"), nil, 0},
		{"no delay", after(429), nil, 0},
		{"500", after(500, "Retry-After: 60"), nil, 0},
		{"an error", failure(errCut), nil, 0},
	} {
		bubble(t, c.name, func(t *testing.T) {
			base := newScript(c.first, ok)
			transport := retryhttp.NewTransport(base, constant(0), append(c.opts, retryhttp.Gate())...)
			pass(t, transport, get(t, t.Context()))
			other := get(t, t.Context())
			other.URL.Host = "other.test"
			pass(t, transport, other)
			pass(t, transport, get(t, t.Context()))
			base.expect(t, fmt.Sprint("0s 0s ", c.want))
		})
	}
}

func TestGate_OfSeveralTimesTheLatestCountsAndASuccessDoesNotOpenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := []time.Duration{time.Second, time.Second, 2 * time.Second, 3 * time.Second}
		answers := []func(*http.Request) (*http.Response, error){
			status(429, "", "Retry-After: 10"), // until 11 s
			status(200, ""),
			status(429, "", "Retry-After: 18"), // until 20 s
			status(429, "", "Retry-After: 2"),  // until 5 s
			status(200, ""),
		}
		var mu sync.Mutex
		n := 0
		start := time.Now()
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			i := n
			n++
			mu.Unlock()
			if i < len(takes) {
				time.Sleep(takes[i])
			}
			return answers[i](r)
		})
		transport := retryhttp.NewTransport(base, constant(0), retryhttp.Gate())
		var group sync.WaitGroup
		for i := range takes {
			group.Go(func() {
				time.Sleep(time.Duration(i)) // one after the other, before the first response
				pass(t, transport, get(t, t.Context()))
			})
		}
		time.Sleep(1500 * time.Millisecond)
		resp, err := transport.RoundTrip(get(t, t.Context())) // waits until 11 s, and asks again
		if got := read(t, resp, err); got != "200 " || time.Since(start) != 20*time.Second+2 {
			t.Errorf("%s after %v", got, time.Since(start))
		}
		group.Wait()
	})
}

func TestGate_SpreadsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(status(429, "", "Retry-After: 100"), ok)
		policy := retry.New(backoff.Constant(time.Second).Jitter(jitter.Default), retry.Limit(0), retry.WithRand(func() float64 { return 0.5 }))
		transport := retryhttp.NewTransport(base, policy, retryhttp.Gate())
		for range 2 {
			pass(t, transport, get(t, t.Context()))
		}
		base.expect(t, "0s 1m47.5s") // half of 15 %
	})
}

func TestGate_TheWaitIsNoPartOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		note := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
		budget := retry.NewBudget(1, 1, 0)
		policy := constant(1, retry.AttemptTimeout(10*time.Second), retry.Within(time.Second), retry.WithBudget(budget),
			retry.OnAttempt(func(_ context.Context, e retry.AttemptEnd) { note("attempt %d: %v", e.N, e.Lasted) }),
			retry.OnRetry(func(context.Context, retry.Event) { note("retry") }),
			retry.OnOutage(func(context.Context, error) func() { note("outage"); return nil }),
			retry.OnGiveUp(func(_ context.Context, e *retry.Error) { note("gave up: %v", e.Cause) }))
		slow := func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			if n := stream.AttemptFrom(r.Context()); n != 1 {
				t.Errorf("attempt %d", n)
			}
			return status(200, "fine")(r)
		}
		base := newScript(status(429, "", "Retry-After: 60"), slow)
		transport := retryhttp.NewTransport(base, policy, retryhttp.Gate())
		for _, ctx := range []context.Context{t.Context(), retry.WithoutRetries(t.Context())} {
			pass(t, transport, get(t, ctx))
		}
		base.expect(t, "0s 1m0s")
		want := "attempt 1: 0s, gave up: time limit of 1s, attempt 1: 1s"
		if got := strings.Join(lines, ", "); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if granted, refused := budget.Stats(); granted+refused > 0 {
			t.Errorf("%d retries of the budget, %d refused", granted, refused)
		}
	})
}

func TestGate_RefusesAtOnceWhatWouldWaitTooLong(t *testing.T) {
	for _, c := range []struct {
		name     string
		opts     []retry.Option
		deadline time.Duration // 0: none
		want     error
	}{
		{"deadline", nil, time.Minute, retry.ErrDeadline},
		{"MaxRetryAfter", []retry.Option{retry.MaxRetryAfter(time.Minute - 1)}, 0, retry.ErrMaxRetryAfter},
		{"neither", []retry.Option{retry.MaxRetryAfter(time.Minute)}, time.Minute + 1, nil},
	} {
		bubble(t, c.name, func(t *testing.T) {
			base := newScript(status(429, "busy", "Retry-After: 60"), ok)
			done := 0
			transport := retryhttp.NewTransport(base, constant(0, c.opts...).With(retry.OnDone(func(context.Context, retry.Result) { done++ })), retryhttp.Gate())
			pass(t, transport, get(t, t.Context()))
			ctx := t.Context()
			if c.deadline > 0 {
				cancel := ending(&ctx, c.deadline)
				defer cancel()
			}
			body := &testBody{Reader: strings.NewReader("order")}
			resp, err := transport.RoundTrip(request(t, ctx, "POST", body))
			if done != 2 || !body.closed.Load() {
				t.Errorf("%d operations are done; the body is closed: %v", done, body.closed.Load())
			}
			if c.want == nil {
				read(t, resp, err)
				base.expect(t, "0s 1m0s:order")
				return
			}
			e, _ := err.(*retry.Error)
			if e == nil || !errors.Is(e.Cause, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if last, ok := e.Last.(*retryhttp.StatusError); !ok || last.StatusCode != 429 || string(last.Body) != "busy" {
				t.Errorf("the last error is %#v", e.Last)
			}
			base.expect(t, "0s")
		})
	}
}

func TestGate_APostThatItHeldBackIsRetriedByATransportAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(status(429, "", "Retry-After: 60"), ok)
		inner := retryhttp.NewTransport(base, constant(0, retry.MaxRetryAfter(50*time.Second)), retryhttp.Gate())
		resp, err := inner.RoundTrip(get(t, t.Context()))
		read(t, resp, err)
		outer := retryhttp.NewTransport(inner, retry.New(backoff.Constant(20*time.Second), retry.Limit(1)))
		resp, err = outer.RoundTrip(request(t, t.Context(), "POST", strings.NewReader("order")))
		expectBody(t, resp, err, "200 fine")
		base.expect(t, "0s 1m0s:order")
	})
}

func TestGate_ASignalLetsPassWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signal := retry.NewSignal()
		base := newScript(status(429, "", "Retry-After: 60"), ok)
		transport := retryhttp.NewTransport(base, constant(0, retry.ResetOn(signal)), retryhttp.Gate())
		pass(t, transport, get(t, t.Context()))
		time.AfterFunc(time.Second, signal.Fire)
		for range 2 { // the first one waits when it fires
			pass(t, transport, get(t, t.Context()))
		}
		base.expect(t, "0s 1s 1m0s")
	})
}

func TestGate_TheEndOfTheContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := newScript(status(429, "", "Retry-After: 60"), ok)
		transport := retryhttp.NewTransport(base, constant(0), retryhttp.Gate())
		pass(t, transport, get(t, t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if resp, err := transport.RoundTrip(get(t, ctx)); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("%v, %v after %v", resp, err, time.Since(start))
		}
		base.expect(t, "0s")
	})
}

func TestGate_HoldsBackTheRestOfABodyToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := func(*http.Request) (*http.Response, error) {
			resp, _ := status(200, "", `Etag: "1"`, "Accept-Ranges: bytes")(nil)
			resp.ContentLength = 10
			resp.Body = &testBody{Reader: io.MultiReader(strings.NewReader("01234"), errReader{errCut})}
			return resp, nil
		}
		rest := func(*http.Request) (*http.Response, error) {
			resp, _ := status(206, "56789", `Etag: "1"`, "Content-Range: bytes 5-9/10")(nil)
			resp.ContentLength = 5
			return resp, nil
		}
		base := newScript(whole, status(503, "", "Retry-After: 60"), rest)
		transport := retryhttp.NewTransport(base, constant(1), retryhttp.Gate(), retryhttp.ResumeBody(0), retryhttp.Statuses(500))
		resp, err := transport.RoundTrip(get(t, t.Context()))
		must(t, err)
		other, err := transport.RoundTrip(get(t, t.Context()))
		read(t, other, err)
		if got := read(t, resp, nil); got != "200 0123456789" {
			t.Errorf("got %s", got)
		}
		base.expect(t, "0s 0s 1m0s")
	})
}
