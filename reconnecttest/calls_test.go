package reconnecttest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

type newCaller = func(reconnecttest.Dial) func(context.Context) (string, error)

// found measures a caller, and returns what is found, in order.
func found(t *testing.T, make newCaller, opts ...reconnecttest.Option) ([]prove.Finding, prove.Measured) {
	t.Helper()
	var all []prove.Finding
	m := reconnecttest.CheckCalls(t, make, append(opts, reconnecttest.OnFinding(func(f prove.Finding) { all = append(all, f) }))...)
	return all, m
}

func kindsOf(all []prove.Finding) (kinds []string) {
	for _, f := range all {
		kinds = append(kinds, string(f.Kind))
	}
	slices.Sort(kinds)
	return kinds
}

func text(s string) func(int) io.Reader { return func(int) io.Reader { return strings.NewReader(s) } }

// Each kind is found in a caller that has that fault alone.
func TestCheckCalls_WrongCallers(t *testing.T) {
	if testing.Short() {
		t.Skip("each takes half a second")
	}
	jittered := func(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }
	post := byLoop{method: http.MethodPost, body: text("order")}
	once := strings.NewReader
	shown := map[string]bool{}
	for _, test := range []struct {
		name string
		make newCaller
		want string // "kind, kind"
		says string // in one of the findings
	}{
		{"no wait", byLoop{wait: func(int) time.Duration { return 0 }}.caller, "hot", "it asked 5 times, without a wait before 4 of them"},
		{"no wait, forever", byLoop{attempts: -1, wait: func(int) time.Duration { return 0 }}.caller, "hot", ""},
		{"no wait after refusals", byLoop{attempts: 50, retries: func(int) bool { return false }, wait: func(int) time.Duration { return 0 }}.caller, "hot", ""},
		{"a shift that overflows after half an hour", byLoop{attempts: -1, wait: func(n int) time.Duration {
			return min(time.Second<<n, 30*time.Second) + rand.N(4*time.Millisecond)
		}}.caller, "hot", ""},
		{"no timeout", byLoop{timeout: -1}.caller, "silent", "it still waits for an answer after 1h0m0s"},
		{"a wait that does not end", byLoop{sleep: func(_ context.Context, d time.Duration) error { time.Sleep(d); return nil },
			wait: func(n int) time.Duration { return jittered(10 * time.Second) }}.caller, "late", "it has not returned 1s after"},
		{"a request under another context", byLoop{timeout: -1, transport: func(base *http.Transport) { base.ResponseHeaderTimeout = time.Minute }}.under(context.WithoutCancel), "late", "after it was told to end"},
		{"no jitter", byLoop{wait: func(n int) time.Duration { return time.Second << n }}.caller, "jitter", "5 of 5 runs waited equally long: 2s, then 4s"},
		{"one seed", seeded, "jitter", ""},
		{"no cap", byLoop{attempts: 12, wait: func(n int) time.Duration { return jittered(time.Second << n) }}.caller, "cap", "before request"},
		{"Retry-After is not read", byLoop{ignores: func(string) bool { return true }}.caller, "early", "before the time that Retry-After says"},
		{"Retry-After is not read as a date", byLoop{ignores: func(h string) bool { return len(h) > 5 }}.caller, "early", ""},
		{"a POST without a key", post.caller, "unsafe", "it sent a POST again"},
		{"a body that is read once", func(dial reconnecttest.Dial) func(context.Context) (string, error) {
			body := once("order")
			return byLoop{method: http.MethodPut, body: func(int) io.Reader { return io.MultiReader(body) }}.caller(dial)
		}, "body", "request 2 has another body than the one before"},
		{"a header that is set once", byLoop{header: func(n int, h http.Header) {
			if n == 1 {
				h.Set("X-Tenant", "a")
			}
		}}.caller, "body", "request 2 has no X-Tenant"},
		{"half an answer", byLoop{read: func(r io.Reader) ([]byte, error) { b, _ := io.ReadAll(r); return b, nil }}.caller, "half", `it took "{\"ok\"" for the whole answer "{\"ok\":true}"`},
		{"each status is retried", byLoop{retries: func(int) bool { return true }}.caller, "vain", "it sent the same request again after 400"},
		{"no error", byLoop{swallows: true}.caller, "swallowed", `nothing succeeded, and it returned no error, but ""`},
		{"too often", byLoop{attempts: 60, wait: func(int) time.Duration { return jittered(time.Second) }}.caller, "storm", "in 30s, for one call"},
		{"two layers", byLoop{layers: 1, attempts: 6, wait: func(int) time.Duration { return jittered(500 * time.Millisecond) }}.caller, "storm, vain", ""},
		{"a pool that does not look", pooled{}.caller, "stale", "it failed after a kept connection was closed: write: broken pipe"},
		{"bodies that are not closed", byLoop{keepsBody: true, timeout: -1, transport: func(base *http.Transport) { base.ResponseHeaderTimeout = time.Minute }}.caller, "open", "connections open"},
		{"a goroutine for each attempt", byLoop{failed: func(context.Context, int) { go time.Sleep(20 * time.Minute) }}.caller, "left", "running"},
		{"a panic", byLoop{retries: func(status int) bool { panic("no such status") }}.caller, "panic", "it panicked: no such status"},
	} {
		if shown[test.want] && !night { // by day the first of each kind
			continue
		}
		shown[test.want] = true
		t.Run(test.name, func(t *testing.T) {
			all, m := found(t, test.make)
			if got := strings.Join(kindsOf(all), ", "); got != test.want {
				t.Errorf("got %q, want %q: %v", got, test.want, all)
			}
			if !slices.ContainsFunc(all, func(f prove.Finding) bool { return strings.Contains(f.What, test.says) }) {
				t.Errorf("got %v, want %q", all, test.says)
			}
			if !slices.Equal(kindsOf(m.Findings), kindsOf(all)) {
				t.Errorf("Measured has %v", m.Findings)
			}
		})
	}
}

