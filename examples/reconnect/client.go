package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// feed is a client for a server of server-sent events.
type feed struct {
	url    string
	client *http.Client
	last   string // the id of the event after which it begins; "" is the beginning
}

var errEnded = errors.New("the server ended the feed")

// events is the whole client. An attempt connects, continues after the last event that was delivered, and fails when
// the server falls silent, ends the feed or drops the connection. The policy decides whether there is another attempt.
func (f *feed) events(silence time.Duration, policy retry.Policy) stream.Stream[sse.Event] {
	open := func(lastID string) stream.Stream[sse.Event] {
		return f.after(lastID).Timeout(silence).MustNotEnd(errEnded)
	}
	return operators.Resume(f.last, open, func(_ string, e sse.Event) string { return e.LastEventID }, policy)
}

// after sends one request and yields the events after lastID.
func (f *feed) after(lastID string) stream.Stream[sse.Event] {
	return func(ctx context.Context, yield func(sse.Event) bool) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
		if err != nil {
			return retry.Permanent(err)
		}
		request.Header.Set("Accept", "text/event-stream")
		if lastID != "" {
			request.Header.Set("Last-Event-ID", lastID)
		}
		response, err := f.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return refusal(response)
		}
		stream.Works(ctx) // although no event may come for hours
		for e, err := range sse.Read(&wholeEvents{body: response.Body}, nil) {
			if err != nil {
				return err
			}
			e.LastEventID = cmp.Or(e.LastEventID, lastID) // for events without an id
			if !yield(e) {
				break
			}
		}
		return nil
	}
}

// refusal returns the error for a response that is not 200. The error has the delay that the server dictates, if any.
// It is permanent if another request cannot help.
func refusal(r *http.Response) error {
	err := retryhttp.NewStatusError(r)
	if r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusRequestTimeout ||
		r.Header.Get("Retry-After") != "" {
		return err
	}
	return retry.Permanent(err)
}

// wholeEvents turns an end in the middle of an event into an error, because the parser would deliver half an event.
type wholeEvents struct {
	body io.Reader
	last [2]byte
}

func (w *wholeEvents) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	for _, b := range p[:n] {
		if b != '\r' {
			w.last[0], w.last[1] = w.last[1], b
		}
	}
	if err == io.EOF && w.last != [2]byte{} && w.last != [2]byte{'\n', '\n'} {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
