// Package upload sends a file to a server, again from its beginning if an attempt fails.
package upload

import (
	"context"
	"io"
	"net/http"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// Put sends the first size bytes of file with a PUT. Each attempt has a reader of its own: a reader that all share has
// been read by the first one, and the second would send nothing. A response below 500 other than 2xx, 408 and 429 is a
// permanent error.
func Put(ctx context.Context, client *http.Client, url string, file io.ReaderAt, size int64, policy retry.Policy) error {
	return retry.Run(ctx, policy, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, io.NewSectionReader(file, 0, size))
		if err != nil {
			return retry.Permanent(err)
		}
		request.ContentLength = size
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		switch status := response.StatusCode; {
		case status < 300:
			return nil
		case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
			return retryhttp.NewStatusError(response)
		}
		return retry.Permanent(retryhttp.NewStatusError(response))
	})
}
