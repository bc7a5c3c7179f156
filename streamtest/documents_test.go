package streamtest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// The feeds of README.md and of docs/recipes.md come back.

func TestDocuments_README(t *testing.T) {
	type Event struct{ ID int64 }
	feed := streamtest.Feed[Event, int64]{From: func(at int64) int { return int(at) }}
	for id := range int64(12) {
		feed.Events = append(feed.Events, Event{id + 1})
	}
	errClosed := errors.New("closed")
	streamtest.CheckResume(t, feed, func(connect func(at int64) stream.Stream[Event]) stream.Stream[Event] {
		policy := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfterItems(1))
		return operators.Resume(int64(0),
			func(last int64) stream.Stream[Event] { return connect(last).Timeout(time.Minute).MustNotEnd(errClosed) },
			func(last int64, e Event) int64 { return e.ID }, policy)
	})
}

// follow is docs/recipes.md's, with a client.
func follow(ctx context.Context, client *http.Client, got func(string)) error {
	lines := func(offset int) stream.Stream[string] {
		return func(ctx context.Context, yield func(string) bool) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/?after="+strconv.Itoa(offset), nil)
			if err != nil {
				return stream.Permanent(err)
			}
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return errors.New(response.Status)
			}
			for body := bufio.NewReader(response.Body); ; {
				line, err := body.ReadString('\n')
				if err != nil || !yield(line[:len(line)-1]) {
					return err
				}
			}
		}
	}
	open := func(offset int) stream.Stream[string] {
		return lines(offset).Timeout(30 * time.Second).MustNotEnd(io.ErrUnexpectedEOF)
	}
	after := func(offset int, _ string) int { return offset + 1 }
	reconnect := retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Full), retry.ResetAfterItems(1))
	return operators.Resume(0, open, after, reconnect).ForEach(ctx, got)
}
