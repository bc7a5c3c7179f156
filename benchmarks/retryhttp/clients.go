package main

import (
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// client returns a transport that makes 4 retries at most, after 10, 20, 40 and 80 ms, and has the library's defaults
// otherwise.
type client func(base http.RoundTripper) http.RoundTripper

func ours(base http.RoundTripper) http.RoundTripper {
	return retryhttp.NewTransport(base, retry.New(backoff.Exponential(10*time.Millisecond, 2), retry.Limit(4)))
}

func theirs(base http.RoundTripper) http.RoundTripper {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base}
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax, c.Logger = 4, 10*time.Millisecond, 100*time.Millisecond, nil
	return &retryablehttp.RoundTripper{Client: c}
}
