package main

import (
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// client returns a transport with at most four retries, after 10, 20, 40 and 80 ms, and otherwise the library's
// defaults.
type client func(base http.RoundTripper) http.RoundTripper

func ours(base http.RoundTripper) http.RoundTripper {
	return retryhttp.NewTransport(base, retry.New(backoff.Exponential(10*time.Millisecond, 2), retry.Limit(4)))
}

func hashicorp(base http.RoundTripper) http.RoundTripper {
	return hashicorpWaits(base, 10*time.Millisecond, 100*time.Millisecond)
}

func hashicorpWaits(base http.RoundTripper, least, most time.Duration) http.RoundTripper {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base}
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax, c.Logger = 4, least, most, nil
	return &retryablehttp.RoundTripper{Client: c}
}

func failsafe(base http.RoundTripper) http.RoundTripper {
	return failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().
		WithBackoff(10*time.Millisecond, 100*time.Millisecond).WithMaxRetries(4).Build())
}
