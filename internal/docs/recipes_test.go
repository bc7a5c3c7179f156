package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// The code of recipes.md and of its statements, with what it uses, and the tests that run it. TestTheClientComesBack
// runs follow.

func loop(url string, handle func(line string) error) error {
	offset, delay := 0, time.Second
	for {
		response, err := http.Get(url + "?after=" + strconv.Itoa(offset))
		if err != nil {
			time.Sleep(delay)
			if delay *= 2; delay > time.Hour {
				return err
			}
			continue
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			offset++
			if err := handle(lines.Text()); err != nil {
				break
			}
		}
		response.Body.Close()
		if lines.Err() != nil {
			time.Sleep(delay)
			delay *= 2
		}
	}
}

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// respond returns a response whose body ends with the error, or well.
func respond(status int, body string, err error) *http.Response {
	reader := io.Reader(strings.NewReader(body))
	if err != nil {
		reader = io.MultiReader(reader, iotest.ErrReader(err))
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(reader)}
}

// The loop has the faults that the document lists, as far as they can be seen from outside.
func TestTheUsualLoop(t *testing.T) {
	before := http.DefaultClient.Transport
	defer func() { http.DefaultClient.Transport = before }()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		var after []string
		http.DefaultClient.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			at, after = append(at, time.Since(start)), append(after, r.URL.Query().Get("after"))
			switch n := len(at); {
			case n <= 12:
				return respond(http.StatusOK, "line\n", io.ErrUnexpectedEOF), nil
			case n <= 1000:
				return respond(http.StatusOK, "", nil), nil
			case n == 1001:
				return respond(http.StatusOK, "line\nline\n", nil), nil
			}
			return nil, errRefused
		})
		handled := 0
		err := loop("http://server/", func(string) error {
			if handled++; handled == 13 {
				return errors.New("cannot be handled")
			}
			return nil
		})
		if !errors.Is(err, errRefused) {
			t.Error(err)
		}
		for n := range 12 { // each of them had delivered a value: it never resets, and two clients wait for the same times
			if wait := at[n+1] - at[n]; wait != time.Second<<n {
				t.Errorf("wait %d is %v, want %v", n+1, wait, time.Second<<n)
			}
		}
		if spins := at[1000] - at[12]; spins != 0 {
			t.Errorf("988 connections in %v, want none between them", spins)
		}
		if after[1000] != "12" || after[1001] != "13" || handled != 13 {
			t.Errorf("connection 1001 after line %s, the next one after line %s, %d handled", after[1000], after[1001], handled)
		}
	})
}

func follow(ctx context.Context, client *http.Client, handle func(context.Context, string) error) error {
	open := func(offset int) stream.Stream[string] {
		return lines(client, offset).Timeout(30 * time.Second).MustNotEnd(io.ErrUnexpectedEOF)
	}
	after := func(offset int, _ string) int { return offset + 1 }
	return operators.Resume(0, open, after, reconnect).TryForEach(ctx, handle)
}

var reconnect = retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Full), retry.ResetAfterItems(1))

func lines(client *http.Client, offset int) stream.Stream[string] {
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
		stream.Works(ctx)
		for body := bufio.NewReader(response.Body); ; {
			line, err := body.ReadString('\n') // a Scanner would deliver half a line when the connection breaks
			if err != nil || !yield(line[:len(line)-1]) {
				return err
			}
		}
	}
}

// A response that is no 200 is a failure, half a line is no value, and the handler's error ends it.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var after []string
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			after = append(after, r.URL.Query().Get("after"))
			switch len(after) {
			case 1:
				return respond(http.StatusBadGateway, "no line\n", nil), nil
			case 2:
				return respond(http.StatusOK, "a\nb\nc", io.ErrUnexpectedEOF), nil
			}
			return respond(http.StatusOK, "c\nd\n", nil), nil
		})}
		var got []string
		errFull := errors.New("the disk is full")
		err := follow(t.Context(), client, func(_ context.Context, line string) error {
			if got = append(got, line); line == "d" {
				return errFull
			}
			return nil
		})
		if err != errFull || strings.Join(got, "") != "abcd" || strings.Join(after, "") != "002" {
			t.Errorf("%v, %v, after %v", err, got, after)
		}
	})
}

type Event struct{ ID int64 }

// What the feed uses: a position that is stored, and a server with the events 1 to 6, whose connections break after
// two.
var (
	load = func(context.Context) (int64, error) { return 0, nil }
	open = func(last int64) stream.Stream[Event] {
		s := operators.Map(stream.Range(int(last)+1, max(0, 6-int(last))), func(id int) Event { return Event{int64(id)} })
		if last >= 4 {
			return s
		}
		return s.Take(2).MustNotEnd(errReset)
	}
	after = func(_ int64, e Event) int64 { return e.ID }
)

