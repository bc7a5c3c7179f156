package reconnecttest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	randv1 "math/rand"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// faults is a T that records what a check reports.
type faults struct {
	*testing.T

	mu   sync.Mutex
	text []string
}

func (f *faults) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = append(f.text, fmt.Sprintf(format, args...))
}

// random matches what differs from run to run, behind what it follows.
var random = regexp.MustCompile(`(\.go):\d+|(asked )\d+|(waited for )\d+m\d+s|(grow from )[^;]*|(failures in )[\dms.]+|(init)\.func[\d.]+`)

var update = flag.Bool("update", false, "write the reports to testdata/reports.txt")

// expect compares the reports with those under the test's name in testdata/reports.txt.
func (f *faults) expect() {
	f.Helper()
	const file = "testdata/reports.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		f.Fatal(err)
	}
	title := "# " + strings.ReplaceAll(f.Name(), "_", " ") + "\n\n"
	before, rest, _ := strings.Cut(string(text), title)
	want, after, more := strings.Cut(rest, "\n# ")
	got := random.ReplaceAllString(strings.Join(append(f.text, ""), "\n"), "$1$2$3$4$5$6…")
	switch {
	case strings.TrimSpace(got) == strings.TrimSpace(want):
	case !*update:
		f.T.Errorf("got\n%s\nwant\n%s", got, want)
	default:
		if more {
			after = "# " + after
		}
		if err := os.WriteFile(file, []byte(before+title+got+"\n"+after), 0o644); err != nil {
			f.Fatal(err)
		}
	}
}

type (
	connect = func(at int) stream.Stream[int]
	ints    = stream.Stream[int]
)

// numbers is a feed of the numbers 1 to n. A position is the last number received.
func numbers(n int) reconnecttest.Feed[int, int] {
	feed := reconnecttest.Feed[int, int]{From: func(at int) int { return at }}
	for i := range n {
		feed.Events = append(feed.Events, i+1)
	}
	return feed
}

var (
	reconnect = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfterItems(1))
	latest    = func(_, v int) int { return v }
)

// faultless is a client without a fault.
func faultless(connect connect) ints { return operators.Resume(0, open(connect), latest, reconnect) }

func TestCheckResume(t *testing.T) {
	quiet, beating := numbers(12), numbers(12)
	beating.Idle = func(int) int { return 0 }
	slow := beating
	slow.Every = time.Minute
	heartbeatsWith := func(policy retry.Policy) func(connect) ints {
		return func(connect connect) ints {
			return operators.Resume(0, func(at int) ints {
				return open(connect)(at).Filter(func(v int) bool { return v > 0 })
			}, latest, policy)
		}
	}
	heartbeats := heartbeatsWith(reconnect)
	for _, test := range []struct {
		name    string
		feed    reconnecttest.Feed[int, int]
		client  func(connect) ints
		options []reconnecttest.Option
	}{
		{"Resume", quiet, faultless, nil},
		{"one event", numbers(1), faultless, nil},
		{"heartbeats filtered inside", beating, heartbeats, nil},
		{"heartbeats filtered behind", beating, func(connect connect) ints {
			return operators.Resume(0, open(connect), func(at, v int) int { return max(at, v) }, reconnect).Filter(func(v int) bool { return v > 0 })
		}, nil},
		{"heartbeats that come with time", beating, func(connect connect) ints {
			return operators.Resume(0, open(connect), func(at, v int) int { return max(at, v) }, reconnect)
		}, nil},
		{"heartbeats that come too late for the Timeout", slow, heartbeats, nil},
		{"a loop by hand", quiet, func(connect connect) ints {
			return func(ctx context.Context, yield func(int) bool) error {
				at := 0
				return handWritten(connect, &at, nothing, func(v int) { at = v }, pause)(ctx, yield)
			}
		}, nil},
		{"a limit", beating, heartbeatsWith(reconnect.With(retry.Limit(3))), []reconnecttest.Option{reconnecttest.GivesUp()}},
		{"a limit, and silence", quiet, with(reconnect.With(retry.Limit(3))), []reconnecttest.Option{reconnecttest.GivesUp()}},
		{"equal waits", quiet, with(retry.New(backoff.Constant(5 * time.Second))), []reconnecttest.Option{reconnecttest.NoJitter()}},
		{"often", quiet, with(retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(10*time.Second).Jitter(jitter.Full), retry.ResetAfterItems(1))), nil},
		{"jitter from the time", quiet, func(connect connect) ints {
			source := randv1.New(randv1.NewSource(time.Now().UnixNano()))
			return with(reconnect.With(retry.WithRand(source.Float64)))(connect)
		}, nil},
		{"Buffer", quiet, func(connect connect) ints { return faultless(connect).Buffer(4) }, nil},
		{"MapRetry", quiet, func(connect connect) ints {
			return operators.MapRetry(faultless(connect), reconnect, func(ctx context.Context, v int) (int, error) {
				return stream.Of(v).Delay(time.Duration(v*37%100) * 10 * time.Millisecond).One(ctx)
			}, operators.MapRetryOptions[int]{Workers: 4})
		}, []reconnecttest.Option{reconnecttest.AnyOrder()}},
		{"a client that runs once", quiet, func(connect connect) ints {
			first := true
			return func(ctx context.Context, yield func(int) bool) error {
				if !first {
					return stream.ErrNotRestartable
				}
				first = false
				return faultless(connect)(ctx, yield)
			}
		}, nil},
		{"a client that ends after the last event", quiet, func(connect connect) ints { return faultless(connect).Take(12) }, nil},
		{"from the beginning", quiet, func(connect connect) ints { return open(connect)(0).RetryWhen(reconnect) },
			[]reconnecttest.Option{reconnecttest.AtLeastOnce()}},
	} {
		t.Run(test.name, func(t *testing.T) { reconnecttest.CheckResume(t, test.feed, test.client, test.options...) })
	}
}

