// Package migrating contains the code of docs/migrating.md, and checks that before and after do the same.
package migrating

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	apimachineryafter "github.com/retrywhen/retrywhen/benchmarks/migrating/apimachinery/after"
	apimachinerybefore "github.com/retrywhen/retrywhen/benchmarks/migrating/apimachinery/before"
	avastafter "github.com/retrywhen/retrywhen/benchmarks/migrating/avast/after"
	avastbefore "github.com/retrywhen/retrywhen/benchmarks/migrating/avast/before"
	cenkaltiafter "github.com/retrywhen/retrywhen/benchmarks/migrating/cenkalti/after"
	cenkaltibefore "github.com/retrywhen/retrywhen/benchmarks/migrating/cenkalti/before"
	hashicorpafter "github.com/retrywhen/retrywhen/benchmarks/migrating/hashicorp/after"
	hashicorpbefore "github.com/retrywhen/retrywhen/benchmarks/migrating/hashicorp/before"
	jpilloraafter "github.com/retrywhen/retrywhen/benchmarks/migrating/jpillora/after"
	jpillorabefore "github.com/retrywhen/retrywhen/benchmarks/migrating/jpillora/before"
	rxgoafter "github.com/retrywhen/retrywhen/benchmarks/migrating/rxgo/after"
	rxgobefore "github.com/retrywhen/retrywhen/benchmarks/migrating/rxgo/before"
	samberafter "github.com/retrywhen/retrywhen/benchmarks/migrating/samber/after"
	samberbefore "github.com/retrywhen/retrywhen/benchmarks/migrating/samber/before"
)

var errBusy = errors.New("busy")

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	os.Exit(m.Run())
}

// TestCallsDoTheSame compares the number of calls and the results.
func TestCallsDoTheSame(t *testing.T) {
	type fetch func(context.Context, func(context.Context) (string, error)) (string, error)
	for _, c := range []struct {
		name          string
		before, after fetch
		notFound      [2]error
	}{
		{"cenkalti", cenkaltibefore.Fetch, cenkaltiafter.Fetch, [2]error{cenkaltibefore.ErrNotFound, cenkaltiafter.ErrNotFound}},
		{"avast", avastbefore.Fetch, avastafter.Fetch, [2]error{avastbefore.ErrNotFound, avastafter.ErrNotFound}},
	} {
		for fails := range 8 {
			for _, permanent := range []bool{false, true} {
				var outcomes [2]string
				for i, f := range []fetch{c.before, c.after} {
					synctest.Test(t, func(t *testing.T) {
						failure, calls := errBusy, 0
						if permanent {
							failure = c.notFound[i]
						}
						page, err := f(t.Context(), func(context.Context) (string, error) {
							if calls++; calls <= fails {
								return "", failure
							}
							return "page", nil
						})
						outcomes[i] = fmt.Sprint(calls, page, errors.Is(err, failure))
					})
				}
				if outcomes[0] != outcomes[1] {
					t.Errorf("%s, %d failures, permanent %v: before %s, after %s", c.name, fails, permanent, outcomes[0], outcomes[1])
				}
			}
		}
	}
}

// script is what a source does in each of its runs: lines, and then a failure, except in the last run.
var script = [][]string{{"a", "b"}, {}, {}, {"c"}, {}, {"d"}}

// TestFeedsDoTheSame compares the values of a stream, and their times.
func TestFeedsDoTheSame(t *testing.T) {
	for _, attempts := range []int{1, 3, 6} {
		var outcomes [2]string
		synctest.Test(t, func(t *testing.T) {
			began, n := time.Now(), 0
			lines, err := samberbefore.Feed(t.Context(), func(_ context.Context, line func(string)) error {
				return play(attempts, &n, func(s string) bool { line(s); return true })
			})
			outcomes[0] = fmt.Sprint(lines, err, n, time.Since(began))
		})
		synctest.Test(t, func(t *testing.T) {
			began, n := time.Now(), 0
			lines, err := samberafter.Feed(t.Context(), func(_ context.Context, line func(string) bool) error {
				return play(attempts, &n, line)
			})
			outcomes[1] = fmt.Sprint(lines, err, n, time.Since(began))
		})
		if outcomes[0] != outcomes[1] {
			t.Errorf("%d attempts: before %s, after %s", attempts, outcomes[0], outcomes[1])
		}
	}
}

