// Package readme_test runs the code of README.md.
package readme_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestREADME(t *testing.T) {
	check.Document(t, "../../README.md", "readme_test.go", "readme_go127_test.go")
}

// The code of README.md, with what it uses, and the tests that run it.

type (
	User  struct{ ID int }
	Event struct{ ID int64 }
)

var (
	fetchUser func(context.Context, int) (User, error)
	handle    func(context.Context, Event) error
	errClosed = errors.New("the server has closed the connection")
	errCut    = errors.New("connection reset")
)

// connecting is the key of what connects under a context.
type connecting struct{}

func connect(last int64) stream.Stream[Event] {
	return stream.Defer(func(ctx context.Context) stream.Stream[Event] {
		return ctx.Value(connecting{}).(func(int64) stream.Stream[Event])(last)
	})
}

func load(ctx context.Context) (User, error) {
	// Waits of about 1, 2, 4 and 8 s, then a *retry.Error.
	return retry.Do(ctx, retry.Default, func(ctx context.Context) (User, error) {
		return fetchUser(ctx, 42)
	})
}

func TestREADME_ACall(t *testing.T) {
	for failures, waits := range []time.Duration{0, 1, 3, 7, 15, 15} {
		synctest.Test(t, func(t *testing.T) {
			start, calls := time.Now(), 0
			fetchUser = func(_ context.Context, id int) (User, error) {
				if calls++; calls <= failures {
					return User{}, errCut
				}
				return User{id}, nil
			}
			user, err := load(t.Context())
			if d := (time.Since(start) - waits*time.Second).Abs(); d > waits*150*time.Millisecond {
				t.Errorf("after %d failures it took %v, want %v s, 15 %% more or less", failures, time.Since(start), int(waits))
			}
			if failures < 5 {
				if err != nil || user.ID != 42 {
					t.Errorf("after %d failures: %v, %v", failures, user, err)
				}
			} else if e, ok := err.(*retry.Error); !ok || e.Attempts != 5 || e.Last != errCut {
				t.Errorf("after %d failures: %v", failures, err)
			}
		})
	}
}

var reconnect = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.Limit(20),
	retry.ResetAfterItems(1), retry.ResetAfter(time.Minute), retry.Name("prices"), retry.Log(nil)) // slog: each outage, its retries

var feed = operators.Resume(int64(0),
	func(last int64) stream.Stream[Event] { return connect(last).Timeout(time.Minute).MustNotEnd(errClosed) },
	func(last int64, e Event) int64 { return e.ID }, reconnect)

func run(ctx context.Context) error {
	return feed.TryForEach(ctx, func(ctx context.Context, e Event) error {
		return retry.Run(ctx, retry.Default, func(ctx context.Context) error { return handle(ctx, e) })
	})
}

// logged sends the lines of the default logger to w until the test ends.
func logged(t *testing.T, w io.Writer) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(w, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// The feed gives up at its Limit, within an hour without the server. Whatever else happens, it comes back.
func TestREADME_TheFeedComesBack(t *testing.T) {
	logged(t, io.Discard)
	server := reconnecttest.Feed[Event, int64]{From: func(last int64) int { return int(last) }}
	for id := range int64(24) {
		server.Events = append(server.Events, Event{id + 1})
	}
	reconnecttest.CheckResume(t, server, func(connect func(int64) stream.Stream[Event]) stream.Stream[Event] {
		return func(ctx context.Context, yield func(Event) bool) error {
			return feed(context.WithValue(ctx, connecting{}, connect), yield)
		}
	}, reconnecttest.GivesUp())
}

// What is done with an event that fails is retried in place, and the error with which that gives up is returned. An outage
// is logged.
func TestREADME_AFeed(t *testing.T) {
	var log bytes.Buffer
	logged(t, &log)
	synctest.Test(t, func(t *testing.T) {
		var story strings.Builder
		ctx := context.WithValue(t.Context(), connecting{}, func(last int64) stream.Stream[Event] {
			fmt.Fprintf(&story, "connect(%d) ", last)
			events := stream.Of(Event{last + 1}, Event{last + 2})
			if last > 0 {
				events = events.Concat(stream.Never[Event]())
			}
			return events
		})
		failures := 0
		handle = func(_ context.Context, e Event) error {
			if e.ID == 3 && failures < 2 || e.ID == 4 && failures < 9 {
				failures++
				fmt.Fprintf(&story, "%d# ", e.ID)
				return errCut
			}
			fmt.Fprintf(&story, "%d ", e.ID)
			return nil
		}
		err := run(ctx)
		if want := "connect(0) 1 2 connect(2) 3# 3# 3 4# 4# 4# 4# 4# "; story.String() != want {
			t.Errorf("got  %s\nwant %s", story.String(), want)
		}
		if !errors.Is(err, errCut) || !errors.Is(err, retry.ErrStopAt) {
			t.Error(err)
		}
	})
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, errClosed.Error()) || !strings.Contains(got, "prices") {
		t.Errorf("the log is\n%s", got)
	}
}

func TestREADME_StopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), connecting{}, func(int64) stream.Stream[Event] {
			return stream.Never[Event]()
		}))
		time.AfterFunc(10*time.Second, cancel)
		start := time.Now()
		if err := run(ctx); !errors.Is(err, context.Canceled) || time.Since(start) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

var request = retry.New(backoff.Exponential(100*time.Millisecond, 2).Jitter(jitter.Full),
	retry.Limit(3), retry.AttemptTimeout(5*time.Second))
var client = http.Client{Transport: retryhttp.NewTransport(http.DefaultTransport, request)}

// memory has the responses to the scheme "memory", without a network.
type memory struct {
	roundTrip func(*http.Request) (*http.Response, error)
}

func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) { return m.roundTrip(r) }

var server memory

func init() { http.DefaultTransport.(*http.Transport).RegisterProtocol("memory", &server) }

// The first attempt gets no response within 5 s, the second one a 503, the third one the page.
func TestREADME_AnHTTPClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, requests := time.Now(), 0
		server.roundTrip = func(r *http.Request) (*http.Response, error) {
			response := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("the page")), Request: r}
			switch requests++; requests {
			case 1:
				<-r.Context().Done()
				return nil, r.Context().Err()
			case 2:
				response.StatusCode = http.StatusServiceUnavailable
			}
			return response, nil
		}
		response, err := client.Get("memory://server/page")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		page, err := io.ReadAll(response.Body)
		if string(page) != "the page" || err != nil || requests != 3 {
			t.Errorf("got %q, %v after %d requests", page, err, requests)
		}
		if took := time.Since(start); took < 5*time.Second || took > 5*time.Second+300*time.Millisecond {
			t.Errorf("it took %v, want 5 s and at most 100 and 200 ms", took)
		}
	})
}