func (c byLoop) with(change func(*byLoop)) byLoop {
	change(&c)
	return c
}

// under is a caller whose requests have another context.
func (c byLoop) under(other func(context.Context) context.Context) newCaller {
	return func(dial reconnecttest.Dial) func(context.Context) (string, error) {
		call := c.caller(dial)
		return func(ctx context.Context) (string, error) { return call(other(ctx)) }
	}
}

// seeded is a caller whose random numbers are the same in each process.
func seeded(dial reconnecttest.Dial) func(context.Context) (string, error) {
	random := rand.New(rand.NewPCG(1, 2))
	return byLoop{wait: func(n int) time.Duration { return time.Second<<n + time.Duration(random.Int64N(int64(time.Second))) }}.caller(dial)
}

// Callers that come near to a fault are not blamed.
func TestCheckCalls_RightCallers(t *testing.T) {
	if testing.Short() {
		t.Skip("each takes half a second")
	}
	post := byLoop{method: http.MethodPost, body: text("order")}
	day := []string{"a loop by hand", "a token in the same attempt", "hedged", "a POST with a key", "Retry-After is an error", "retryhttp, a budget"}
	for name, make := range map[string]newCaller{
		"a loop by hand":               byLoop{}.caller,
		"one attempt":                  byLoop{attempts: 1}.caller,
		"full jitter of 100 ms":        byLoop{wait: func(n int) time.Duration { return rand.N(100 * time.Millisecond << n) }}.caller,
		"a token in the same attempt":  refreshing,
		"a breaker":                    broken,
		"hedged":                       hedged,
		"a body that is sent once":     streams,
		"a POST with a key":            post.with(func(c *byLoop) { c.key = func(int) string { return "1234" } }).caller,
		"a POST after 503 and 429":     post.with(func(c *byLoop) { c.refuses, c.retries = true, func(s int) bool { return s == 503 || s == 429 } }).caller,
		"409 is retried":               byLoop{retries: func(status int) bool { return status == 409 || status >= 500 && status != 501 }}.caller,
		"Retry-After is an error":      byLoop{retries: func(status int) bool { return status >= 500 && status < 501 }}.caller,
		"a pool that looks":            pooled{looks: true}.caller,
		"without kept connections":     byLoop{transport: func(base *http.Transport) { base.DisableKeepAlives = true }}.caller,
		"a long wait, told to wait":    byLoop{attempts: 3, wait: func(int) time.Duration { return 4*time.Minute + rand.N(30*time.Second) }}.caller,
		"an attempt timeout of 50 min": byLoop{timeout: 50 * time.Minute}.caller,
		"half an answer is retried":    byLoop{read: io.ReadAll}.caller,
		"fifteen requests":             byLoop{attempts: 15, wait: func(int) time.Duration { return time.Second + rand.N(500*time.Millisecond) }}.caller,
		"retryhttp":                    ofPolicy(retry.Default.With(retry.Limit(4), retry.MaxRetryAfter(time.Minute), retry.AttemptTimeout(5*time.Second))),
		"retryhttp, a budget": ofPolicy(retry.Default.With(retry.MaxRetryAfter(time.Minute), retry.AttemptTimeout(5*time.Second),
			retry.WithBudget(retry.NewBudget(10, 1, 0.1)))),
	} {
		if !night && !slices.Contains(day, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if all, _ := found(t, make); len(all) > 0 {
				t.Errorf("got %v", all)
			}
		})
	}
}

