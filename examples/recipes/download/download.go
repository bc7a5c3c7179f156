// Package download fetches a file over connections that break or fall silent. The download continues where it stopped,
// and fails if the file has changed meanwhile.
package download

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// Client returns a client whose downloads continue. silence is the longest time without a byte.
func Client(policy retry.Policy, silence time.Duration) *http.Client {
	return &http.Client{Transport: retryhttp.NewTransport(nil, policy, retryhttp.ResumeBody(silence))}
}

// Download copies the file at url to w. It calls progress with the bytes so far and with all bytes, -1 if that is
// unknown.
func Download(ctx context.Context, client *http.Client, url string, w io.Writer, progress func(done, total int64)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return retryhttp.NewStatusError(response)
	}
	count := &counter{total: response.ContentLength, progress: progress}
	_, err = io.Copy(io.MultiWriter(w, count), response.Body)
	return err
}

// counter reports how many bytes were written to it.
type counter struct {
	done, total int64
	progress    func(done, total int64)
}

func (c *counter) Write(p []byte) (int, error) {
	c.done += int64(len(p))
	c.progress(c.done, c.total)
	return len(p), nil
}
