package reconnecttest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/stream"
)

// wrong is a client with a fault, and a kind of finding that shows it.
type wrong struct {
	name  string
	kind  reconnecttest.Kind
	check func(t *testing.T, opts ...reconnecttest.Option) reconnecttest.Report
}

// night reports whether tests may take long.
var night = os.Getenv("RETRYWHEN_NIGHTLY") == "1"

// events is how many events the tests of many clients have: a check is quadratic in it.
var events = map[bool]int{false: 4, true: 12}[night]

// feeding is a client of CheckResume.
func feeding(client func(connect) ints) func(*testing.T, ...reconnecttest.Option) reconnecttest.Report {
	return func(t *testing.T, opts ...reconnecttest.Option) reconnecttest.Report {
		return reconnecttest.CheckResume(t, numbers(events), client, opts...)
	}
}

// of is a client of Check.
func of(serve serving, client reconnecting) func(*testing.T, ...reconnecttest.Option) reconnecttest.Report {
	return func(t *testing.T, opts ...reconnecttest.Option) reconnecttest.Report {
		return reconnecttest.Check(t, against(serve, client), opts...)
	}
}

func later(connection int) bool { return connection > 1 }
func always(int) bool           { return true }

// loopOf is a loop over connect, whose turn returns how long to wait.
func loopOf(turn func(ctx context.Context, connect connect, yield func(int) bool) (wait time.Duration, stopped bool)) func(connect) ints {
	return func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			for ctx.Err() == nil {
				wait, stopped := turn(ctx, connect, yield)
				if stopped {
					return nil
				}
				select {
				case <-ctx.Done():
				case <-time.After(wait):
				}
			}
			return context.Cause(ctx)
		}
	}
}

// missed are the loops in which nothing was found while each run had one break, and waits were not looked at.
var missed = []wrong{
	{"position lost at the second failure", prove.Repeated, feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			base, last := 0, 0
			return loopOf(func(ctx context.Context, connect func(int) ints, yield func(int) bool) (time.Duration, bool) {
				stopped := false
				_ = connect(base+last).Timeout(time.Minute)(ctx, func(v int) bool {
					last++
					stopped = !yield(v)
					return !stopped
				})
				base, last = max(base, last), 0 // right after the first failure only
				return pauseFor(), stopped
			})(connect)(ctx, yield)
		}
	})},
	{"no deadline in the handshake of a reconnect", prove.Silent, of(greeted(events), byHand{greeting: true, noHandshake: later}.run)},
	{"no timeout after a reconnect", prove.Silent, of(serveLines(events), byHand{noTimeout: later}.run)},
	{"a dial with context.Background()", prove.Late, of(serveLines(events), byHand{dialUnder: func(context.Context) context.Context { return context.Background() }}.run)},
	{"no wait after a connection that delivered", prove.Hot, of(serveLines(12), byHand{wait: func(_, _, lines int) time.Duration {
		if lines > 0 {
			return 0
		}
		return pauseFor()
	}}.run)},
	{"no wait after a connection that was welcomed", prove.Hot, of(greeted(events), welcomed)},
	{"connection not closed", prove.Open, of(serveLines(events), byHand{keepOpen: true}.run)},
	{"goes on after yield returned false", prove.Stop, feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			at := 0
			return loopOf(func(ctx context.Context, connect func(int) ints, _ func(int) bool) (time.Duration, bool) {
				stopped := false
				_ = connect(at).Timeout(time.Minute)(ctx, func(v int) bool {
					at = v
					stopped = !yield(v) || stopped
					return true
				})
				return pauseFor(), stopped
			})(connect)(ctx, yield)
		}
	})},
	{"ids added twice", prove.Lost, feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			base, last := 0, 0
			return loopOf(func(ctx context.Context, connect func(int) ints, yield func(int) bool) (time.Duration, bool) {
				stopped := false
				_ = connect(base)(ctx, func(v int) bool {
					last = v // absolute, and added to the base
					stopped = !yield(v)
					return !stopped
				})
				base, last = min(events, base+last), 0
				return pauseFor(), stopped
			})(func(at int) ints { return connect(at).Timeout(time.Minute) })(ctx, yield)
		}
	})},
	{"ids numbered per connection", prove.Repeated, of(serveEvents(events, func(first, i int) int { return i - first }), eventSource{}.run)},
}

