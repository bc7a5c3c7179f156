package reconnecttest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// bucket is a token bucket: burst connections at once, then one in each interval.
type bucket struct {
	burst    int
	interval time.Duration
	full     time.Time // when it is full again
}

func (b *bucket) wait() time.Duration {
	now := time.Now()
	b.full = latter(b.full, now).Add(b.interval)
	return max(0, b.full.Sub(now)-time.Duration(b.burst)*b.interval)
}

func latter(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// afterAMinute returns the waits of a client that starts them over when a connection has worked for a minute.
func afterAMinute(most time.Duration) func(connection, attempts, lines int) time.Duration {
	wait, since := time.Second, time.Now()
	return func(int, int, int) time.Duration {
		if time.Since(since) > wait+time.Minute {
			wait = time.Second
		} else {
			wait = min(most, 2*wait)
		}
		since = time.Now()
		return wait/2 + rand.N(wait/2)
	}
}

// inLoop is a loop over connect by hand, with the given wait after a connection.
func inLoop(wait func() time.Duration) func(connect) ints {
	return func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			at := 0
			return loopOf(func(ctx context.Context, connect func(int) ints, yield func(int) bool) (time.Duration, bool) {
				stopped := false
				_ = connect(at).Timeout(30*time.Second)(ctx, func(v int) bool {
					stopped = !yield(v)
					if !stopped {
						at = v
					}
					return !stopped
				})
				return wait(), stopped
			})(connect)(ctx, yield)
		}
	}
}

// overlapping makes a new connection each 15 minutes, and closes the one before 5 s later.
func overlapping(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	var all sync.WaitGroup
	defer all.Wait()
	lock, last := make(chan struct{}, 1), 0 // a mutex would freeze the bubble while got is busy
	position := func(line string) int {
		lock <- struct{}{}
		defer func() { <-lock }()
		if n := number(0, line); n > last {
			got(line)
			last = n
		}
		return last
	}
	for ctx.Err() == nil {
		ended, from := make(chan struct{}), position("0")
		all.Go(func() {
			defer close(ended)
			ctx, cancel := context.WithTimeout(ctx, 15*time.Minute+5*time.Second)
			defer cancel()
			_ = lines(dial, from, 30*time.Second).ForEach(ctx, func(line string) { position(line) })
		})
		select {
		case <-ended:
			pause(ctx, nil)
		case <-time.After(15 * time.Minute):
		}
	}
	return context.Cause(ctx)
}

// ticking reads with a deadline of a second, keeps what has come of a line, and gives up a connection after 30 s.
func ticking(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	last := 0
	for ctx.Err() == nil {
		_ = connected(ctx, dial, last, func(conn net.Conn) error {
			in, line, since := bufio.NewReader(conn), "", time.Now()
			for ctx.Err() == nil {
				_ = conn.SetReadDeadline(time.Now().Add(time.Second))
				part, err := in.ReadString('\n')
				line += part
				switch {
				case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(since) < 30*time.Second:
				case err != nil:
					return err
				default:
					if line = strings.TrimSpace(line); line != "" {
						got(line)
						last = number(0, line)
					}
					line, since = "", time.Now()
				}
			}
			return ctx.Err()
		})
		pause(ctx, nil)
	}
	return context.Cause(ctx)
}

// leaving is a server that says bye after four minutes of a connection, and ends it.
func leaving(serve serving) serving {
	return func(ctx context.Context, l net.Listener) { serve(ctx, leaver{l}) }
}

type leaver struct{ net.Listener }

func (l leaver) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		time.AfterFunc(4*time.Minute, func() {
			_, _ = io.WriteString(conn, "bye\n")
			_ = conn.Close()
		})
	}
	return conn, err
}

