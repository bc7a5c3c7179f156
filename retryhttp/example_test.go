package retryhttp_test

import (
	"bytes"
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
	"github.com/retrywhen/retrywhen/streamtest"
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

// show prints the status of a response.
func show(resp *http.Response, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
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

	show(client.Get(server.URL))
	// Output:
	// retry 1 after 10ms: 400, queue capacity exceeded
	// retry 2 after 10ms: 400, queue capacity exceeded
	// 200 OK
}

var soon = retry.New(backoff.Constant(time.Millisecond), retry.Limit(2))

// Retries carry their number, so that the server's log can distinguish them from new requests.
func ExampleAttemptHeader() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("%s %q\n", r.Method, r.Header.Get("X-Retry-Attempt"))
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer server.Close()
	client := &http.Client{Transport: retryhttp.NewTransport(nil, soon, retryhttp.AttemptHeader())}
	show(client.Get(server.URL)) // the last response, as if there were no retries
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
		show(client.Post(server.URL+"/search", "text/plain", strings.NewReader("backoff")))
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
	show(client.Get(server.URL))
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

	show(client.Get(server.URL))
	// Output:
	// waits 20ms
	// waits 40ms
	// 200 OK
}

// A body that is a stream can be read only once. BufferBody keeps it if it is not too long.
func ExampleBufferBody() {
	server := flakyServer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	defer server.Close()
	for _, options := range [][]retryhttp.Option{nil, {retryhttp.BufferBody(64 << 10)}} {
		client := &http.Client{Transport: retryhttp.NewTransport(nil, soon, options...)}
		upload := io.LimitReader(strings.NewReader("once only"), 9) // no GetBody
		show(client.Post(server.URL, "text/plain", upload))
	}
	// Output:
	// 503 Service Unavailable
	// 200 OK
}

// The server carries out this POST once, however often it is sent.
func ExampleIdempotencyKeys() {
	keys := map[string]int{}
	server := flakyServer(func(w http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get("Idempotency-Key")]++
		w.WriteHeader(http.StatusInternalServerError)
	})
	defer server.Close()
	client := &http.Client{Transport: retryhttp.NewTransport(nil, soon, retryhttp.IdempotencyKeys())}
	resp, err := client.Post(server.URL, "text/plain", strings.NewReader("order"))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status, "keys:", len(keys))
	// Output: 200 OK keys: 1
}

// A proxy's page in place of the service's own text.
func ExampleCheckBody() {
	server := flakyServer(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>please wait</html>") })
	defer server.Close()
	isText := retryhttp.CheckBody(func(resp *http.Response) error {
		body, err := io.ReadAll(resp.Body)
		if bytes.HasPrefix(body, []byte("<")) {
			err = errors.New("not the text that is expected")
		}
		return err
	})
	policy := soon.With(retry.OnRetry(func(_ context.Context, e retry.Event) {
		if status, ok := errors.AsType[*retryhttp.StatusError](e.Err); ok {
			fmt.Println(status.Status, status.Err)
		}
	}))
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy, isText)}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body) // the whole body, although CheckBody has read it
	fmt.Printf("%s\n", body)
	// Output:
	// 200 OK not the text that is expected
	// 200 OK not the text that is expected
	// hello
}

// A service that gives the time in its own header instead of Retry-After.
func ExampleRateLimitHeaders() {
	server := flakyServer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After-Ms", "12")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	defer server.Close()
	policy := soon.With(retry.OnRetry(func(_ context.Context, e retry.Event) { fmt.Println("retry", e.N, "after", e.Delay) }))
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy, retryhttp.RateLimitHeaders())}
	show(client.Get(server.URL))
	// Output:
	// retry 1 after 12ms
	// retry 2 after 12ms
	// 200 OK
}

// RequestFrom returns the request from the context of a hook.
func ExampleRequestFrom() {
	server := flakyServer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	defer server.Close()
	policy := soon.With(retry.OnRecovered(func(ctx context.Context, r retry.Recovery) {
		req := retryhttp.RequestFrom(ctx)
		fmt.Println(req.Method, req.URL.Path, "works again after retry", r.Retries)
	}))
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy)}
	resp, err := client.Get(server.URL + "/health")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	// Output: GET /health works again after retry 2
}

