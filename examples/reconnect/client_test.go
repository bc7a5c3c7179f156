package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// roundTripper is a server without a network, so that it runs in the bubble.
type roundTripper func(*http.Request) *http.Response

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// after serves the events after the last one that the client has seen, up to event 3. Each read of the body waits
// first.
func after(r *http.Request, wait time.Duration) *http.Response {
	last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	var events strings.Builder
	for n := last + 1; n <= 3; n++ {
		events.WriteString("id: " + strconv.Itoa(n) + "\ndata: x\n\n")
	}
	return &http.Response{StatusCode: http.StatusOK, Body: slowBody{strings.NewReader(events.String()), wait}}
}

type slowBody struct {
	io.Reader
	wait time.Duration
}

func (b slowBody) Read(p []byte) (int, error) {
	time.Sleep(b.wait)
	return b.Reader.Read(p)
}

func (slowBody) Close() error { return nil }

func ids(t *testing.T, f *feed) []string {
	t.Helper()
	policy := retry.New(backoff.Constant(time.Second), retry.Limit(3))
	var got []string
	err := f.events(silence, policy).Take(3).ForEach(t.Context(), func(e sse.Event) { got = append(got, e.LastEventID) })
	if err != nil {
		t.Error(err)
	}
	return got
}

// The first event comes in the instant of the timeout. Whichever wins, the event is not lost.
func TestALateEventIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			wait := silence
			f := &feed{url: "http://server/", client: &http.Client{Transport: roundTripper(func(r *http.Request) *http.Response {
				defer func() { wait = 0 }()
				return after(r, wait)
			})}}
			if got := ids(t, f); !slices.Equal(got, []string{"1", "2", "3"}) {
				t.Fatalf("got the events %v", got)
			}
		}
	})
}

// An outage ends with the response, although no event comes.
func TestAResponseEndsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		requests := 0
		f := &feed{url: "http://server/", client: &http.Client{Transport: roundTripper(func(r *http.Request) *http.Response {
			if requests++; requests == 1 {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}
			}
			return after(r, 2*time.Hour)
		})}}
		policy := retry.New(backoff.Constant(time.Second), retry.OnRecovered(func(context.Context, retry.Recovery) { stop() }))
		if _, err := f.events(3*time.Hour, policy).Collect(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("not recovered: %v", err)
		}
	})
}

func TestEachRunBeginsAtTheFirstEvent(t *testing.T) {
	f := &feed{url: "http://server/", client: &http.Client{Transport: roundTripper(func(r *http.Request) *http.Response { return after(r, 0) })}}
	for range 2 {
		if got := ids(t, f); !slices.Equal(got, []string{"1", "2", "3"}) {
			t.Errorf("got the events %v", got)
		}
	}
}