var feed = stream.Defer(func(ctx context.Context) stream.Stream[Event] {
	start, err := retry.Do(ctx, reconnect, load)
	if err != nil {
		return stream.Fail[Event](err)
	}
	return operators.Resume(start, open, after, reconnect)
})

// loading replaces load until the test ends.
func loading(t *testing.T, f func(context.Context) (int64, error)) {
	before := load
	load = f
	t.Cleanup(func() { load = before })
}

func TestAStoredStart(t *testing.T) {
	loads := 0
	loading(t, func(context.Context) (int64, error) {
		switch loads++; loads {
		case 1:
			return 0, errRefused
		case 4:
			return 0, retry.Permanent(errRefused)
		}
		return int64(loads - 1), nil
	})
	synctest.Test(t, func(t *testing.T) {
		for run, want := range []string{"[{2} {3} {4} {5} {6}]", "[{3} {4} {5} {6}]", "[]"} {
			got, err := feed.Collect(t.Context())
			if fmt.Sprint(got) != want || (err != nil) != (run == 2) || run == 2 && !errors.Is(err, errRefused) {
				t.Errorf("run %d: got %v, %v, want %s", run, got, err, want)
			}
		}
	})
}

type row struct {
	changed, id int64
	body        string
}

type position struct{ changed, id int64 }

// query is the database.
var query func(ctx context.Context, changed, id int64) ([]row, error)

var rows = operators.Poll(10*time.Second, position{}, page, reconnect)

func page(ctx context.Context, at position) ([]row, position, error) {
	// SELECT … WHERE (changed, id) > ($1, $2) AND changed < now() - interval '5 seconds' ORDER BY changed, id LIMIT 500
	rows, err := query(ctx, at.changed, at.id)
	if err != nil || len(rows) == 0 {
		return nil, at, err
	}
	last := rows[len(rows)-1]
	return rows, position{last.changed, last.id}, nil
}

// Pages of two rows, of which a later one fails once: rows of one time that stand on two pages come once each. A row
// that is inserted later comes with the next poll.
func TestATable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, asked := time.Now(), 0
		table := []row{{1, 7, "a"}, {2, 3, "b"}, {2, 4, "c"}, {2, 5, "d"}, {3, 1, "e"}}
		query = func(_ context.Context, changed, id int64) ([]row, error) {
			if asked++; asked == 2 {
				return nil, errReset
			}
			now := table
			if time.Since(start) >= 10*time.Second {
				now = append(slices.Clone(table), row{3, 2, "f"})
			}
			i := slices.IndexFunc(now, func(r row) bool { return r.changed > changed || r.changed == changed && r.id > id })
			if i < 0 {
				return nil, nil
			}
			return now[i:min(i+2, len(now))], nil
		}
		got, err := rows.Take(6).Collect(t.Context())
		if want := append(table, row{3, 2, "f"}); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}

var (
	patient = retry.New(backoff.Constant(time.Second), retry.Limit(2))
	apply   func(context.Context, Event) error
	bury    func(context.Context, any, error) error
)

func applyEach(ctx context.Context) error {
	return feed.TryForEach(ctx, func(ctx context.Context, e Event) error {
		err := retry.Run(ctx, patient, func(ctx context.Context) error { return apply(ctx, e) })
		if err != nil && ctx.Err() == nil {
			return bury(ctx, e, err) // a dead letter; nil continues with the next event
		}
		return err
	})
}

// Event 3 fails twice, event 4 always, and 5 when the program is to stop, which is no reason to bury it.
func TestAHandlerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var story []string
		note := func(format string, args ...any) { story = append(story, fmt.Sprintf(format, args...)) }
		failures := 0
		apply = func(_ context.Context, e Event) error {
			switch {
			case e.ID == 3 && failures < 2, e.ID == 4:
				failures++
				note("%d#", e.ID)
				return errReset
			case e.ID == 5:
				cancel()
				return errReset
			}
			note("%d", e.ID)
			return nil
		}
		bury = func(_ context.Context, item any, err error) error {
			note("buried%v", item)
			if !errors.Is(err, retry.ErrLimit) || !errors.Is(err, errReset) {
				t.Error(err)
			}
			return nil
		}
		err := applyEach(ctx)
		if got, want := strings.Join(story, " "), "1 2 3# 3# 3 4# 4# 4# buried{4}"; got != want || !errors.Is(err, context.Canceled) {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	})
}

// Message is what a broker delivers. It can be acknowledged on the connection that delivered it.
type Message struct {
	ID          int
	connection  context.Context
	acknowledge func(id int)
}

func (m Message) Acknowledge() error {
	if m.connection.Err() != nil {
		return errReset
	}
	m.acknowledge(m.ID)
	return nil
}

var (
	consume func(context.Context, func(Message) bool) error
	process func(context.Context, Message) error
)

type Delivery struct {
	ctx context.Context
	Message
}