// Values that cannot be keys of a map are compared too.
func TestCheckResume_Values(t *testing.T) {
	type value struct {
		id    int
		words []string
		more  map[string]*int
		f     float64
	}
	reconnecttest.CheckResume(t, numbers(12), func(connect connect) stream.Stream[*value] {
		return operators.Map(faultless(connect), func(v int) *value {
			return &value{v, []string{"a", fmt.Sprint(v)}, map[string]*int{"v": &v}, float64(v)}
		})
	})
	reconnecttest.CheckResume(t, numbers(12), func(connect connect) stream.Stream[[]byte] { // it uses its buffer again
		buffer := make([]byte, 8)
		return operators.Map(faultless(connect), func(v int) []byte { return fmt.Appendf(buffer[:0], "%d", v) })
	})
}

// open is what is right about each connection.
func open(connect connect) connect {
	return func(at int) ints { return connect(at).Timeout(30 * time.Second).MustNotEnd(io.ErrUnexpectedEOF) }
}

// with returns the client with another policy.
func with(policy stream.RetryHandler) func(connect) ints {
	return func(connect connect) ints { return operators.Resume(0, open(connect), latest, policy) }
}

// reading returns the client whose position moves by after.
func reading(after func(at, v int) int) func(connect) ints {
	return func(connect connect) ints { return operators.Resume(0, open(connect), after, reconnect) }
}

// handWritten is a loop with a position of its own. before is called with each value before its consumer, after with
// each value that it has taken. A wait is a second, or nothing after an end of the connection.
func handWritten(connect connect, position *int, before, after func(v int), wait func(context.Context, error)) ints {
	return func(ctx context.Context, yield func(int) bool) error {
		for ctx.Err() == nil {
			stopped := false
			err := connect(*position).Timeout(time.Minute)(ctx, func(v int) bool {
				before(v)
				if stopped = !yield(v); !stopped {
					after(v)
				}
				return !stopped
			})
			if stopped {
				return nil
			}
			wait(ctx, err)
		}
		return context.Cause(ctx)
	}
}

func nothing(int) {}

// pause waits for some seconds, unless ctx ends.
func pause(ctx context.Context, _ error) {
	select {
	case <-ctx.Done():
	case <-time.After(pauseFor()):
	}
}

