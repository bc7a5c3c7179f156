package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// The code of testing.md, with what it uses.

func TestReconnect_InABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		calls := 0
		dial := func(context.Context) (string, error) {
			if calls++; calls < 4 {
				return "", errors.New("connection refused")
			}
			return "connected", nil
		}
		policy := operators.ExpBackoff(jitter.None, time.Second, 5)
		got, err := stream.FromFunc(dial).RetryWhen(policy).Collect(t.Context())
		if err != nil || got[0] != "connected" {
			t.Errorf("got %v, %v", got, err)
		}
		if d := time.Since(start); d != 14*time.Second { // 1 + 4 + 9
			t.Errorf("it took %v", d)
		}
	})
}

func TestReconnect_Marbles(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		feed := streamtest.Cold[string](s, `
			--a--#
			--b--#
			--c--|`)
		policy := operators.ExpBackoff(jitter.None, 5*time.Millisecond, 3)
		streamtest.Expect(s, feed.RetryWhen(policy)).ToBe("--a-- 5ms --b-- 20ms --c--|")
		feed.Subscriptions("^----!", "10ms ^----!", "35ms ^----!")
	})
}

func TestReconnect_StepByStep(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		values := map[string]int{"a": 1, "b": 2}
		feed := streamtest.ColdWith(s, "a#\nb|", values)
		policy := retry.New(backoff.Constant(time.Minute).Jitter(jitter.Full), retry.WithRand(s.Rand(0.5)))
		streamtest.Watch(s, feed.RetryWhen(policy)).
			Next(1).
			NoEvent(time.Millisecond + 30*time.Second).
			Next(2).
			End()
	})
}

func TestReconnect_ByHand(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		calls := 0
		call := func(context.Context) error {
			calls++
			return errors.New("connection refused")
		}
		policy := retry.New(backoff.Exponential(time.Second, 2), retry.WithClock(s.Clock()))
		go func() { _ = retry.Run(s.Context(), policy, call) }()
		for _, want := range []int{1, 2, 2, 3, 3, 3, 3, 4} { // at 0s, 1s, 2s …: retries at 1s, 3s and 7s
			s.Advance(0)
			if calls != want {
				t.Errorf("%d calls after %v, want %d", calls, s.Elapsed(), want)
			}
			s.Advance(time.Second)
		}
	})
}

func TestReconnect_BenbjohnsonsClock(t *testing.T) {
	streamtest.Run(t, func(s *streamtest.Session) {
		var c clock.Clock = clock.New() // for code that takes one
		policy := retry.New(backoff.Linear(time.Hour), retry.Limit(3), retry.WithClock(c))
		err := retry.Run(s.Context(), policy, func(context.Context) error { return errors.New("connection refused") })
		if !errors.Is(err, retry.ErrExhausted) || s.Elapsed() != 6*time.Hour { // 1 + 2 + 3
			t.Errorf("%v after %v", err, s.Elapsed())
		}
	})
}

func TestReconnect_WithoutABubble(t *testing.T) {
	c := streamtest.NewClock()
	called := make(chan time.Time)
	call := func(context.Context) error {
		called <- c.Now()
		return errors.New("connection refused")
	}
	policy := retry.New(backoff.Exponential(time.Second, 2), retry.Limit(2), retry.WithClock(c))
	ended := make(chan error)
	go func() { ended <- retry.Run(t.Context(), policy, call) }()
	start := <-called
	for _, want := range []time.Duration{time.Second, 3 * time.Second} {
		if _, err := c.AdvanceToNext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if at := <-called; at.Sub(start) != want {
			t.Errorf("called at %v, want %v", at.Sub(start), want)
		}
	}
	if err := <-ended; !errors.Is(err, retry.ErrExhausted) {
		t.Errorf("got %v", err)
	}
}

func TestEven_KeepsTheContract(t *testing.T) {
	even := func(src stream.Stream[int]) stream.Stream[int] {
		return src.Filter(func(v int) bool { return v%2 == 0 })
	}
	streamtest.CheckOperator(t, streamtest.Operator[int, int]{Apply: even, Values: []int{1, 2, 3, 4}})
}

func TestTheFeedComesBack(t *testing.T) {
	feed := reconnecttest.Feed[string, int]{
		Events: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}, // the server's log
		From:   func(at int) int { return at },                                       // the first event that it sends for a position
	}
	reconnecttest.CheckResume(t, feed, func(connect func(at int) stream.Stream[string]) stream.Stream[string] {
		open := func(at int) stream.Stream[string] { return connect(at).Timeout(time.Minute).MustNotEnd(io.EOF) }
		policy := retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal), retry.ResetAfterItems(1))
		return operators.Resume(0, open, func(at int, _ string) int { return at + 1 }, policy)
	})
}

func TestTheClientComesBack(t *testing.T) {
	serve := func(ctx context.Context, l net.Listener) {
		server := &http.Server{Handler: http.HandlerFunc(serveEvents)}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		_ = server.Serve(l)
	}
	reconnecttest.Check(t, func() reconnecttest.Run[string] {
		return reconnecttest.Run[string]{Serve: serve, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			transport := &http.Transport{DialContext: dial}
			defer transport.CloseIdleConnections() // what is left running is a fault
			return follow(ctx, &http.Client{Transport: transport}, func(_ context.Context, line string) error { got(line); return nil })
		}}
	})
}