// play is the n-th run of the script. The run numbered attempts ends without an error.
func play(attempts int, n *int, line func(string) bool) error {
	run := script[*n]
	*n++
	for _, s := range run {
		if !line(s) {
			return nil
		}
	}
	if *n == attempts {
		return nil
	}
	return errBusy
}

// TestObservablesDoTheSame compares the items of an rxgo observable.
func TestObservablesDoTheSame(t *testing.T) {
	decode := func(_ context.Context, v any) (any, error) { return strings.ToUpper(v.(string)), nil }
	for _, attempts := range []int{1, 3, 6, 7} { // the seventh is one too many
		var outcomes [2]string
		for i, feed := range []func(context.Context, rxgo.Producer, rxgo.Func) rxgo.Observable{rxgobefore.Feed, rxgoafter.Feed} {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				read := func(_ context.Context, next chan<- rxgo.Item) {
					err := play(attempts, &n, func(s string) bool { next <- rxgo.Of(s); return true })
					if err != nil {
						next <- rxgo.Error(err)
					}
				}
				var items []string
				for item := range feed(t.Context(), read, decode).Observe() {
					if item.Error() {
						items = append(items, fmt.Sprint(errors.Is(item.E, errBusy)))
					} else {
						items = append(items, item.V.(string))
					}
				}
				outcomes[i] = fmt.Sprint(items, n)
			})
		}
		if outcomes[0] != outcomes[1] || !slices.Contains([]string{"[A B] 1", "[A B] 3", "[A B C D] 6", "[A B C D true] 6"}, outcomes[0]) {
			t.Errorf("%d attempts: before %s, after %s", attempts, outcomes[0], outcomes[1])
		}
	}
}

