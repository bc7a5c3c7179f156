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
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/operators/rx"
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

var policy = retry.New(
	backoff.Exponential(100*time.Millisecond, 2).Cap(10*time.Second).Jitter(jitter.Full),
	retry.Limit(4),                       // at most 4 retries, so 5 attempts
	retry.AttemptTimeout(10*time.Second), // for each attempt; without it a call that hangs, hangs
	retry.MaxRetryAfter(time.Minute),     // give up if the server asks for a longer wait
	retry.Log(nil),                       // WARN when an outage begins and while it lasts, INFO when it is over
)

func find(ctx context.Context, id int) (User, error) {
	return retry.Do(ctx, policy, func(ctx context.Context) (User, error) {
		user, err := api.User(ctx, id)
		if errors.Is(err, ErrNotFound) {
			err = retry.Permanent(err) // trying again cannot help
		}
		return user, err
	})
}

type User struct{ ID int }

var ErrNotFound = errors.New("not found")

// users is a client that returns its errors, in order, and then the user. An attempt whose error is nil hangs.
type users struct {
	errs  []error
	calls int
}

func (u *users) User(ctx context.Context, id int) (User, error) {
	u.calls++
	if u.calls > len(u.errs) {
		return User{id}, nil
	}
	if err := u.errs[u.calls-1]; err != nil {
		return User{}, err
	}
	<-ctx.Done()
	return User{}, ctx.Err()
}

var api *users

// What fails and what hangs is tried again; what is not there, and a wait of more than a minute, ends it.
func TestREADME_AResult(t *testing.T) {
	long := retry.RetryAfter(errCut, 2*time.Minute)
	for _, c := range []struct {
		errs  []error
		calls int
		want  error
	}{
		{[]error{errCut, nil, errCut}, 4, nil},
		{[]error{errCut, ErrNotFound}, 2, ErrNotFound},
		{[]error{long}, 1, errCut},
		{[]error{errCut, errCut, errCut, errCut, errCut}, 5, retry.ErrLimit},
	} {
		synctest.Test(t, func(t *testing.T) {
			api = &users{errs: c.errs}
			user, err := find(t.Context(), 7)
			if !errors.Is(err, c.want) || api.calls != c.calls || err == nil && user.ID != 7 {
				t.Errorf("%v: %v, %v after %d calls", c.errs, user, err, api.calls)
			}
		})
	}
}

var budget = retry.NewBudget(10, 1, 0.1) // 10 retries at once; then one for every ten successes

var client = &http.Client{Transport: retryhttp.NewTransport(nil, policy.With(retry.WithBudget(budget)))}

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

// The first attempt gets no response within 10 s, the second one a 503, the third one the page.
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
		if took := time.Since(start); took < 10*time.Second || took > 10*time.Second+300*time.Millisecond {
			t.Errorf("it took %v, want 10 s and at most 100 and 200 ms", took)
		}
	})
}

// The client's calls have none of the faults that a check of calls finds.
func TestREADME_AnHTTPClientsCalls(t *testing.T) {
	reconnecttest.CheckCalls(t, func(dial reconnecttest.Dial) func(context.Context) (string, error) {
		fresh := http.Client{Transport: retryhttp.NewTransport(&http.Transport{DialContext: dial}, policy.With(retry.WithBudget(retry.NewBudget(10, 1, 0.1))))}
		return func(ctx context.Context) (string, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server/page", nil)
			if err != nil {
				return "", err
			}
			response, err := fresh.Do(request)
			if err != nil {
				return "", err
			}
			defer response.Body.Close()
			page, err := io.ReadAll(response.Body)
			if err == nil && response.StatusCode != http.StatusOK {
				err = errors.New(response.Status)
			}
			return string(page), err
		}
	})
}