// withPlannedEnds is a client of a server that is leaving. An hour has more of its ends than its policy has retries.
func withPlannedEnds(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	open := func(last int) stream.Stream[string] {
		return func(ctx context.Context, yield func(string) bool) error {
			return connected(ctx, dial, last, func(conn net.Conn) error {
				for in := bufio.NewReader(conn); ; {
					_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
					line, err := in.ReadString('\n')
					switch {
					case ctx.Err() != nil:
						return context.Cause(ctx)
					case err != nil:
						return err
					case line == "bye\n":
						return retry.Planned(errors.New("bye"))
					case line == "\n":
						stream.Works(ctx)
					case !yield(strings.TrimSpace(line)):
						return nil
					}
				}
			})
		}
	}
	return operators.Resume(0, open, number, reconnect.With(retry.Limit(8))).ForEach(ctx, got)
}

// serveAnswers serves a log of n lines to long polls: each is answered with the next line, or after 10 s with nothing.
func serveAnswers(n int) serving {
	return serveAfter(n, func() time.Duration { return 10 * time.Second })
}

// serveAfter answers a poll with nothing after the given time.
func serveAfter(n int, quiet func() time.Duration) serving {
	return func(ctx context.Context, l net.Listener) {
		server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			wait := 100 * time.Millisecond
			after, _ := strconv.Atoi(r.URL.Query().Get("after"))
			if after >= n {
				wait = quiet()
			}
			select {
			case <-r.Context().Done():
				return
			case <-time.After(wait):
			}
			if after < n {
				fmt.Fprintf(w, "%d line", after+1)
			}
		})}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		_ = server.Serve(l)
	}
}

// longPolls is a client of serveAnswers. The zero value is right.
type longPolls struct {
	once bool // a connection for each poll
}

func (c longPolls) run(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: c.once}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	after := 0
	for ctx.Err() == nil {
		line, err := poll(ctx, client, after)
		switch {
		case err != nil:
			pause(ctx, err)
		case line != "":
			got(line)
			after++
		}
	}
	return context.Cause(ctx)
}

