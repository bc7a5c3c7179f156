package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// seen is what a server has seen of its clients, by path.
type seen struct {
	mu     sync.Mutex
	came   map[string]int
	served map[string]time.Time
}

// TestSlotsWithOtherClients sends 1,000 requests at once to a server that can serve 200 a second: half of them with
// retryhttp, the others with hashicorp's client and curl. Each is refused at most once. The last one is served at the
// earliest possible time, except that clients round up to a second.
func TestSlotsWithOtherClients(t *testing.T) {
	const perSecond, burst, own, theirs, curls = 200, 20, 500, 480, 20
	s := seen{came: map[string]int{}, served: map[string]time.Time{}}
	slots := retryhttp.Slots(perSecond, burst, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.served[r.URL.Path] = time.Now()
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.came[r.URL.Path]++
		s.mu.Unlock()
		slots.ServeHTTP(w, r)
	}))
	defer server.Close()
	base := &http.Transport{MaxIdleConnsPerHost: 100, MaxConnsPerHost: 100}
	defer base.CloseIdleConnections()

	start := time.Now()
	var wg sync.WaitGroup
	for i := range curls { // not one with --parallel: that counts the seconds from the last whole one, so it may come too early
		wg.Go(func() {
			out, err := exec.CommandContext(t.Context(), "curl", "--silent", "--show-error", "--fail", "--retry", "4", fmt.Sprint(server.URL, "/curl/", i)).CombinedOutput()
			if err != nil {
				t.Errorf("curl: %v\n%s", err, out)
			}
		})
	}
	get := func(client *http.Client, path string) {
		resp, err := client.Get(server.URL + path)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.Body.Close(); resp.StatusCode != 200 {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	policy := retry.New(backoff.Constant(10*time.Millisecond), retry.Limit(4))
	for i := range own { // half of them read the milliseconds
		options := []retryhttp.Option{retryhttp.RateLimitHeaders()}[:i%2]
		client := &http.Client{Transport: retryhttp.NewTransport(base, policy, options...)}
		wg.Go(func() { get(client, fmt.Sprint("/retryhttp/", i)) })
	}
	other := retryablehttp.NewClient()
	other.HTTPClient, other.RetryMax, other.Logger = &http.Client{Transport: base}, 4, nil
	for i := range theirs {
		wg.Go(func() { get(other.StandardClient(), fmt.Sprint("/hashicorp/", i)) })
	}
	wg.Wait()

	var last time.Time
	twice := map[string]int{}
	for path, n := range s.came {
		if n > 2 {
			twice[strings.Split(path, "/")[1]]++
		}
	}
	for _, at := range s.served {
		last = slices.MaxFunc([]time.Time{last, at}, time.Time.Compare)
	}
	const all = own + theirs + curls
	earliest := time.Duration(all-burst) * time.Second / perSecond
	t.Logf("%d requests served in %v, the earliest possible is %v; refused more than once: %v", len(s.served), last.Sub(start), earliest, twice)
	if len(s.served) != all {
		t.Errorf("%d requests were served, want %d", len(s.served), all)
	}
	if len(twice) > 0 {
		t.Errorf("refused more than once: %v", twice)
	}
	if took := last.Sub(start); took > earliest+earliest/25+2*time.Second {
		t.Errorf("the last request was served after %v, the earliest possible is %v", took, earliest)
	}
}
