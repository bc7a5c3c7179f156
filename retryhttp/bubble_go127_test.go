//go:build go1.27

package retryhttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// closeFreezes says that a Close amid a Read of an HTTP/1 body waits for a mutex, which freezes a bubble.
const closeFreezes = true

// docs/testing.md links to this test.
func TestAnHourOfRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		server := httptest.NewTestServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if time.Since(start) < time.Hour {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		client := server.Client()
		client.Transport = retryhttp.NewTransport(client.Transport, retry.New(backoff.Constant(time.Second), retry.Limit(1)))
		response, err := client.Get(server.URL)
		must(t, err)
		response.Body.Close()
		if took := time.Since(start); response.StatusCode != http.StatusOK || took != time.Hour {
			t.Errorf("%s after %v, want 200 OK after 1h0m0s", response.Status, took)
		}
	})
}