var wrongClients = []struct {
	name   string
	client func(connect) ints
}{
	{"the README's loop", loop},
	{"no Timeout", func(connect connect) ints {
		return operators.Resume(0, func(at int) ints { return connect(at).MustNotEnd(io.ErrUnexpectedEOF) }, latest, reconnect)
	}},
	{"no MustNotEnd", func(connect connect) ints {
		return operators.Resume(0, func(at int) ints { return connect(at).Timeout(time.Minute) }, latest, reconnect)
	}},
	{"the position moves before the consumer is done", func(connect connect) ints {
		at := 0
		return handWritten(connect, &at, func(v int) { at = v }, nothing, pause)
	}},
	{"the position is a variable outside of the stream", func(connect connect) ints {
		at := 0
		return handWritten(connect, &at, nothing, func(v int) { at = v }, pause)
	}},
	{"one too far", reading(func(_, v int) int { return min(v+1, 12) })},
	{"one too low", reading(func(_, v int) int { return v - 1 })},
	{"no position", func(connect connect) ints { return open(connect)(0).RetryWhen(reconnect) }},
	{"no retry", func(connect connect) ints { return open(connect)(0) }},
	{"a hot loop on a clean end", func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			at := 0
			return handWritten(connect, &at, nothing, func(v int) { at = v }, func(ctx context.Context, err error) {
				if err != nil {
					pause(ctx, err)
				}
			})(ctx, yield)
		}
	}},
	{"no cap", with(retry.New(backoff.Exponential(time.Second, 2).Jitter(jitter.Equal), retry.ResetAfterItems(1)))},
	{"the waits never start over", with(retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal)))},
	{"the count never starts over", with(retry.New(backoff.Constant(time.Second).Jitter(jitter.Equal), retry.Limit(8)))},
	{"the waits start over with a connection", func(connect connect) ints {
		opened := func(at int) ints {
			return connect(at).StartWith(0).Timeout(time.Minute).MustNotEnd(io.ErrUnexpectedEOF)
		}
		position := func(at, v int) int { return max(at, v) }
		policy := retry.New(backoff.Exponential(10*time.Millisecond, 2).Cap(time.Minute).Jitter(jitter.Equal), retry.ResetAfterItems(1))
		return operators.Resume(0, opened, position, policy).Filter(func(v int) bool { return v > 0 })
	}},
	{"no jitter", with(reconnect.With(retry.WithBackoff(backoff.Exponential(time.Second, 2).Cap(30 * time.Second))))},
	{"a sleep that ignores the context", func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			at := 0
			return handWritten(connect, &at, nothing, func(v int) { at = v }, func(context.Context, error) {
				time.Sleep(4*time.Second + rand.N(time.Second))
			})(ctx, yield)
		}
	}},
	{"gives up at the first refusal", with(reconnect.With(retry.If(func(err error) bool { return !errors.Is(err, syscall.ECONNREFUSED) })))},
	{"ends without an error", func(connect connect) ints {
		return with(reconnect.With(retry.Limit(5)))(connect).Catch(func(error) ints { return stream.Empty[int]() })
	}},
	{"leaks a goroutine with each attempt", func(connect connect) ints {
		return operators.Resume(0, func(at int) ints {
			return stream.Defer(func(context.Context) ints {
				go time.Sleep(30 * time.Minute)
				return open(connect)(at)
			})
		}, latest, reconnect)
	}},
	{"a second run begins where the first ended", func(connect connect) ints {
		next := 0
		return stream.Defer(func(context.Context) ints {
			return operators.Resume(next, open(connect), latest, reconnect).Tap(func(v int) { next = v })
		})
	}},
}

func TestCheckResume_Wrong(t *testing.T) {
	if testing.Short() {
		t.Skip("whole sessions of each client")
	}
	for _, test := range wrongClients {
		t.Run(test.name, func(t *testing.T) {
			before, f := runtime.NumGoroutine(), &faults{T: t}
			reconnecttest.CheckResume(f, numbers(12), test.client)
			f.expect()
			for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() { // until the last ones have ended
				if time.Now().After(end) {
					t.Fatalf("the check leaves %d goroutines of the client", runtime.NumGoroutine()-before)
				}
			}
		})
	}
}

// A bookmark that comes while there is no event, and is one too far, is found: the next event is lost.
func TestCheckResume_ABookmarkTooFar(t *testing.T) {
	feed := numbers(12)
	feed.Idle = func(next int) int { return -(next + 1) }
	feed.From = func(at int) int { return min(at, 12) }
	f := &faults{T: t}
	reconnecttest.CheckResume(f, feed, func(connect connect) ints {
		position := func(_, v int) int { return max(v, -v) }
		return operators.Resume(0, open(connect), position, reconnect).Filter(func(v int) bool { return v > 0 })
	})
	f.expect()
}

// row is an event with a position that others may share, and whether it is the last of those.
type row struct {
	ID, At int
	Last   bool
}

// rows is a feed of pairs with one position. inclusive: it sends the events of the position again.
func rows(inclusive bool) reconnecttest.Feed[row, int] {
	var feed reconnecttest.Feed[row, int]
	for i := range 12 {
		feed.Events = append(feed.Events, row{i + 1, i/2 + 1, i%2 == 1})
	}
	feed.From = func(at int) int {
		if inclusive {
			at = max(0, at-1)
		}
		return 2 * at
	}
	return feed
}

// byPosition is the client of rows that treats each position as if it were an event's own.
func byPosition(connect func(at int) stream.Stream[row]) stream.Stream[row] {
	open := func(at int) stream.Stream[row] { return connect(at).Timeout(time.Minute).MustNotEnd(io.EOF) }
	return operators.Resume(0, open, func(_ int, e row) int { return e.At }, reconnect)
}

