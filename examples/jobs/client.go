package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// client sends jobs to the server. An error that a retry cannot help is marked as permanent.
type client struct {
	url    string
	http   http.Client
	called func(job int)
}

func newClient(url string, workers int, called func(job int)) *client {
	return &client{url: url, called: called, http: http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: workers},
	}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// send sends a job once. MapRetry calls it.
func (c *client) send(ctx context.Context, job int) (int, error) {
	c.called(job)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, fmt.Sprintf("%s/jobs/%d", c.url, job), nil)
	if err != nil {
		return 0, retry.Permanent(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		_, err = io.Copy(io.Discard, resp.Body)
		return job, err
	}
	err = retryhttp.NewStatusError(resp)
	if resp.StatusCode/100 == 4 {
		err = retry.Permanent(err)
	}
	return 0, err
}