// welcomed resets its waits with the greeting of a connection, and the first one is none.
func welcomed(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	fresh := false
	client := byHand{greeting: true, wait: func(_, attempts, _ int) time.Duration {
		if fresh {
			fresh = false
			return 0
		}
		return pauseFor()
	}, noHandshake: func(int) bool { fresh = true; return false }}
	return client.run(ctx, dial, got)
}

// pauseFor returns a wait that need not grow.
func pauseFor() time.Duration { return 5*time.Second + rand.N(time.Second) }

// others are faults that the other tests do not have, in five styles: operators, a loop over connect, a client of TCP by
// hand, one of net/http, and one of goroutines and channels.
var others = []wrong{
	{"TCP: the position starts over when a connection had no line", prove.Repeated, of(serveLines(events), byHand{disconnected: func(last *int, lines int) {
		if lines == 0 {
			*last = 0
		}
	}}.run)},
	{"TCP: the second reconnect skips a line", prove.Lost, of(serveLines(events), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		breaks := 0
		return byHand{disconnected: func(last *int, _ int) {
			if breaks++; breaks == 2 {
				*last = min(events, *last+1)
			}
		}}.run(ctx, dial, got)
	})},
	{"TCP: it waits a millisecond", prove.Hot, of(serveLines(events), byHand{wait: func(int, int, int) time.Duration { return time.Millisecond }}.run)},
	{"TCP: waits without a longest one", prove.Cap, of(serveLines(events), byHand{wait: func(_, attempts, _ int) time.Duration { return pauseFor() << min(attempts, 20) }}.run)},
	{"TCP: waits that never start over", prove.Reset, of(serveLines(events), byHand{wait: func(connection, _, _ int) time.Duration {
		return min(time.Minute, (time.Second/2+rand.N(time.Second/2))<<min(connection, 20))
	}}.run)},
	{"TCP: it gives up after three tries", prove.GaveUp, of(serveLines(events), byHand{tries: 3}.run)},
	{"TCP: it reads on after an error", prove.Hot, of(serveLines(events), byHand{again: true}.run)},
	{"HTTP: half an event", prove.Foreign, of(serveEvents(events, absolute), eventSource{half: true}.run)},
	{"HTTP: an error of the transport is its end", prove.GaveUp, of(serveEvents(events, absolute), eventSource{status: true}.run)},
	{"goroutines: it reads ahead", prove.Lost, of(serveLines(events), machine{ahead: true}.run)},
	{"loop: one connection more for each break", prove.Repeated, feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			at, breaks := 0, 0
			return loopOf(func(ctx context.Context, connect func(int) ints, yield func(int) bool) (time.Duration, bool) {
				stopped := false
				_ = connect(max(0, at-breaks/2)).Timeout(time.Minute)(ctx, func(v int) bool { // right once
					at = v
					stopped = !yield(v)
					return !stopped
				})
				breaks++
				return pauseFor(), stopped
			})(connect)(ctx, yield)
		}
	})},
	{"operators: it gives up at a dial without an answer", prove.GaveUp, feeding(func(connect connect) ints {
		return operators.Resume(0, func(at int) ints {
			return open(connect)(at).Catch(func(err error) ints {
				if errors.Is(err, stream.ErrTimeout) && at == events/2 {
					err = stream.Permanent(err)
				}
				return stream.Fail[int](err)
			})
		}, latest, reconnect)
	})},
}

func TestWrong(t *testing.T) {
	all := missed
	if night {
		all = slices.Concat(missed, others)
	}
	expectAll(t, all)
}

// expectAll expects each client's finding, by day those of the first of each kind.
func expectAll(t *testing.T, all []wrong) {
	if testing.Short() {
		t.Skip("whole checks of each client")
	}
	shown := map[reconnecttest.Kind]bool{}
	for _, w := range all {
		if !shown[w.kind] || night {
			shown[w.kind] = true
			t.Run(w.name, w.expect)
		}
	}
}

// expect expects a finding of the client's kind.
func (w wrong) expect(t *testing.T) {
	var found []string
	kinds := map[reconnecttest.Kind]bool{}
	report := w.check(t, reconnecttest.OnFinding(func(f reconnecttest.Finding) {
		kinds[f.Kind] = true
		found = append(found, fmt.Sprintf("%s: %s", f.Kind, f))
	}))
	if !kinds[w.kind] || len(report.Findings) != len(found) {
		t.Errorf("want the kind %q, got %d:", w.kind, len(found))
	}
	for _, f := range found {
		t.Log(f)
	}
}