func TestCheckResume_SharedPositions(t *testing.T) {
	for name, inclusive := range map[string]bool{"strict": false, "inclusive": true} {
		t.Run(name, func(t *testing.T) {
			f := &faults{T: t}
			reconnecttest.CheckResume(f, rows(inclusive), byPosition)
			f.expect()
		})
	}
	// The events of a position come again, and are dropped.
	reconnecttest.CheckResume(t, rows(true), func(connect func(at int) stream.Stream[row]) stream.Stream[row] {
		return operators.Resume(row{}, func(at row) stream.Stream[row] {
			return connect(at.At).Timeout(time.Minute).MustNotEnd(io.EOF).Filter(func(e row) bool { return e.ID > at.ID })
		}, func(_, e row) row { return e }, reconnect)
	})
	// A position moves behind its last event.
	reconnecttest.CheckResume(t, rows(false), func(connect func(at int) stream.Stream[row]) stream.Stream[row] {
		open := func(at int) stream.Stream[row] { return connect(at).Timeout(time.Minute).MustNotEnd(io.EOF) }
		return operators.Resume(0, open, func(at int, e row) int {
			if e.Last {
				return e.At
			}
			return at
		}, reconnect)
	}, reconnecttest.AtLeastOnce())
}

// purged is the error of a server that no longer has the events before the oldest.
type purged int

func (e purged) Error() string { return fmt.Sprintf("the events before %d are gone", int(e)) }

// bookmarks is a feed in which every third event, a negative number, is a bookmark.
func bookmarks() reconnecttest.Feed[int, int] {
	feed := numbers(12)
	for i := 2; i < 12; i += 3 {
		feed.Events[i] *= -1
	}
	feed.Lost = func(oldest int) error { return purged(oldest) }
	return feed
}

// catching returns a connection that begins at the oldest event when the position is gone.
func catching(connect connect) connect {
	return func(at int) ints {
		return connect(at).Catch(func(err error) ints {
			var oldest purged
			if errors.As(err, &oldest) {
				return connect(int(oldest))
			}
			return stream.Fail[int](err)
		}).Timeout(time.Minute).MustNotEnd(io.EOF)
	}
}

func TestCheckResume_Lost(t *testing.T) {
	isEvent := func(v int) bool { return v > 0 }
	position := func(_, v int) int { return max(v, -v) }
	behind := func(connect connect) ints {
		return operators.Resume(0, catching(connect), position, reconnect).Filter(isEvent)
	}
	reconnecttest.CheckResume(t, bookmarks(), behind)
	reconnecttest.CheckResume(t, bookmarks(), func(connect connect) ints { // it ends with the error
		return operators.Resume(0, func(at int) ints {
			return open(connect)(at).Catch(func(err error) ints {
				if errors.As(err, new(purged)) {
					err = stream.Permanent(err)
				}
				return stream.Fail[int](err)
			})
		}, position, reconnect).Filter(isEvent)
	})
	for _, test := range []struct {
		name   string
		client func(connect) ints
	}{
		{"a bookmark that is filtered inside", func(connect connect) ints {
			return operators.Resume(0, func(at int) ints { return catching(connect)(at).Filter(isEvent) }, position, reconnect)
		}},
		{"asks for ever", func(connect connect) ints {
			return operators.Resume(0, open(connect), position, reconnect).Filter(isEvent)
		}},
		{"another error", func(connect connect) ints {
			return operators.Resume(0, func(at int) ints {
				return open(connect)(at).Catch(func(err error) ints {
					if errors.As(err, new(purged)) {
						err = stream.Permanent(errors.New("gone"))
					}
					return stream.Fail[int](err)
				})
			}, position, reconnect).Filter(isEvent)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &faults{T: t}
			reconnecttest.CheckResume(f, bookmarks(), test.client)
			f.expect()
		})
	}
}

// loop is the loop of README.md.
func loop(connect connect) ints {
	last, wait := 0, time.Second
	return func(ctx context.Context, yield func(int) bool) error {
		for {
			stopped := false
			err := connect(last)(ctx, func(v int) bool {
				last = v
				stopped = !yield(v)
				return !stopped
			})
			if stopped {
				return nil
			}
			if err == nil {
				continue
			}
			time.Sleep(wait)
			wait = min(2*wait, time.Minute)
		}
	}
}

// planned marks the end of the server's connection as a planned one.
func planned[T any](s stream.Stream[T]) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		err := s(ctx, yield)
		if errors.Is(err, io.EOF) {
			err = retry.Planned(err)
		}
		return err
	}
}

// A client whose connections have planned ends is right.
func TestPlannedEnds(t *testing.T) {
	t.Run("CheckResume", func(t *testing.T) {
		reconnecttest.CheckResume(t, numbers(12), func(connect connect) ints {
			return operators.Resume(0, func(at int) ints { return planned(open(connect)(at)) }, latest, reconnect)
		})
	})
	t.Run("Check", func(t *testing.T) {
		reconnecttest.Check(t, against(serveLines(12), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			open := func(last int) stream.Stream[string] { return planned(lines(dial, last, 30*time.Second)) }
			return operators.Resume(0, open, number, reconnect).ForEach(ctx, got)
		}))
	})
}