// Code with its own retries, around a client without retries: a failed response becomes an error with the server's
// delay.
func ExampleNewStatusError() {
	server := flakyServer(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "starting", http.StatusServiceUnavailable) })
	defer server.Close()
	policy := retry.New(backoff.Constant(0), retry.Limit(1))
	text, err := retry.Do(context.Background(), policy, func(ctx context.Context) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return "", err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 500 {
			return "", retryhttp.NewStatusError(resp)
		}
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	})
	status, ok := errors.AsType[*retryhttp.StatusError](err)
	fmt.Println(text == "", ok, status.StatusCode, strings.TrimSpace(string(status.Body)))
	// Output: true true 503 starting
}

// The connection breaks in the middle of the file. The program, which copies the body, does not see that.
func ExampleResumeBody() {
	const song = "ninety-nine bottles of beer"
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Printf("%s %q\n", r.Method, r.Header.Get("Range"))
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(&cutWriter{w, 12}, r, "", time.Time{}, strings.NewReader(song)) // breaks after 12 bytes
	}))
	server.Config.ErrorLog = quietLog
	server.Start()
	defer server.Close()
	client := &http.Client{Transport: retryhttp.NewTransport(nil, soon, retryhttp.ResumeBody(30*time.Second))}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Printf("%s, %v\n", text, err)
	// Output:
	// GET ""
	// GET "bytes=12-"
	// GET "bytes=24-"
	// ninety-nine bottles of beer, <nil>
}

// The Transport waits at most this long for the slow body of a failed response.
func ExamplePeekTimeout() {
	server := flakyServer(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the body never comes
	})
	defer server.Close()
	clock := streamtest.NewClock() // so that the example need not wait
	policy := retry.New(backoff.Constant(time.Minute), retry.Limit(2), retry.WithClock(clock))
	waits := make(chan time.Duration, 4)
	go func() {
		for range cap(waits) {
			if w, err := clock.AdvanceToNext(context.Background()); err == nil {
				waits <- w.Delay
			}
		}
		close(waits)
	}()
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy, retryhttp.PeekTimeout(5*time.Second))}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	for d := range waits {
		fmt.Println("waited", d)
	}
	fmt.Println(resp.Status)
	// Output:
	// waited 5s
	// waited 1m0s
	// waited 5s
	// waited 1m0s
	// 200 OK
}

// A server for ten requests a second. Refused requests receive the time at which to retry.
func ExampleSlots() {
	work := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") })
	handler := retryhttp.Slots(10, 2, work)
	for range 5 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 ""
	// 200 ""
	// 429 "1"
	// 429 "1"
	// 429 "1"
}

// A token for all requests of a client: after a 401 one request refreshes it, the others wait, and each is sent again.
func ExampleWithShared() {
	valid := "token 1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+valid {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()

	refreshes := 0
	token := retry.NewShared(
		retry.New(backoff.Exponential(10*time.Millisecond, 2).Cap(time.Minute).Jitter(jitter.Default), retry.AttemptTimeout(10*time.Second)),
		func(context.Context) (string, error) {
			refreshes++
			return fmt.Sprint("token ", refreshes), nil
		})
	defer token.Close()
	bearer := func(r *http.Request, t string) { r.Header.Set("Authorization", "Bearer "+t) }
	client := &http.Client{Transport: retryhttp.NewTransport(retryhttp.WithShared(nil, token, bearer), retry.Default)}

	show(client.Get(server.URL))
	valid = "token 2" // the first one has expired
	show(client.Post(server.URL, "text/plain", strings.NewReader("an order")))
	fmt.Println(refreshes, "refreshes")
	// Output:
	// 200 OK
	// 200 OK
	// 2 refreshes
}

// The second request waits until the time that was dictated to the first one.
func ExampleGate() {
	refused := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused == 0 {
			refused++
			w.Header().Set("Retry-After-Ms", "50")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	policy := retry.New(backoff.Constant(0), retry.Limit(0))
	client := &http.Client{Transport: retryhttp.NewTransport(nil, policy, retryhttp.Gate(), retryhttp.RateLimitHeaders())}
	show(client.Get(server.URL))
	begun := time.Now()
	show(client.Get(server.URL))
	fmt.Println("it has waited:", time.Since(begun) > 40*time.Millisecond)
	// Output:
	// 429 Too Many Requests
	// 200 OK
	// it has waited: true
}
