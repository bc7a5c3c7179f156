// Package docker follows the states of a Docker daemon's containers. The daemon has no log of its events that could be
// read from a position, so each attempt begins with a list.
package docker

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Container is a container in its present state, as "running" or "exited". A removed one is not in the list.
type Container struct{ ID, State string }

// Follow returns the list of the containers, first at once and then after each event, and after each reconnect.
//
// An attempt subscribes to the events first and lists then: what happens between the two waits in the connection. If it
// were to list first, that would be lost. An event may be older than the list, which shows its effect already. So it is
// not applied to the list, it only means that the list is out of date.
//
// When nothing happens, the daemon sends nothing: after silence the attempt fails, and the next one lists. The policy
// needs retry.ResetAfter with less than silence. The client may have a Transport that dials the daemon's socket.
func Follow(client *http.Client, daemon string, silence time.Duration, policy stream.RetryHandler) stream.Stream[[]Container] {
	var attempt stream.Stream[[]Container] = func(ctx context.Context, yield func([]Container) bool) error {
		events, err := get(ctx, client, daemon+"/events?filters="+url.QueryEscape(`{"type":["container"]}`))
		if err != nil {
			return err
		}
		defer events.Close()
		stream.Works(ctx)
		for decoder, event := json.NewDecoder(events), (struct{ Action string }{}); ; {
			list, err := get(ctx, client, daemon+"/containers/json?all=true")
			if err != nil {
				return err
			}
			var containers []Container
			err = json.NewDecoder(list).Decode(&containers)
			if list.Close(); err != nil || !yield(containers) {
				return err
			}
			if err := decoder.Decode(&event); err != nil { // waits
				return err
			}
		}
	}
	return attempt.Timeout(silence).RetryWhen(policy)
}

func get(ctx context.Context, client *http.Client, address string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, stream.Permanent(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, retryhttp.NewStatusError(response)
	}
	return response.Body, nil
}
