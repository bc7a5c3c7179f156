package readme_test

import (
	"bytes"
	"context"
	"encoding/json"
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

// The code of README.md, with what it uses, and the tests that run it.

func TestMain(m *testing.M) { check.Main(m) }

func TestREADME(t *testing.T) {
	check.Document(t, "../../README.md", "readme_test.go")
}

var errCut = errors.New("connection reset")

// database is the part of a *sql.DB that is called.
type database struct{ ping func(context.Context) error }

func (d database) PingContext(ctx context.Context) error { return d.ping(ctx) }

func ping(ctx context.Context, db database) error {
	err := retry.Run(ctx, retry.Default, db.PingContext)
	return err
}

func TestREADME_ACall(t *testing.T) {
	for failures, waits := range []time.Duration{0, 1, 3, 7, 15, 15} {
		synctest.Test(t, func(t *testing.T) {
			start, calls := time.Now(), 0
			err := ping(t.Context(), database{func(context.Context) error {
				if calls++; calls <= failures {
					return errCut
				}
				return nil
			}})
			if d := (time.Since(start) - waits*time.Second).Abs(); d > waits*150*time.Millisecond {
				t.Errorf("it took %v, want %v s, 15 %% more or less", time.Since(start), int(waits))
			}
			if failures < 5 {
				if err != nil {
					t.Error(err)
				}
			} else if e, ok := err.(*retry.Error); !ok || e.Attempts != 5 || !errors.Is(err, errCut) {
				t.Error(err)
			}
		})
	}
}

var calls = retry.New(backoff.Exponential(100*time.Millisecond, 2).Jitter(jitter.Full),
	retry.Limit(3), retry.AttemptTimeout(5*time.Second), retry.WithBudget(retry.NewBudget(10, 1, 0.1)))
var client = http.Client{Transport: retryhttp.NewTransport(nil, calls)}

// memory has the responses to the scheme "memory", without a network.
type memory struct {
	roundTrip func(*http.Request) (*http.Response, error)
}

func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) { return m.roundTrip(r) }

var server memory

func init() {
	http.DefaultTransport.(*http.Transport).RegisterProtocol("memory", &server)
	http.DefaultClient.Transport = &server
}

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

// A server that fails all calls gets the ten retries of the budget, not three for each.
func TestREADME_ABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		server.roundTrip = func(r *http.Request) (*http.Response, error) {
			requests++
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
		}
		fresh := http.Client{Transport: retryhttp.NewTransport(nil, calls.With(retry.WithBudget(retry.NewBudget(10, 1, 0.1))))}
		for range 100 {
			response, err := fresh.Get("memory://server/page")
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
		if requests != 110 {
			t.Errorf("%d requests for 100 calls, want 110", requests)
		}
	})
}

type Event struct{ ID int64 }

func connect(last int64) stream.Stream[Event] {
	return func(ctx context.Context, yield func(Event) bool) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("https://example.org/prices?after=", last), nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return retryhttp.NewStatusError(resp)
		}
		stream.Works(ctx) // connected: the outage is over, although no event may come for hours
		for events := json.NewDecoder(resp.Body); ; {
			var e Event
			if err := events.Decode(&e); err != nil || !yield(e) {
				return err
			}
		}
	}
}

var reconnect = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal),
	retry.ResetAfterItems(1), retry.ResetAfter(time.Minute), retry.Name("prices"), retry.Log(nil)) // never gives up: no Limit

func prices(start int64, connect func(last int64) stream.Stream[Event]) stream.Stream[Event] {
	open := func(last int64) stream.Stream[Event] {
		return connect(last).Timeout(5 * time.Minute).MustNotEnd(io.ErrUnexpectedEOF) // silence, and an end, are failures too
	}
	return operators.Resume(start, open, func(_ int64, e Event) int64 { return e.ID }, reconnect)
}

func run(ctx context.Context, start int64, handle func(context.Context, Event) error) error {
	return prices(start, connect).TryForEach(ctx, func(ctx context.Context, e Event) error {
		return retry.Run(ctx, reconnect, func(ctx context.Context) error { return handle(ctx, e) })
	})
}

