package retryhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

var soon = retry.New(backoff.Constant(time.Millisecond), retry.Limit(2))

// Retries carry their number, so that the server's log can distinguish them from new requests.
func ExampleAttemptHeader() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("%s %q\n", r.Method, r.Header.Get("X-Retry-Attempt"))
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer server.Close()
	client := &http.Client{Transport: retryhttp.NewTransport(nil, soon, retryhttp.AttemptHeader())}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status) // the last response, as if there were no retries
	// Output:
	// GET ""
	// GET "1"
	// GET "2"
	// 502 Bad Gateway
}

// This POST may be carried out twice, because it is a search.
func ExampleIdempotent() {
	server := flakyServer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	defer server.Close()
	for _, options := range [][]retryhttp.Option{
		nil,
		{retryhttp.Idempotent(func(r *http.Request) bool { return r.Method != "POST" || r.URL.Path == "/search" })},
	} {
		client := &http.Client{Transport: retryhttp.NewTransport(nil, soon, options...)}
		resp, err := client.Post(server.URL+"/search", "text/plain", strings.NewReader("backoff"))
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	// Output:
	// 500 Internal Server Error
	// 200 OK
}

// A server that returns "not found" until the resource exists.
func ExampleStatuses() {
	server := flakyServer(http.NotFound)
	defer server.Close()
	client := &http.Client{Transport: retryhttp.NewTransport(nil, soon, retryhttp.Statuses(404, 429, 503))}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

// The policy's hooks receive a failed response as a *StatusError, with the beginning of its body.
func ExamplePeekLimit() {
	server := flakyServer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "rate limit: 100 requests a minute; see our documentation", http.StatusTooManyRequests)
	})
	defer server.Close()
	policy := soon.With(retry.MaxRetryAfter(0), retry.OnGiveUp(func(_ context.Context, e *retry.Error) {
		if status, ok := errors.AsType[*retryhttp.StatusError](e.Last); ok {
			fmt.Printf("%s: %s (wants %v)\n", status.Status, status.Body, status.RetryAfter())
		}
	}))
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy, retryhttp.PeekLimit(10))}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output:
	// 429 Too Many Requests: rate limit (wants 1s)
	// 429
}

// A server that throttles, and does not say for how long, gets more time than one that fails.
func Example_throttling() {
	server := flakyServer(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	})
	defer server.Close()

	throttled := func(err error) bool {
		status, ok := errors.AsType[*retryhttp.StatusError](err)
		return ok && status.StatusCode == http.StatusTooManyRequests
	}
	policy := retry.New(backoff.Exponential(time.Millisecond, 2),
		retry.BackoffFor(throttled, backoff.Exponential(20*time.Millisecond, 2)),
		retry.OnRetry(func(_ context.Context, e retry.Event) { fmt.Println("waits", e.Delay) }))
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy)}

	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// waits 20ms
	// waits 40ms
	// 200 OK
}