// TestClientsDoTheSame compares when an http.Client sends a request, and what it returns.
func TestClientsDoTheSame(t *testing.T) {
	for _, c := range []struct {
		method, body string
		status       int    // of the failures; 0: the connection breaks
		header       string // Retry-After of the failures
		same         string // what both do after nine failures; after fewer they do less of the same
		after        string // what the program after does instead, if that is intended
	}{
		{method: "GET", status: 503, same: "0s 1s 3s 7s 15s: 503"},
		{method: "GET", status: 500, same: "0s 1s 3s 7s 15s: 500"},
		{method: "GET", status: 429, same: "0s 1s 3s 7s 15s: 429"},
		{method: "GET", status: 429, header: "5", same: "0s 5s 10s 15s 20s: 429"},
		{method: "GET", status: 404, same: "0s: 404"},
		{method: "GET", status: 501, same: "0s: 501"},
		{method: "GET", same: "0s 1s 3s 7s 15s: error"},
		{method: "PUT", body: "text", status: 503, same: "0s 1s 3s 7s 15s: 503"},
		{method: "POST", body: "text", status: 503, same: "0s 1s 3s 7s 15s: 503"},
		{method: "POST", body: "text", status: 500, same: "0s 1s 3s 7s 15s: 500", after: "0s: 500"},
		{method: "POST", body: "text", same: "0s 1s 3s 7s 15s: error", after: "0s: error"},
		{method: "GET", status: 505, same: "0s 1s 3s 7s 15s: 505", after: "0s: 505"},
		{method: "GET", status: 408, same: "0s: 408", after: "0s 1s 3s 7s 15s: 408"},
	} {
		for i, client := range []func(http.RoundTripper) *http.Client{hashicorpbefore.Client, hashicorpafter.Client} {
			for _, failures := range []int{0, 2, 9} {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					var sent []string
					base := roundTripper(func(r *http.Request) (*http.Response, error) {
						sent = append(sent, time.Since(began).String())
						if r.Body != nil {
							if body, err := io.ReadAll(r.Body); string(body) != c.body || err != nil {
								t.Errorf("%+v: sent %q, %v", c, body, err)
							}
						}
						resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}
						if len(sent) > failures {
							return resp, nil
						}
						if c.status == 0 {
							return nil, errBusy
						}
						resp.StatusCode = c.status
						if c.header != "" {
							resp.Header.Set("Retry-After", c.header)
						}
						return resp, nil
					})
					req, err := http.NewRequestWithContext(t.Context(), c.method, "http://example.test", io.NopCloser(strings.NewReader(c.body)))
					if err != nil {
						t.Fatal(err)
					}
					resp, err := client(base).Do(req)
					result := "error"
					if err == nil {
						result = fmt.Sprint(resp.StatusCode)
						resp.Body.Close()
					}
					want := c.same
					if i == 1 && c.after != "" {
						want = c.after
					}
					times, end, _ := strings.Cut(want, ": ")
					if all := strings.Fields(times); len(all) > failures {
						times, end = strings.Join(all[:failures+1], " "), "200"
					}
					if got := strings.Join(sent, " "); got != times || result != end {
						t.Errorf("%+v, %d failures, program %d: %s: %s, want %s: %s", c, failures, i, got, result, times, end)
					}
				})
			}
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestLoopsDoTheSame compares when a loop dials, over 20 connections that fail at once, serve and break, or end well.
func TestLoopsDoTheSame(t *testing.T) {
	const plan = "..s..........s.s...e" // a dot is a refusal, s serves and breaks, e serves and ends
	var outcomes [2]string
	for i, follow := range []func(context.Context, func(context.Context) (io.ReadCloser, error), func(io.Reader) error) error{jpillorabefore.Follow, jpilloraafter.Follow} {
		synctest.Test(t, func(t *testing.T) {
			began, n := time.Now(), 0
			var notes []string
			dial := func(context.Context) (io.ReadCloser, error) {
				notes = append(notes, time.Since(began).String())
				if n++; plan[n-1] == '.' {
					return nil, errBusy
				}
				return io.NopCloser(strings.NewReader(plan[n-1 : n])), nil
			}
			serve := func(conn io.Reader) error {
				time.Sleep(time.Minute)
				if text, err := io.ReadAll(conn); string(text) != "e" || err != nil {
					return errors.Join(err, errBusy)
				}
				return nil
			}
			err := follow(t.Context(), dial, serve)
			ctx, cancel := context.WithTimeout(t.Context(), 350*time.Millisecond)
			defer cancel()
			n = 0
			ended := follow(ctx, dial, serve)
			outcomes[i] = fmt.Sprint(notes, err, n, errors.Is(ended, context.DeadlineExceeded))
		})
	}
	if outcomes[0] != outcomes[1] || !strings.HasPrefix(outcomes[0], "[0s 100ms 300ms 1m0.4s") || !strings.HasSuffix(outcomes[0], " <nil> 3 true") {
		t.Errorf("before %s, after %s", outcomes[0], outcomes[1])
	}
}

// TestChecksDoTheSame compares how often and when something is checked, and the result.
func TestChecksDoTheSame(t *testing.T) {
	for fails := range 8 {
		for _, end := range []error{nil, errBusy} {
			var outcomes [2]string
			for i, ready := range []func(context.Context, func(context.Context) (bool, error)) error{apimachinerybefore.Ready, apimachineryafter.Ready} {
				synctest.Test(t, func(t *testing.T) {
					began, n := time.Now(), 0
					err := ready(t.Context(), func(context.Context) (bool, error) {
						if n++; n <= fails {
							return false, nil
						}
						return end == nil, end
					})
					outcomes[i] = fmt.Sprint(n, time.Since(began), err == nil, errors.Is(err, errBusy))
				})
			}
			if outcomes[0] != outcomes[1] {
				t.Errorf("%d times not ready, then %v: before %s, after %s", fails, end, outcomes[0], outcomes[1])
			}
		}
	}
}
