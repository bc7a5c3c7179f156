package retryhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// flakyServer fails twice, in the given way.
func flakyServer(fail http.HandlerFunc) *httptest.Server {
	var n atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= 2 {
			fail(w, r)
			return
		}
		fmt.Fprint(w, "hello")
	}))
}

func ExampleNewTransport() {
	server := flakyServer(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "starting", http.StatusServiceUnavailable)
	})
	defer server.Close()

	policy := retry.New(backoff.Exponential(10*time.Millisecond, 2).Cap(time.Second).Jitter(jitter.Equal),
		retry.Limit(5),                   // each request
		retry.MaxRetryAfter(time.Minute), // a Retry-After of an hour is a response too
	)
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy), Timeout: 30 * time.Second}

	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, string(body))
	// Output: 200 OK hello
}

// A server that returns 400 when its queue is full.
func ExampleClassify() {
	server := flakyServer(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "queue capacity exceeded", http.StatusBadRequest)
	})
	defer server.Close()

	queueFull := retryhttp.Classify(func(o *retryhttp.Outcome) retryhttp.Class {
		if strings.Contains(string(o.Peek()), "queue capacity exceeded") {
			return retryhttp.Retryable
		}
		return retryhttp.Unclassified
	})
	policy := retry.New(backoff.Constant(10*time.Millisecond), retry.Limit(5), retry.OnRetry(func(_ context.Context, e retry.Event) {
		if status, ok := errors.AsType[*retryhttp.StatusError](e.Err); ok {
			fmt.Printf("retry %d after %v: %d, %s", e.N, e.Delay, status.StatusCode, status.Body)
		}
	}))
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy, queueFull)}

	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// retry 1 after 10ms: 400, queue capacity exceeded
	// retry 2 after 10ms: 400, queue capacity exceeded
	// 200 OK
}
