package poller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Pair is a key of Consul and its value.
type Pair struct {
	Key   string
	Value []byte
}

// Watch returns the pairs below a prefix, first at once and then after each change, by Consul's blocking queries: the
// server holds a request until its index has passed, for at most five minutes. The client's Timeout must be longer.
// What changes twice between two queries is seen once.
func Watch(client *http.Client, consul, prefix string, policy stream.RetryHandler) stream.Stream[[]Pair] {
	page := func(ctx context.Context, index uint64) ([][]Pair, uint64, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/v1/kv/%s?recurse&wait=5m&index=%d", consul, prefix, index), http.NoBody)
		if err != nil {
			return nil, 0, stream.Permanent(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, 0, err
		}
		defer response.Body.Close()
		var pairs []Pair
		switch response.StatusCode {
		case http.StatusOK:
			err = json.NewDecoder(response.Body).Decode(&pairs)
		case http.StatusNotFound: // no such key
		default:
			err = retryhttp.NewStatusError(response)
		}
		next, _ := strconv.ParseUint(response.Header.Get("X-Consul-Index"), 10, 64)
		switch {
		case err != nil || next == index:
			return nil, index, err // nothing has changed
		case next < index:
			return nil, 0, nil // the server begins again: ask without an index
		}
		return [][]Pair{pairs}, next, nil
	}
	// A server that answers at once although nothing has changed is asked once a second.
	return operators.Poll(time.Second, 0, page, policy)
}