// logged sends the lines of the default logger to w until the test ends.
func logged(t *testing.T, w io.Writer) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(w, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// The feed's log is no part of the output.
func init() { slog.SetDefault(slog.New(slog.DiscardHandler)) }

func TestPrices(t *testing.T) {
	events := []Event{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}, {12}}
	server := reconnecttest.Feed[Event, int64]{Events: events, From: func(last int64) int { return int(last) }}
	reconnecttest.CheckResume(t, server, func(connect func(int64) stream.Stream[Event]) stream.Stream[Event] { return prices(0, connect) })
}

// respond has the events after the last one of the request as the lines of a body that ends in the given way.
func respond(r *http.Request, events, end string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(events + end)), Request: r}
}

// What is done with an event that fails is retried in place, without an end; a permanent error is returned. Half an
// event is none. Outages are logged.
func TestREADME_AFeed(t *testing.T) {
	var log bytes.Buffer
	logged(t, &log)
	synctest.Test(t, func(t *testing.T) {
		var story strings.Builder
		server.roundTrip = func(r *http.Request) (*http.Response, error) {
			after := r.URL.Query().Get("after")
			fmt.Fprintf(&story, "connect(%s) ", after)
			switch after {
			case "7":
				return respond(r, `{"ID":8} {"ID":9}`, ` {"I`), nil
			case "9":
				return respond(r, `{"ID":10} {"ID":11}`, ""), nil
			default:
				return &http.Response{StatusCode: http.StatusBadGateway, Status: "502 Bad Gateway", Body: http.NoBody, Request: r}, nil
			}
		}
		failures, began := 0, time.Now()
		err := run(t.Context(), 7, func(_ context.Context, e Event) error {
			fmt.Fprintf(&story, "%d ", e.ID)
			if e.ID == 10 && time.Since(began) < time.Hour {
				failures++
				return errCut
			}
			if e.ID == 11 {
				return retry.Permanent(errCut)
			}
			return nil
		})
		if want := "connect(7) 8 9 connect(9) " + strings.Repeat("10 ", failures+1) + "11 "; story.String() != want {
			t.Errorf("got  %s\nwant %s", story.String(), want)
		}
		if !errors.Is(err, errCut) || failures < 100 {
			t.Errorf("%v after %d failures", err, failures)
		}
	})
	if got := log.String(); strings.Count(got, "level=WARN") != 5 || strings.Count(got, "still down") != 3 || !strings.Contains(got, io.ErrUnexpectedEOF.Error()) || !strings.Contains(got, "prices") {
		t.Errorf("the log is\n%s", got)
	}
}

// An hour of refused connections ends no feed. A stop does.
func TestREADME_StopsWithItsContext(t *testing.T) {
	logged(t, io.Discard)
	synctest.Test(t, func(t *testing.T) {
		server.roundTrip = func(*http.Request) (*http.Response, error) { return nil, errCut }
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if err := run(ctx, 0, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Hour || time.Since(start) < 59*time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// A feed of one event in six hours, without heartbeats, is connected anew every five minutes. Each of these outages
// lasts for the wait before that, not for the hours until the next event.
func TestREADME_AnIdleFeedIsUp(t *testing.T) {
	logged(t, io.Discard)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		server.roundTrip = func(r *http.Request) (*http.Response, error) {
			body, events := io.Pipe()
			go func() {
				id := int64(time.Since(began)/(6*time.Hour)) + 1
				select {
				case <-time.After(time.Until(began.Add(time.Duration(id) * 6 * time.Hour))):
					fmt.Fprintf(events, `{"ID":%d} `, id)
				case <-r.Context().Done():
				}
				<-r.Context().Done()
				events.CloseWithError(r.Context().Err())
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Hour)
		defer cancel()
		events, longest := 0, time.Duration(0)
		observed := func(r retry.Recovery) { longest = max(longest, r.Down) }
		before := reconnect
		defer func() { reconnect = before }()
		reconnect = reconnect.With(retry.OnRecovered(func(_ context.Context, r retry.Recovery) { observed(r) }))
		err := run(ctx, 0, func(context.Context, Event) error { events++; return nil })
		if !errors.Is(err, context.DeadlineExceeded) || events != 4 || longest == 0 || longest > time.Second {
			t.Errorf("%v, %d events, the longest outage took %v", err, events, longest)
		}
	})
}
