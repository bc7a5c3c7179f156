// Package download fetches a file over connections that break or fall silent, in a process that may be killed. It
// continues where it stopped, and begins again if the file has changed since the process was killed.
package download

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// Client returns a client whose downloads continue. silence is the longest time without a byte. If it is for many
// downloads from one server at a time, the policy needs retry.WithBudget.
func Client(policy retry.Policy, silence time.Duration) *http.Client {
	return &http.Client{Transport: retryhttp.NewTransport(nil, policy, retryhttp.ResumeBody(silence))}
}

// Download copies what is at url to the file at path. What has come is in path.part, of the version in path.etag, from
// where a later call continues; at the end path.part becomes path. Download calls progress with the bytes so far and
// with all bytes, which may be -1 at first. One process may write a path at a time.
func Download(ctx context.Context, client *http.Client, url, path string, progress func(done, total int64)) error {
	part, version := path+".part", path+".etag"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	count := &counter{progress: progress}
	tag, _ := os.ReadFile(version)
	if info, err := os.Stat(part); err == nil && len(tag) > 0 && info.Size() > 0 {
		count.done = info.Size()
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", count.done))
		request.Header.Set("If-Range", string(tag))
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	whole := fmt.Sprintf("bytes */%d", count.done)
	switch from := fmt.Sprintf("bytes %d-", count.done); {
	case response.StatusCode == http.StatusPartialContent && response.Header.Get("ETag") == string(tag) && strings.HasPrefix(response.Header.Get("Content-Range"), from):
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable && response.Header.Get("Content-Range") == whole: // the process was killed before the rename
		return finish(part, path, version)
	case response.StatusCode == http.StatusOK: // from the start: the part goes before its version changes
		count.done = 0
		if err := os.RemoveAll(part); err != nil {
			return err
		}
		tag := response.Header.Get("ETag")
		if strings.HasPrefix(tag, "W/") {
			tag = "" // not the same byte for byte
		}
		if err := os.WriteFile(version, []byte(tag), 0o600); err != nil {
			return err
		}
	default:
		return retryhttp.NewStatusError(response)
	}
	file, err := os.OpenFile(part, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if count.total = -1; response.ContentLength >= 0 {
		count.total = count.done + response.ContentLength
	}
	if _, err := io.Copy(io.MultiWriter(file, count), response.Body); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return finish(part, path, version)
}

func finish(part, path, version string) error {
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return os.Remove(version)
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