// ofPolicy is a caller by package retryhttp.
func ofPolicy(p retry.Policy) newCaller {
	return func(dial reconnecttest.Dial) func(context.Context) (string, error) {
		client := &http.Client{Transport: retryhttp.NewTransport(&http.Transport{DialContext: dial}, p)}
		return func(ctx context.Context) (string, error) { return byLoop{attempts: 1, timeout: -1}.call(ctx, client) }
	}
}

// What the waits show is the policy, with what was seen and no more. Its random numbers are the same each time, because
// one policy in many is taken for another.
func TestCheckCalls_Policy(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		policy retry.Policy
		want   string
	}{
		{retry.New(backoff.Exponential(time.Second, 2).Jitter(jitter.Default), retry.Limit(4)), "exponential base=1s factor=2 jitter=default limit=4"},
		{retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(2*time.Minute), retry.AttemptTimeout(3*time.Second)), "exponential base=100ms factor=2 cap=2m attempttimeout=3s"},
		{retry.New(backoff.Linear(2*time.Second), retry.Limit(5)), "linear d=2s limit=5"},
		{retry.New(backoff.Constant(10 * time.Second).Jitter(jitter.Full)), "constant d=10s jitter=full"},
		{retry.New(backoff.Fibonacci(time.Second), retry.Limit(6)), "fibonacci d=1s limit=6"},
		{retry.New(backoff.Table(time.Second, 5*time.Second, 7*time.Second), retry.Limit(3)), "table delays=1s,5s,7s limit=3"},
		{retry.New(backoff.Quadratic(time.Second).Jitter(jitter.Equal), retry.Limit(5)), "quadratic d=1s jitter=equal limit=5"},
		{retry.New(backoff.Exponential(time.Second, 2), retry.Limit(0)), ""},
	} {
		_, m := found(t, ofPolicy(test.policy.With(retry.WithRand(random.Float64))), reconnecttest.NoJitter())
		if m.Policy != test.want {
			t.Errorf("%v: got %q, or %q, because %s", test.policy, m.Policy, m.Or, m.Why)
		}
		if _, err := retry.Parse(m.Policy); m.Policy != "" && err != nil {
			t.Error(err)
		}
	}
}

func TestCheckCalls_Rows(t *testing.T) {
	_, m := found(t, byLoop{wait: func(n int) time.Duration { return time.Duration(n) * time.Second }}.caller, reconnecttest.NoJitter())
	if m.Request != "GET /item" || m.PerCall != 5 {
		t.Errorf("got %s, %v requests for each call", m.Request, m.PerCall)
	}
	const s = time.Second
	for _, want := range []prove.Row{
		{Way: "undisturbed", Requests: 1, How: "succeeds", Result: `{"ok":true}`},
		{Way: "503 twice", Requests: 3, Waits: []time.Duration{s, 2 * s}, How: "succeeds after 3s", Result: `{"ok":true}`},
		{Way: "503 throughout", Requests: 5, Waits: []time.Duration{s, 2 * s, 3 * s, 4 * s}, How: "fails after 10s", Error: "status 503"},
		{Way: "400", Requests: 1, How: "fails at once", Error: "status 400"},
		{Way: "429", Requests: 2, Waits: []time.Duration{s}, How: "succeeds after 1s", Result: `{"ok":true}`},
		{Way: "silence", Requests: 2, Waits: []time.Duration{s}, How: "succeeds after 6s", Result: `{"ok":true}`},
		{Way: "refused for 2 s", Requests: 1, Waits: []time.Duration{s, 2 * s}, How: "succeeds after 3s", Result: `{"ok":true}`},
		{Way: "told in a wait", Requests: 1, How: "ends when it is told to"},
		{Way: "silence, a deadline of 10s", Requests: 2, Waits: []time.Duration{s}, How: "succeeds after 6s", Result: `{"ok":true}`},
		{Way: "Retry-After a day", Requests: 1, How: "fails at once", Error: "status 503"},
	} {
		i := slices.IndexFunc(m.Rows, func(r prove.Row) bool { return r.Way == want.Way })
		if i < 0 || fmt.Sprint(m.Rows[i]) != fmt.Sprint(want) {
			t.Errorf("got %+v\nwant %+v", m.Rows[max(i, 0)], want)
		}
	}
}

