package before

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

func Client(base http.RoundTripper) *http.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base}
	c.RetryWaitMin = time.Second
	c.RetryWaitMax = 30 * time.Second
	c.RetryMax = 4
	c.Logger = slog.Default()
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler // else the last response becomes an error
	return c.StandardClient()
}
