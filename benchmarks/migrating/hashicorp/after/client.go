package after

import (
	"net/http"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// Add .Jitter(jitter.Full), so that clients that fail together do not come back together.
var policy = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second), retry.Limit(4), retry.Log(nil))

func Client(base http.RoundTripper) *http.Client {
	return &http.Client{Transport: retryhttp.NewTransport(base, policy, retryhttp.BufferBody(1<<20))}
}
