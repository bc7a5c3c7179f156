// Package kubernetes follows the objects of a Kubernetes API server: a list, and then a watch, with bookmarks. It is what
// the reflector of client-go does below an informer; use that if you have client-go, and this for a stream, a position
// of your own, or an API that only looks like Kubernetes'.
package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Object is what all objects have; take your own type.
type Object struct {
	Metadata struct{ Name, ResourceVersion string }
}

// Event is a list of all objects, of type "LIST", which replaces what was known, or the change of one: "ADDED",
// "MODIFIED" or "DELETED".
type Event struct {
	Type    string
	Objects []Object
}

// age is how long a watch may last: the server ends it politely then, which is planned.
const age = 5 * time.Minute

// Watch returns the list of a collection's objects and then their changes. The URL is that of the collection. The
// position is a resource version, which bookmarks move while nothing happens. If the server has forgotten it (410), the
// next attempt begins with a list. The server sends a bookmark about each minute: an attempt fails if nothing comes
// within silence.
func Watch(client *http.Client, url string, silence time.Duration, policy stream.RetryHandler) stream.Stream[Event] {
	return operators.ResumeMarked("", func(at string) stream.Stream[operators.Marked[Event, string]] {
		return stream.Stream[operators.Marked[Event, string]](func(ctx context.Context, yield func(operators.Marked[Event, string]) bool) error {
			if at == "" {
				var list struct {
					Metadata struct{ ResourceVersion string }
					Items    []Object
				}
				body, err := get(ctx, client, url)
				if err != nil {
					return err
				}
				err = json.NewDecoder(body).Decode(&list)
				_ = body.Close()
				at = list.Metadata.ResourceVersion
				if err != nil || !yield(operators.Marked[Event, string]{Value: Event{"LIST", list.Items}, At: at}) {
					return err
				}
			}
			opened := stream.ClockFrom(ctx).Now()
			body, err := get(ctx, client, fmt.Sprintf("%s?watch=true&allowWatchBookmarks=true&resourceVersion=%s&timeoutSeconds=%d", url, at, age/time.Second))
			if forgotten := new(retryhttp.StatusError); errors.As(err, &forgotten) && forgotten.StatusCode == http.StatusGone {
				yield(operators.Marked[Event, string]{Bookmark: true}) // at the beginning
			}
			if err != nil {
				return err
			}
			defer body.Close()
			stream.Works(ctx)
			for changes := json.NewDecoder(body); ; {
				var change struct {
					Type   string
					Object json.RawMessage
				}
				if err := changes.Decode(&change); err == io.EOF && stream.ClockFrom(ctx).Now().Sub(opened) >= age {
					return retry.Planned(err)
				} else if err == io.EOF {
					return io.ErrUnexpectedEOF
				} else if err != nil {
					return err
				}
				if change.Type == "ERROR" {
					var status struct {
						Code    int
						Message string
					}
					if err := json.Unmarshal(change.Object, &status); err != nil {
						return err
					}
					if status.Code == http.StatusGone {
						yield(operators.Marked[Event, string]{Bookmark: true})
					}
					return fmt.Errorf("kubernetes: %d %s", status.Code, status.Message)
				}
				var o Object
				if err := json.Unmarshal(change.Object, &o); err != nil {
					return err
				}
				next := operators.Marked[Event, string]{Value: Event{change.Type, []Object{o}}, At: o.Metadata.ResourceVersion}
				if change.Type == "BOOKMARK" {
					next = operators.Marked[Event, string]{At: next.At, Bookmark: true}
				}
				if !yield(next) {
					return nil
				}
			}
		}).Timeout(silence)
	}, policy)
}

// get returns the body of a response with status 200.
func get(ctx context.Context, client *http.Client, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
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