// serveEvents serves the lines 1 to 12, one every 100 ms, from the one after the client's last.
func serveEvents(w http.ResponseWriter, r *http.Request) {
	last, _ := strconv.Atoi(r.URL.Query().Get("after"))
	for i := last + 1; i <= 12; i++ {
		time.Sleep(100 * time.Millisecond)
		fmt.Fprintf(w, "%d line\n", i)
		if http.NewResponseController(w).Flush() != nil {
			return
		}
	}
	<-r.Context().Done()
}

type quote struct{ ID int }

// cursor is what the library returns.
type cursor interface {
	Next(ctx context.Context) (quote, error)
	Close() error
}

type quotes struct {
	subscribe func(ctx context.Context, after int) (cursor, error)
}

func (q quotes) follow() stream.Stream[quote] {
	open := func(after int) stream.Stream[quote] {
		return stream.Stream[quote](func(ctx context.Context, yield func(quote) bool) error {
			s, err := q.subscribe(ctx, after)
			if err != nil {
				return err
			}
			defer s.Close()
			for {
				if v, err := s.Next(ctx); err != nil || !yield(v) {
					return err
				}
			}
		}).Timeout(time.Minute).MustNotEnd(io.EOF)
	}
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal), retry.ResetAfterItems(1))
	return operators.Resume(0, open, func(_ int, v quote) int { return v.ID }, policy)
}

// fake is a subscription to the connection that CheckResume breaks.
type fake struct {
	next func() (quote, error, bool)
	stop func()
}

func (f fake) Next(context.Context) (quote, error) {
	v, err, ok := f.next()
	if !ok {
		err = io.EOF
	}
	return v, err
}

func (f fake) Close() error {
	f.stop()
	return nil
}

func TestQuotes_BreakAtEachQuote(t *testing.T) {
	log := reconnecttest.Feed[quote, int]{From: func(after int) int { return after }}
	for id := 1; id <= 12; id++ {
		log.Events = append(log.Events, quote{id})
	}
	reconnecttest.CheckResume(t, log, func(connect func(after int) stream.Stream[quote]) stream.Stream[quote] {
		return quotes{subscribe: func(ctx context.Context, after int) (cursor, error) {
			next, stop := iter.Pull2(connect(after).All(ctx))
			return fake{next, stop}, nil
		}}.follow()
	})
}

func TestQuotes_BreakTheLibrary(t *testing.T) {
	reconnecttest.Check(t, func() reconnecttest.Run[quote] {
		return reconnecttest.Run[quote]{Serve: serveQuotes, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(quote)) error {
			library := client{dial: dial}
			return quotes{subscribe: library.Subscribe}.follow().ForEach(ctx, got)
		}}
	})
}

// client is a library: a subscription is a connection, over which lines come.
type client struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

type connection struct {
	conn  net.Conn
	lines *bufio.Reader
}

func (c client) Subscribe(ctx context.Context, after int) (cursor, error) {
	conn, err := c.dial(ctx, "tcp", "127.0.0.1:80")
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "%d\n", after); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return connection{conn, bufio.NewReader(conn)}, nil
}

func (c connection) Next(ctx context.Context) (quote, error) {
	defer context.AfterFunc(ctx, func() { _ = c.conn.Close() })()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		return quote{}, err
	}
	id, err := strconv.Atoi(strings.TrimSpace(line))
	return quote{id}, err
}

func (c connection) Close() error { return c.conn.Close() }

// serveQuotes serves the quotes 1 to 12 after the one that a client sends, one every 100 ms.
func serveQuotes(ctx context.Context, l net.Listener) {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		serving.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			in := bufio.NewReader(conn)
			request, err := in.ReadString('\n')
			after, _ := strconv.Atoi(strings.TrimSpace(request))
			for id := after + 1; err == nil && id <= 12; id++ {
				time.Sleep(100 * time.Millisecond)
				_, err = fmt.Fprintf(conn, "%d\n", id)
			}
			_, _ = in.ReadByte() // until the client closes it
		})
	}
}

func TestTheCallsAreRight(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // not for each run: then all would wait equally long
	policy := retry.Default.With(retry.AttemptTimeout(10*time.Second), retry.WithRand(random.Float64))
	m := reconnecttest.CheckCalls(t, func(dial reconnecttest.Dial) func(context.Context) (string, error) {
		base := &http.Transport{DialContext: dial}
		client := &http.Client{Transport: retryhttp.NewTransport(base, policy)} // for each run: budgets and pools are in it
		return func(ctx context.Context) (string, error) { return fetchPrice(ctx, client, "http://127.0.0.1:80/price") }
	})
	if m.Policy != "exponential base=1s factor=2 jitter=default limit=4 attempttimeout=10s" || m.PerCall != 5 {
		t.Errorf("%s, because %s; %v requests for each call while the server is down", m.Policy, m.Why, m.PerCall)
	}
}

func fetchPrice(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", retryhttp.NewStatusError(resp)
	}
	price, err := io.ReadAll(resp.Body)
	return string(price), err
}