// A server that fails all calls gets the ten retries of the budget, not four for each.
func TestREADME_ABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		server.roundTrip = func(r *http.Request) (*http.Response, error) {
			requests++
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
		}
		fresh := http.Client{Transport: retryhttp.NewTransport(nil, policy.With(retry.WithBudget(retry.NewBudget(10, 1, 0.1))))}
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

// streams has the three lines, each over a source that fails twice.
func streams(ctx context.Context, src stream.Stream[int], open func(context.Context) (<-chan int, <-chan error), observable rxgo.Observable) (
	stream.Stream[int], <-chan int, <-chan error, rx.Observable) {
	quotes := src.RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3)) // delay · n² · jitter: about 1, 4 and 9 s
	values, errs := operators.RetryChans(ctx, open, policy)                       // the same for plain channels
	again := rx.Wrap(observable).RetryWhen(policy)                                // and for github.com/reactivex/rxgo/v2
	return quotes, values, errs, again
}

func TestREADME_Streams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		twice := func() stream.Stream[int] {
			n := 0
			return stream.Defer(func(context.Context) stream.Stream[int] {
				if n++; n < 3 {
					return stream.Fail[int](errDown)
				}
				return stream.Of(7)
			})
		}
		chans := twice()
		open := func(ctx context.Context) (<-chan int, <-chan error) { return chans.Chans(ctx, 0) }
		quotes, values, errs, again := streams(t.Context(), twice(), open, rx.FromStream(twice()))
		if v, ok := <-values; v != 7 || !ok || <-errs != nil {
			t.Errorf("channels: %d, %t", v, ok)
		}
		if item, ok := <-again.Observe(); !ok || item.V != 7 {
			t.Errorf("rxgo: %v, %t", item, ok)
		}
		start := time.Now()
		got, err := quotes.Collect(t.Context())
		if took := (time.Since(start) - 5*time.Second).Abs(); err != nil || !slices.Equal(got, []int{7}) || took > 750*time.Millisecond {
			t.Errorf("%v, %v after %v", got, err, time.Since(start))
		}
	})
}

var errDown = errors.New("down")

func TestQuotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		down := stream.Fail[int](errDown).RetryWhen(operators.ExpBackoff(jitter.None, time.Second, 3))
		_, err := down.Collect(t.Context())
		if took := time.Since(start); took != 14*time.Second || !errors.Is(err, errDown) {
			t.Errorf("%v after %v", err, took)
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
			return retryhttp.NewStatusError(resp) // retried; Retry-After is obeyed
		}
		stream.Works(ctx) // connected: the outage is over, before the first event
		for events := json.NewDecoder(resp.Body); ; {
			var e Event
			if err := events.Decode(&e); err != nil || !yield(e) {
				return err
			}
		}
	}
}

var reconnect = retry.New(
	backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), // no Limit: it never gives up
	retry.ResetAfterItems(1), retry.ResetAfter(time.Minute), // a connection that worked starts again at 1 s
	retry.Name("prices"), retry.Log(nil),
)

func prices(start int64, connect func(last int64) stream.Stream[Event]) stream.Stream[Event] {
	open := func(last int64) stream.Stream[Event] {
		return connect(last).
			Timeout(5 * time.Minute).       // silence is a failure: choose more than the time between the server's heartbeats
			MustNotEnd(io.ErrUnexpectedEOF) // so is an end without an error
	}
	position := func(_ int64, e Event) int64 { return e.ID }
	return operators.Resume(start, open, position, reconnect)
}

func run(ctx context.Context, start int64, handle func(context.Context, Event) error) error {
	return prices(start, connect).TryForEach(ctx, handle)
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
	reconnecttest.CheckResume(t, server, func(connect func(int64) stream.Stream[Event]) stream.Stream[Event] {
		return prices(0, connect)
	})
}

// respond has the events after the last one of the request as the lines of a body that ends in the given way.
func respond(r *http.Request, events, end string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(events + end)), Request: r}
}

