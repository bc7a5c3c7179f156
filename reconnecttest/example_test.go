package reconnecttest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// alphabet is a feed whose positions are the numbers of events received.
var alphabet = reconnecttest.Feed[string, int]{
	Events: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"},
	From:   func(at int) int { return at },
}

// A client that comes back where it stopped, from every break at every event.
func ExampleCheckResume() {
	check.GoTest("TestFeedComesBack", func(t *testing.T) {
		reconnecttest.CheckResume(t, alphabet, func(connect func(at int) stream.Stream[string]) stream.Stream[string] {
			open := func(at int) stream.Stream[string] {
				return connect(at).Timeout(30 * time.Second).MustNotEnd(errors.New("the server ended the feed"))
			}
			policy := retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal), retry.ResetAfterItems(1))
			return operators.Resume(0, open, func(at int, _ string) int { return at + 1 }, policy)
		})
	})
	// Output: TestFeedComesBack passed: true
}

// printer prints what a test reports.
type printer struct{ *testing.T }

func (p printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// A loop with faults that are in many programs.
func ExampleCheckResume_faults() {
	check.GoTest("TestFeedComesBack", func(t *testing.T) {
		reconnecttest.CheckResume(printer{t}, alphabet, func(connect func(at int) stream.Stream[string]) stream.Stream[string] {
			return func(ctx context.Context, yield func(string) bool) error {
				at, wait := 0, time.Second
				for {
					err := connect(at)(ctx, func(v string) bool { at++; return yield(v) })
					if err == nil {
						return nil
					}
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(wait):
						wait *= 2
					}
				}
			}
		})
	})
	// Output:
	// reconnecttest: CheckResume: the server ends the connection before event 1 of 12 ("a"): it ended without an error, and lost "a", "b", "c" and 9 more; is there a MustNotEnd inside open? The end of a connection is not the end of the feed (13 of 13 such scenarios)
	// reconnecttest: CheckResume: the connection falls silent before event 1 of 12 ("a"): it noticed nothing in 10 minutes, and lost "a", "b", "c" and 9 more; is there a Timeout inside open? (12 of 12 such scenarios)
	// reconnecttest: CheckResume: each connection delivers one value and is cut: its waits grow from 2.333s to 9m57.333s; does a delivered value start the waits and the count over, or a connection that has worked for a minute? (retry.ResetAfterItems(1))
	// reconnecttest: CheckResume: the server refuses connections for an hour, before event 7 of 12 ("g"): it waited for 34m8s before it connected again; does the backoff have a Cap?
	// reconnecttest: CheckResume: two clients lose their connections at the same time: both wait for exactly [1s 2s 4s]; is there jitter in each wait, from random numbers that differ between clients? NoJitter allows equal waits
	// TestFeedComesBack passed: true
}

// The options say what a client does not promise. This one starts from the beginning, works on several values at once,
// gives up after ten attempts in a row, and needs no jitter, because it is the only client of its server.
func ExampleOption() {
	check.GoTest("TestImport", func(t *testing.T) {
		reconnecttest.CheckResume(t, alphabet, func(connect func(at int) stream.Stream[string]) stream.Stream[string] {
			open := connect(0).Timeout(time.Minute).MustNotEnd(errors.New("the server ended the feed"))
			tenTimes := retry.New(backoff.Constant(time.Second), retry.Limit(10), retry.ResetAfterItems(1))
			return operators.FlatMap(open.RetryWhen(tenTimes), 4, func(v string) stream.Stream[string] { return stream.Of(v).Delay(time.Second) })
		}, reconnecttest.AtLeastOnce(), reconnecttest.AnyOrder(), reconnecttest.GivesUp(), reconnecttest.NoJitter())
	})
	// Output: TestImport passed: true
}

// A server that sends heartbeats, and keeps only its last events: then the client continues with the oldest.
func ExampleFeed() {
	const heartbeat = "beat"
	feed := reconnecttest.Feed[string, int]{
		Events: alphabet.Events,
		From:   alphabet.From,
		Idle:   func(int) string { return heartbeat },
		Lost:   func(oldest int) error { return gone(oldest) },
	}
	check.GoTest("TestHeartbeats", func(t *testing.T) {
		reconnecttest.CheckResume(t, feed, func(connect func(at int) stream.Stream[string]) stream.Stream[string] {
			open := func(at int) stream.Stream[string] {
				return connect(at).Catch(func(err error) stream.Stream[string] {
					if oldest := gone(0); errors.As(err, &oldest) {
						return connect(int(oldest))
					}
					return stream.Fail[string](err)
				}).Timeout(30 * time.Second).MustNotEnd(errors.New("the server ended the feed")).Filter(func(v string) bool { return v != heartbeat })
			}
			policy := retry.New(backoff.Constant(10 * time.Second).Jitter(jitter.Equal))
			return operators.Resume(0, open, func(_ int, v string) int { return int(v[0]-'a') + 1 }, policy)
		})
	})
	// Output: TestHeartbeats passed: true
}

