// Package github follows a list of GitHub's REST API: its pages, and then what is added to the last one.
package github

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Position is how far a list is read: the URL of the page, and how many of its values are taken. A page's URL alone is
// no position, because the last page grows.
type Position struct {
	Page  string
	Taken int
}

// Item is a value, and the position after it: store it with the value's effect.
type Item[T any] struct {
	Value T
	After Position
}

var next = regexp.MustCompile(`<([^<>]*)>; rel="next"`)

// Follow returns the values of the list from start on, and every so often asks for new ones. The client needs a
// Timeout, which finds silence. The list must be in the order of creation, oldest first, as
//
//	https://api.github.com/repos/OWNER/NAME/issues/comments?sort=created&direction=asc&per_page=100
//
// is. A value that is deleted from an earlier page moves the others forward, and one of them is skipped: for a list
// from which values are deleted, poll by the time and the id.
//
// A rate limit dictates the delay, up to an hour: the policy needs retry.MaxRetryAfter. A 403 that does not say when it
// ends waits for a minute, as GitHub's documents want. Any other 4xx is permanent.
func Follow[T any](client *http.Client, token string, start Position, every time.Duration, policy stream.RetryHandler) stream.Stream[Item[T]] {
	return operators.Poll(every, start, func(ctx context.Context, at Position) (items []Item[T], _ Position, _ error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.Page, nil)
		if err != nil {
			return nil, at, stream.Permanent(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := client.Do(request)
		if err != nil {
			return nil, at, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, at, refusal(response)
		}
		var values []T
		if err := json.NewDecoder(response.Body).Decode(&values); err != nil {
			return nil, at, err
		}
		for i := at.Taken; i < len(values); i++ {
			items = append(items, Item[T]{values[i], Position{at.Page, i + 1}})
		}
		end := Position{at.Page, len(values)}
		if link := next.FindStringSubmatch(response.Header.Get("Link")); link != nil {
			end = Position{Page: link[1]}
		}
		return items, end, nil
	}, policy)
}

func refusal(response *http.Response) error {
	h := response.Header
	reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err == nil && h.Get("X-RateLimit-Remaining") == "0" && h.Get("Retry-After") == "" {
		h.Set("Retry-After", time.Unix(reset, 0).UTC().Format(http.TimeFormat))
	}
	failure := retryhttp.NewStatusError(response)
	quota := h.Get("X-RateLimit-Remaining") != "" && !bytes.Contains(failure.Body, []byte("secondary rate limit"))
	if h.Get("Retry-After") == "" && response.StatusCode == http.StatusForbidden && !quota {
		return retry.RetryAfter(failure, time.Minute)
	}
	if response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests || h.Get("Retry-After") != "" {
		return failure
	}
	return stream.Permanent(failure)
}