func serve(ctx context.Context) error {
	deliveries := stream.Stream[Delivery](func(ctx context.Context, yield func(Delivery) bool) error {
		return consume(ctx, func(m Message) bool { return yield(Delivery{ctx, m}) })
	}).RetryWhen(reconnect)
	work := func(ctx context.Context, d Delivery) (Delivery, error) { return d, process(ctx, d.Message) }
	return operators.MapRetry(deliveries, patient, work, operators.MapRetryOptions[Delivery]{
		Context: func(_ context.Context, d Delivery) context.Context { return d.ctx },
		DeadLetter: func(ctx context.Context, d Delivery, err *retry.Error) error {
			if d.ctx.Err() != nil {
				return nil // the broker delivers it again
			}
			return bury(ctx, d.Message, err)
		},
	}).ForEach(ctx, func(d Delivery) { d.Acknowledge() })
}

// The connection breaks while message 2 waits for its retry: the second delivery is processed, and the first one is
// neither retried nor buried. Message 3 always fails.
func TestABrokersDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // of the maps: calls run side by side
		acknowledged, processed, buried := map[int]bool{}, map[int]int{}, 0
		connections := 0
		acknowledge := func(id int) {
			mu.Lock()
			defer mu.Unlock()
			acknowledged[id] = true
		}
		done := func(id int) bool {
			mu.Lock()
			defer mu.Unlock()
			return acknowledged[id]
		}
		consume = func(ctx context.Context, push func(Message) bool) error {
			connections++
			for id := 1; id <= 3; id++ {
				if !done(id) && !push(Message{id, ctx, acknowledge}) {
					return nil
				}
			}
			if connections == 1 {
				time.Sleep(time.Second / 2)
				return errReset
			}
			time.Sleep(time.Minute)
			return nil
		}
		process = func(ctx context.Context, m Message) error {
			mu.Lock()
			defer mu.Unlock()
			if processed[m.ID]++; m.ID == 2 && processed[2] == 1 || m.ID == 3 {
				return errRefused
			}
			return nil
		}
		bury = func(_ context.Context, item any, _ error) error {
			buried += item.(Message).ID
			return nil
		}
		if err := serve(t.Context()); err != nil {
			t.Error(err)
		}
		// 3 was processed once on the first connection, and three times on the second.
		if fmt.Sprint(acknowledged) != "map[1:true 2:true]" || fmt.Sprint(processed) != "map[1:1 2:2 3:4]" || buried != 3 {
			t.Errorf("acknowledged %v, processed %v, buried %d", acknowledged, processed, buried)
		}
	})
}

var policy = retry.New(backoff.Constant(time.Second), retry.Limit(2))

func job(ctx context.Context, client *http.Client, url string, use func(io.Reader) error) error {
	return retry.Run(ctx, policy, func(ctx context.Context) error {
		ctx = retry.WithoutRetries(ctx) // every policy below makes one attempt
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return retry.Permanent(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
			return retryhttp.NewStatusError(resp) // dictates the server's Retry-After
		}
		return use(resp.Body)
	})
}

// Three attempts of the job are three requests, although the client has a policy too.
func TestAJobOfLayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, requests := time.Now(), 0
		client := &http.Client{Transport: retryhttp.NewTransport(roundTrip(func(*http.Request) (*http.Response, error) {
			switch requests++; requests {
			case 1:
				refused := respond(http.StatusServiceUnavailable, "", nil)
				refused.Header.Set("Retry-After", "60")
				return refused, nil
			case 2:
				return nil, errReset
			}
			return respond(http.StatusOK, "the page", nil), nil
		}), retry.Default)}
		var got string
		err := job(t.Context(), client, "http://server/", func(r io.Reader) error {
			page, err := io.ReadAll(r)
			got = string(page)
			return err
		})
		if err != nil || got != "the page" || requests != 3 || time.Since(start) != 61*time.Second {
			t.Errorf("%v, %q, %d requests in %v, want 3 in 1m1s", err, got, requests, time.Since(start))
		}
		if err := job(t.Context(), client, "http://a b/", nil); !retry.IsPermanent(err) {
			t.Errorf("a wrong address: %v", err)
		}
	})
}

func ask(ctx context.Context, shards []func(context.Context) error) error {
	p := policy.With(retry.WithBudget(retry.NewBudget(8, 1, 0))) // 8 retries for all shards of this query
	failed := make(chan error, len(shards))
	for _, shard := range shards {
		go func() { failed <- retry.Run(ctx, p, shard) }()
	}
	var errs []error
	for range shards {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}

func TestAQueryOverShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		shards := slices.Repeat([]func(context.Context) error{func(context.Context) error {
			calls.Add(1)
			return io.ErrUnexpectedEOF
		}}, 32)
		if err := ask(t.Context(), shards); !errors.Is(err, retry.ErrBudget) || calls.Load() != 40 {
			t.Errorf("%d calls, want 40; %v", calls.Load(), err)
		}
	})
}