func poll(ctx context.Context, client *http.Client, after int) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("http://127.0.0.1/?after=", after), nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// right are clients without a fault, in ten styles.
var right = []struct {
	name  string
	check func(t *testing.T, opts ...reconnecttest.Option) reconnecttest.Report
	opts  []reconnecttest.Option
}{
	{"operators: Resume", feeding(faultless), nil},
	{"operators: Resume, full jitter", feeding(with(retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Full), retry.ResetAfterItems(1)))), nil},
	{"operators: Resume, constant waits of a minute", feeding(with(retry.New(backoff.Constant(time.Minute).Jitter(jitter.Equal)))), nil},
	{"operators: Resume, decorrelated waits", feeding(with(retry.New(backoff.Decorrelated(time.Second).Cap(time.Minute), retry.ResetAfterItems(1)))), nil},
	{"operators: Resume that starts over after a minute that worked", feeding(with(retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal), retry.ResetAfter(time.Minute)))), nil},
	{"operators: Resume that gives up", feeding(with(reconnect.With(retry.Limit(8)))), []reconnecttest.Option{reconnecttest.GivesUp()}},
	{"operators: Resume, slow waits", feeding(with(retry.New(backoff.Exponential(30*time.Second, 2).Cap(4*time.Minute).Jitter(jitter.Equal), retry.ResetAfterItems(1)))), nil},
	{"operators: Resume, a server's ends are planned", feeding(func(connect connect) ints {
		open := func(at int) ints { return connect(at).Timeout(30 * time.Second).MustNotEnd(retry.Planned(io.EOF)) }
		return operators.Resume(0, open, latest, reconnect)
	}), nil},
	{"operators: Buffer", feeding(func(connect connect) ints { return faultless(connect).Buffer(3) }), nil},
	{"marked: ResumeMarked", feeding(func(connect connect) ints {
		return operators.ResumeMarked(0, func(at int) stream.Stream[operators.Marked[int, int]] {
			return operators.Map(open(connect)(at), func(v int) operators.Marked[int, int] { return operators.Marked[int, int]{Value: v, At: v} })
		}, reconnect)
	}), nil},
	{"loop: waits with jitter", feeding(inLoop(pauseFor)), nil},
	{"loop: constant waits of 5 s", feeding(inLoop(func() time.Duration { return 5 * time.Second })), []reconnecttest.Option{reconnecttest.NoJitter()}},
	{"loop: a token bucket", feeding(func(connect connect) ints {
		b := &bucket{burst: 5, interval: time.Second}
		return inLoop(b.wait)(connect)
	}), []reconnecttest.Option{reconnecttest.NoJitter()}},
	{"loop: a slow token bucket", feeding(func(connect connect) ints {
		b := &bucket{burst: 3, interval: 10 * time.Second}
		return inLoop(func() time.Duration { return b.wait() + rand.N(time.Second) })(connect)
	}), nil},
	{"loop: at once after the first failure, then waits", feeding(func(connect connect) ints {
		last := time.Now()
		return inLoop(func() time.Duration {
			defer func() { last = time.Now() }()
			if time.Since(last) > time.Minute {
				return 0
			}
			return pauseFor()
		})(connect)
	}), nil},
	{"loop: start over after a minute that worked", feeding(func(connect connect) ints {
		wait := afterAMinute(2 * time.Minute)
		return inLoop(func() time.Duration { return wait(0, 0, 0) })(connect)
	}), nil},
	{"Attempts", feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			at := 0
			for a, err := range reconnect.Attempts(ctx) {
				if err != nil {
					return err
				}
				stopped := false
				err := open(connect)(at)(ctx, func(v int) bool {
					a.Reset()
					if stopped = !yield(v); !stopped {
						at = v
					}
					return !stopped
				})
				if stopped {
					return nil
				}
				a.Fail(err)
			}
			return context.Cause(ctx)
		}
	}), nil},
	{"Run around each connection", feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			at := 0
			for ctx.Err() == nil {
				stopped := false
				err := retry.Run(ctx, reconnect, func(ctx context.Context) error {
					before := at
					err := open(connect)(at)(ctx, func(v int) bool {
						if stopped = !yield(v); !stopped {
							at = v
						}
						return !stopped
					})
					if at > before && ctx.Err() == nil {
						time.Sleep(0)
						return nil // it worked: the next one is an operation of its own
					}
					return err
				})
				if stopped {
					return nil
				}
				if err != nil {
					return err
				}
				pause(ctx, nil)
			}
			return context.Cause(ctx)
		}
	}), nil},
	{"iter: Pull2", feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			next, stop := iter.Pull2(faultless(connect).All(ctx))
			defer stop()
			for {
				v, err, ok := next()
				if err != nil || !ok || !yield(v) {
					return err
				}
			}
		}
	}), nil},
	{"callbacks: FromCallbacks", feeding(func(connect connect) ints {
		return operators.Resume(0, func(at int) ints {
			return stream.FromCallbacks(func(ctx context.Context, push func(int) bool) error { return connect(at)(ctx, push) }).
				Timeout(30 * time.Second).MustNotEnd(io.EOF)
		}, latest, reconnect)
	}), nil},
	{"channels: FromChans", feeding(func(connect connect) ints {
		return operators.Resume(0, func(at int) ints {
			return stream.FromChans(func(ctx context.Context) (<-chan int, <-chan error) { return connect(at).Chans(ctx, 0) }).
				Timeout(30 * time.Second).MustNotEnd(io.EOF)
		}, latest, reconnect)
	}), nil},
	{"filters: it drops what it has", feeding(func(connect connect) ints {
		return stream.Defer(func(context.Context) ints {
			last := 0
			return operators.Resume(0, func(at int) ints { return open(connect)(max(0, at-2)) }, latest, reconnect).
				Filter(func(v int) bool { fresh := v > last; last = max(last, v); return fresh })
		})
	}), nil},
	{"workers: MapRetry", feeding(func(connect connect) ints {
		return operators.MapRetry(faultless(connect), reconnect, func(_ context.Context, v int) (int, error) { return v, nil }, operators.MapRetryOptions[int]{Workers: 3})
	}), []reconnecttest.Option{reconnecttest.AnyOrder()}},
	{"states: the latest", feeding(func(connect connect) ints {
		return operators.Resume(0, func(at int) ints {
			if at > 0 && at < events-1 {
				at++ // a server of states does not send what is no longer so
			}
			return open(connect)(at)
		}, latest, reconnect)
	}), []reconnecttest.Option{reconnecttest.Latest()}},
	{"TCP: by hand", of(serveLines(events), byHand{}.run), nil},
	{"TCP: a handshake", of(greeted(events), byHand{greeting: true}.run), nil},
	{"TCP: waits that grow", of(serveLines(events), byHand{wait: func(_, attempts, _ int) time.Duration {
		return min(time.Minute, pauseFor()<<min(attempts, 10))
	}}.run), nil},
	{"TCP: start over after a minute that worked", of(serveLines(events), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		return byHand{wait: afterAMinute(time.Minute)}.run(ctx, dial, got)
	}), nil},
	{"TCP: a token bucket", of(serveLines(events), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		b := &bucket{burst: 5, interval: 5 * time.Second}
		return byHand{wait: func(int, int, int) time.Duration { return b.wait() + rand.N(time.Second) }}.run(ctx, dial, got)
	}), nil},
	{"TCP: it gives up after a minute of refusals", of(serveLines(events), byHand{tries: 100}.run), []reconnecttest.Option{reconnecttest.GivesUp()}},
	{"TCP: one quick wait, then 10 s, of which a tenth is jitter", of(serveLines(events), byHand{wait: func(_, attempts, _ int) time.Duration {
		if attempts == 0 {
			return 100*time.Millisecond + rand.N(time.Second)
		}
		return 9*time.Second + rand.N(time.Second)
	}}.run), nil},
	{"TCP: short waits that grow to 6 s", of(serveLines(events), byHand{wait: func(_, attempts, _ int) time.Duration {
		return min(6*time.Second, (50*time.Millisecond+rand.N(50*time.Millisecond))<<min(attempts, 10))
	}}.run), nil},
	{"TCP: a tick that keeps half a line", of(serveLines(events), ticking), nil},
	{"TCP: a deadline of its dial", of(serveLines(events), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		return byHand{}.run(ctx, func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			return dial(ctx, network, addr)
		}, got)
	}), nil},
	{"TCP: over the library", of(serveLines(events), following), nil},
	{"TCP: over the library, planned ends", of(leaving(serveLines(events)), withPlannedEnds), []reconnecttest.Option{reconnecttest.GivesUp()}},
	{"TCP: a new connection each 15 minutes, with an overlap", of(serveLines(events), overlapping), nil},
	{"HTTP: long polls over kept connections", of(serveAnswers(events), longPolls{}.run), nil},
	{"HTTP: long polls on a connection each", of(serveAnswers(events), longPolls{once: true}.run), nil},
	{"HTTP: server-sent events", of(serveEvents(events, absolute), eventSource{}.run), nil},
	{"goroutines: a reader, channels, and timers", of(serveLines(events), machine{}.run), nil},
	{"goroutines: ten clients, one after the other", of(serveLines(1), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(i) * 300 * time.Millisecond):
				}
				_ = machine{}.run(ctx, dial, func(line string) { got(fmt.Sprint(i, line)) })
			})
		}
		all.Wait()
		return context.Cause(ctx)
	}), []reconnecttest.Option{reconnecttest.AnyOrder()}},
	{"goroutines: two clients of one server", of(serveLines(events), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		var both sync.WaitGroup
		lock := make(chan struct{}, 1) // a mutex would freeze the bubble while got is busy
		errs := make([]error, 2)
		for i := range errs {
			both.Go(func() {
				errs[i] = byHand{}.run(ctx, dial, func(line string) {
					lock <- struct{}{}
					defer func() { <-lock }()
					got(line)
				})
			})
		}
		both.Wait()
		return errors.Join(errs...)
	}), []reconnecttest.Option{reconnecttest.AnyOrder()}},
}

func TestRight(t *testing.T) {
	if testing.Short() {
		t.Skip("whole checks of each client")
	}
	if len(right) < 40 {
		t.Errorf("only %d clients", len(right))
	}
	last := ""
	for _, r := range right {
		style, _, _ := strings.Cut(r.name, ":")
		if style == last && !night { // by day the first of each style
			continue
		}
		last = style
		t.Run(r.name, func(t *testing.T) { r.check(t, r.opts...) })
	}
}
