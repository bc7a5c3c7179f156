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
	return operators.ResumeMarked("", func(at string) stream.Stream[marked] {
		var connection stream.Stream[marked] = func(ctx context.Context, yield func(marked) bool) error {
			if at == "" {
				l, err := list(ctx, client, url)
				if err != nil || !yield(l) {
					return err
				}
				at = l.At
			}
			return watch(ctx, client, url, at, yield)
		}
		return connection.Timeout(silence)
	}, policy)
}

// marked is an event with the resource version after it.
type marked = operators.Marked[Event, string]

// list returns the collection's objects.
func list(ctx context.Context, client *http.Client, url string) (marked, error) {
	body, err := get(ctx, client, url)
	if err != nil {
		return marked{}, err
	}
	defer body.Close()
	var all struct {
		Metadata struct{ ResourceVersion string }
		Items    []Object
	}
	err = json.NewDecoder(body).Decode(&all)
	return marked{Value: Event{"LIST", all.Items}, At: all.Metadata.ResourceVersion}, err
}

// watch yields the changes after a resource version.
func watch(ctx context.Context, client *http.Client, url, at string, yield func(marked) bool) error {
	opened := stream.ClockFrom(ctx).Now()
	body, err := get(ctx, client, fmt.Sprintf("%s?watch=true&allowWatchBookmarks=true&resourceVersion=%s&timeoutSeconds=%d", url, at, age/time.Second))
	if forgotten := new(retryhttp.StatusError); errors.As(err, &forgotten) && forgotten.StatusCode == http.StatusGone {
		yield(beginning)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	stream.Works(ctx)
	for changes := json.NewDecoder(body); ; {
		var c change
		if err := changes.Decode(&c); err == io.EOF && stream.ClockFrom(ctx).Now().Sub(opened) >= age {
			return retry.Planned(err)
		} else if err == io.EOF {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
		next, err := c.marked()
		if more := (err == nil || next.Bookmark) && yield(next); err != nil || !more {
			return err
		}
	}
}

// beginning is a bookmark after which the next attempt begins with a list.
var beginning = marked{Bookmark: true}

// change is a line of a watch.
type change struct {
	Type   string
	Object json.RawMessage
}

// marked returns the change. If the server has forgotten the resource version, it is the beginning, with an error.
func (c change) marked() (marked, error) {
	if c.Type == "ERROR" {
		var status struct {
			Code    int
			Message string
		}
		if err := json.Unmarshal(c.Object, &status); err != nil {
			return marked{}, err
		}
		err := fmt.Errorf("kubernetes: %d %s", status.Code, status.Message)
		return marked{Bookmark: status.Code == http.StatusGone}, err
	}
	var o Object
	if err := json.Unmarshal(c.Object, &o); err != nil {
		return marked{}, err
	}
	if c.Type == "BOOKMARK" {
		return marked{At: o.Metadata.ResourceVersion, Bookmark: true}, nil
	}
	return marked{Value: Event{c.Type, []Object{o}}, At: o.Metadata.ResourceVersion}, nil
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