// A handler that retries repeats the event in its place; its error ends the feed. Half an event is none. Outages are
// logged.
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
		handle := func(e Event) error {
			fmt.Fprintf(&story, "%d ", e.ID)
			if e.ID == 10 && time.Since(began) < time.Hour {
				failures++
				return errCut
			}
			if e.ID == 11 {
				return retry.Permanent(errCut)
			}
			return nil
		}
		err := run(t.Context(), 7, func(ctx context.Context, e Event) error {
			return retry.Run(ctx, reconnect, func(context.Context) error { return handle(e) })
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
		if err := run(ctx, 0, func(context.Context, Event) error { return nil }); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Hour || time.Since(start) < 59*time.Minute {
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

// tokenServer is the server of tokens.
type tokenServer struct{ refreshes int }

func (s *tokenServer) Refresh(context.Context) (string, error) {
	s.refreshes++
	return fmt.Sprint("token ", s.refreshes), nil
}

var auth tokenServer

var renewal = retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal), // no Limit: patience is the caller's
	retry.AttemptTimeout(30*time.Second), retry.Name("token"), retry.Log(nil))

var tokens = retry.NewShared(renewal, auth.Refresh) // func(context.Context) (string, error)

var authorized = &http.Client{Transport: retryhttp.WithShared(nil, tokens, func(r *http.Request, token string) {
	r.Header.Set("Authorization", "Bearer "+token)
})}

func TestREADME_AToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A Shared belongs to one bubble, and the test may run twice.
		auth.refreshes, tokens = 0, retry.NewShared(renewal, auth.Refresh)
		authorized.Transport = retryhttp.WithShared(nil, tokens, func(r *http.Request, token string) { r.Header.Set("Authorization", "Bearer "+token) })
		valid, refused := "Bearer token 1", 0
		var mu sync.Mutex
		server.roundTrip = func(r *http.Request) (*http.Response, error) {
			if mu.Lock(); r.Header.Get("Authorization") != valid {
				refused++
				mu.Unlock()
				return &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody, Request: r}, nil
			}
			mu.Unlock()
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		}
		post := func() {
			response, err := authorized.Post("memory://server/", "text/plain", strings.NewReader("once"))
			if err != nil || response.StatusCode != http.StatusOK {
				t.Error(response, err)
			}
		}
		post()
		valid = "Bearer token 2"
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(post)
		}
		callers.Wait()
		tokens.Close()
		if auth.refreshes != 2 || refused > 100 {
			t.Errorf("%d refreshes, %d refused", auth.refreshes, refused)
		}
	})
}

type Job struct{ ID int }

func receive(ctx context.Context, jobs <-chan Job, send func(context.Context, Job) (string, error),
	bury func(context.Context, Job, *retry.Error) error, save func(context.Context, string) error) error {
	receipts := operators.MapRetry(stream.FromChan(jobs), policy, send, operators.MapRetryOptions[Job]{
		Workers: 8, // Ordered: true keeps the order
		DeadLetter: func(ctx context.Context, job Job, err *retry.Error) error {
			return bury(ctx, job, err) // nil goes on with the other jobs
		},
	})
	err := receipts.TryForEach(ctx, save)
	return err
}

func TestREADME_Items(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs := make(chan Job, 100)
		for id := range 100 {
			jobs <- Job{id}
		}
		close(jobs)
		var mu sync.Mutex
		sent, saved, buried := map[int]int{}, 0, 0
		err := receive(t.Context(), jobs, func(_ context.Context, j Job) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if sent[j.ID]++; j.ID%10 == 0 || j.ID%3 == 0 && sent[j.ID] < 3 {
				return "", errDown
			}
			return "receipt", nil
		}, func(context.Context, Job, *retry.Error) error { buried++; return nil },
			func(context.Context, string) error { saved++; return nil })
		if err != nil || saved != 90 || buried != 10 || sent[0] != 5 {
			t.Errorf("%d saved, %d buried, %v: %v", saved, buried, err, sent[0])
		}
	})
}