func TestCheckCalls_WhatCannotBeMeasured(t *testing.T) {
	for want, make := range map[string]newCaller{
		"the program made no request": func(reconnecttest.Dial) func(context.Context) (string, error) {
			return func(context.Context) (string, error) { return "", nil }
		},
		"the call failed: no": func(dial reconnecttest.Dial) func(context.Context) (string, error) {
			call := byLoop{}.caller(dial)
			return func(ctx context.Context) (string, error) {
				_, _ = call(ctx)
				return "", errors.New("no")
			}
		},
		"a call makes 2 requests GET /item, which cannot be told from retries": func(dial reconnecttest.Dial) func(context.Context) (string, error) {
			call := byLoop{}.caller(dial)
			return func(ctx context.Context) (string, error) {
				_, _ = call(ctx)
				return call(ctx)
			}
		},
	} {
		f := &faults{T: t}
		reconnecttest.CheckCalls(f, make)
		if len(f.text) != 1 || !strings.Contains(f.text[0], "reconnecttest: CheckCalls: undisturbed: "+want) {
			t.Errorf("got %q, want %q", f.text, want)
		}
	}
}

// A client that keeps a mutex while it waits stops its bubble. That is a finding, and after three such runs no
// other is played.
func TestCheckCalls_CannotBeJudged(t *testing.T) {
	if !freezes(t) {
		return
	}
	all, m := found(t, byLoop{timeout: -1, failed: func(context.Context, int) {
		var mu sync.Mutex
		mu.Lock()
		time.AfterFunc(time.Second, mu.Unlock)
		mu.Lock()
	}}.caller)
	if len(all) != 1 || all[0].Kind != prove.Unjudged || all[0].Shown != 3 || !strings.Contains(all[0].What, "[sync.Mutex.Lock]") ||
		len(m.Rows) != 3 || m.Rows[1].How != "cannot be judged" || m.Policy != "" {
		t.Errorf("got %+v, %+v", all, m.Rows)
	}
}

func TestCheckCalls_Options(t *testing.T) {
	unsafe := byLoop{method: http.MethodPost, wait: func(n int) time.Duration { return time.Second << n }}.caller
	if all, _ := found(t, unsafe, reconnecttest.AtLeastOnce(), reconnecttest.NoJitter()); len(all) > 0 {
		t.Errorf("got %v", all)
	}
	f := &faults{T: t}
	reconnecttest.CheckCalls(f, unsafe, reconnecttest.Known(prove.Unsafe, "500", "orders have numbers"), reconnecttest.Known(prove.Vain, "", "it was, once"))
	if len(f.text) != 2 || !strings.HasPrefix(f.text[0], "reconnecttest: CheckCalls: 503 throughout: 5 of 5 runs waited equally long") ||
		!strings.HasPrefix(f.text[1], `reconnecttest: CheckCalls: there is no finding of the kind "vain"`) {
		t.Errorf("got %q", f.text)
	}
	for want, option := range map[string]reconnecttest.Option{
		"AnyOrder does not apply": reconnecttest.AnyOrder(), "GivesUp does not apply": reconnecttest.GivesUp(), "Latest does not apply": reconnecttest.Latest(),
		`Known: kind is "lost", which this check cannot find`: reconnecttest.Known(prove.Lost, "", "why"),
	} {
		got := fmt.Sprint(check.Recovered(func() { reconnecttest.CheckCalls(t, unsafe, option) }))
		if !strings.Contains(got, "reconnecttest: CheckCalls: "+want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