// gone is the error of a server that has dropped the events before the oldest.
type gone int

func (g gone) Error() string { return fmt.Sprintf("410 Gone: the oldest event is %d", int(g)) }

// A real server and a client that dials. The client knows which line it has, and has a deadline for each read.
func ExampleCheck() {
	check.GoTest("TestClientComesBack", func(t *testing.T) {
		policy := retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal), retry.ResetAfterItems(1))
		next := func(_ int, line string) int { n, _ := strconv.Atoi(strings.Fields(line)[0]); return n }
		reconnecttest.Check(t, func() reconnecttest.Run[string] {
			return reconnecttest.Run[string]{
				Serve: serveLines(12),
				Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
					open := func(last int) stream.Stream[string] { return lines(dial, last, 30*time.Second) }
					return operators.Resume(0, open, next, policy).ForEach(ctx, got)
				},
			}
		})
	})
	// Output: TestClientComesBack passed: true
}

// A repository adopts the check before its client is clean: what is known is logged. A feed of states need not deliver
// each of them.
func ExampleKnown() {
	check.GoTest("TestConfiguration", func(t *testing.T) {
		report := reconnecttest.CheckResume(t, alphabet, func(connect func(at int) stream.Stream[string]) stream.Stream[string] {
			policy := retry.New(backoff.Constant(10 * time.Second).Jitter(jitter.Equal))
			open := func(at int) stream.Stream[string] {
				return connect(at).MustNotEnd(errors.New("the server ended the feed"))
			}
			return operators.Resume(0, open, func(at int, _ string) int { return at + 1 }, policy)
		}, reconnecttest.Latest(), reconnecttest.Known(prove.Silent, "", "issue 12"))
		for _, f := range report.Findings {
			fmt.Println(f.Kind, "is known:", f.Known)
		}
	})
	// Output:
	// silent is known: issue 12
	// TestConfiguration passed: true
}

// A program writes its own report.
func ExampleOnFinding() {
	check.GoTest("TestFeedComesBack", func(t *testing.T) {
		found := map[reconnecttest.Kind]string{}
		reconnecttest.CheckResume(t, alphabet, func(connect func(at int) stream.Stream[string]) stream.Stream[string] {
			return connect(0)
		}, reconnecttest.OnFinding(func(f reconnecttest.Finding) { found[f.Kind] = f.What }))
		fmt.Println(found[prove.GaveUp])
	})
	// Output:
	// it gave up after 1 connection: "read tcp 127.0.0.1:80: read: connection reset by peer"
	// TestFeedComesBack passed: true
}

// A caller of an HTTP server that has four faults.
func ExampleCheckCalls() {
	check.GoTest("TestCalls", func(t *testing.T) {
		m := reconnecttest.CheckCalls(printer{t}, func(dial reconnecttest.Dial) func(context.Context) (string, error) {
			client := &http.Client{Transport: &http.Transport{DialContext: dial}}
			return func(ctx context.Context) (string, error) {
				return retry.Do(ctx, retry.New(backoff.Exponential(time.Second, 2), retry.Limit(4)), func(ctx context.Context) (string, error) {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:80/order", strings.NewReader("1 lamp"))
					if err != nil {
						return "", retry.Permanent(err)
					}
					resp, err := client.Do(req)
					if err != nil {
						return "", err
					}
					defer resp.Body.Close()
					switch err := retryhttp.NewStatusError(resp); {
					case resp.StatusCode >= http.StatusInternalServerError:
						return "", err
					case resp.StatusCode != http.StatusOK:
						return "", retry.Permanent(err)
					}
					all, err := io.ReadAll(resp.Body)
					return string(all), err
				})
			}
		})
		fmt.Println(m.Policy)
		fmt.Println(m.PerCall, "requests for each call while the server is down")
	})
	// Output:
	// reconnecttest: CheckCalls: 500: it sent a POST again that may have been carried out, without an equal Idempotency-Key; does each attempt have the same Idempotency-Key? If a repeated POST has no second effect, Idempotent (--idempotent) allows it (9 of 9 such scenarios)
	// reconnecttest: CheckCalls: 501: it sent the same request again after 501; which statuses are retried? The same request gets the same answer
	// reconnecttest: CheckCalls: silence: it still waits for an answer after 1h0m0s; is there a timeout for each attempt?
	// reconnecttest: CheckCalls: 503 throughout: 5 of 5 runs waited equally long: 1s, then 2s; is there jitter, from random numbers that differ between programs? NoJitter (--no-jitter) allows equal waits (5 of 5 such scenarios)
	// exponential base=1s factor=2 limit=4
	// 5 requests for each call while the server is down
	// TestCalls passed: true
}
