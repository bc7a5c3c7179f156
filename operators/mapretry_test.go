package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// flaky is an f that fails for an item as often as it says, and notes when it is called: "2@40ms" is item 2 after 40
// ms.
type flaky struct {
	failures map[int]int
	start    time.Time

	mu    sync.Mutex
	tries map[int]int
	calls []string
}

func newFlaky(failures map[int]int) *flaky {
	return &flaky{failures: failures, start: time.Now(), tries: map[int]int{}}
}

func (f *flaky) call(_ context.Context, i int) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%d@%v", i, time.Since(f.start)))
	f.tries[i]++
	if f.tries[i] <= f.failures[i] {
		return "", fmt.Errorf("item %d: %w", i, errBoom)
	}
	return fmt.Sprint("r", i), nil
}

func (f *flaky) expect(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(f.calls, " "); got != want {
		t.Errorf("calls\n got %s\nwant %s", got, want)
	}
}

// ledger notes what becomes of items.
type ledger struct {
	dead, left []string
	lastDead   *retry.Error
}

func (l *ledger) deadLetter(_ context.Context, i int, err *retry.Error) error {
	l.dead = append(l.dead, fmt.Sprintf("%d/%d", i, err.Attempts))
	l.lastDead = err
	return nil
}

func (l *ledger) abandon(i, attempts int) { l.left = append(l.left, fmt.Sprintf("%d/%d", i, attempts)) }

func (l *ledger) expect(t *testing.T, dead, left string) {
	t.Helper()
	slices.Sort(l.left)
	if got := strings.Join(l.dead, " "); got != dead {
		t.Errorf("dead letters %q, want %q", got, dead)
	}
	if got := strings.Join(l.left, " "); got != left {
		t.Errorf("abandoned %q, want %q", got, left)
	}
}

func constant(d time.Duration, opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Constant(d), opts...)
}

type options = operators.MapRetryOptions[int]

func TestMapRetry_ItemsAreRetriedWhileOthersGoOn(t *testing.T) {
	bubble(t, "unordered", func(t *testing.T) {
		f := newFlaky(map[int]int{1: 2, 3: 1})
		p := retry.New(backoff.Linear(20 * ms))
		expect(t, operators.MapRetry(stream.Of(1, 2, 3, 4), p, f.call, options{Workers: 1}), "0r2 0r4 20r3 60r1 60|")
		f.expect(t, "1@0s 2@0s 3@0s 4@0s 1@20ms 3@20ms 1@60ms")
	})
	bubble(t, "ordered", func(t *testing.T) {
		f := newFlaky(map[int]int{1: 2, 3: 1})
		p := retry.New(backoff.Linear(20 * ms))
		expect(t, operators.MapRetry(stream.Of(1, 2, 3, 4), p, f.call, options{Workers: 1, Ordered: true}), "60r1 60r2 60r3 60r4 60|")
		f.expect(t, "1@0s 2@0s 3@0s 4@0s 1@20ms 3@20ms 1@60ms")
	})
	bubble(t, "no delay", func(t *testing.T) {
		f := newFlaky(map[int]int{1: 3})
		expect(t, operators.MapRetry(stream.Of(1, 2), retry.New(backoff.Backoff{}), f.call, options{Workers: 1}), "0r1 0r2 0|")
		f.expect(t, "1@0s 1@0s 1@0s 1@0s 2@0s") // what is due goes before what is new
	})
	bubble(t, "due in the middle of the source", func(t *testing.T) {
		f := newFlaky(map[int]int{1: 1})
		s := operators.MapRetry(operators.Map(fromScript("0a 30b 50c 60|"), func(v string) int { return int(v[0]-'a') + 1 }), constant(40*ms), f.call, options{})
		expect(t, s, "30r2 40r1 50r3 60|")
	})
}

func TestMapRetry_OnAnInjectedClock(t *testing.T) {
	bubble(t, "the policy's goes first", func(t *testing.T) {
		mine, theirs := clock.NewMock(), clock.NewMock()
		f := newFlaky(map[int]int{1: 1})
		s := operators.MapRetry(stream.Of(1), constant(time.Second, retry.WithClock(mine)), f.call, options{})
		done := make(chan error)
		go func() {
			_, err := s.Collect(stream.WithClock(t.Context(), theirs))
			done <- err
		}()
		synctest.Wait()
		theirs.Add(time.Hour)
		synctest.Wait()
		if f.expect(t, "1@0s"); len(f.calls) == 1 {
			mine.Add(time.Second)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A hook that takes its time makes the time of a failure an old one: by then the timer has gone off for another item.
func TestMapRetry_TheTimerIsSetThoughAHookTookLong(t *testing.T) {
	run := func(t *testing.T) stream.Stream[string] {
		var mu sync.Mutex
		tries := map[int]int{}
		p := retry.New(backoff.Backoff{}, retry.OnRetry(func(_ context.Context, e retry.Event) {
			if e.Delay == 100*ms {
				time.Sleep(20 * ms)
			}
		}))
		return operators.MapRetry(stream.Of(1, 2), p, func(_ context.Context, i int) (string, error) {
			mu.Lock()
			tries[i]++
			first := tries[i] == 1
			mu.Unlock()
			switch {
			case !first:
				return fmt.Sprint("r", i), nil
			case i == 1:
				return "", retry.RetryAfter(errBoom, 10*ms)
			default:
				time.Sleep(5 * ms)
				return "", retry.RetryAfter(errBoom, 100*ms)
			}
		}, options{Workers: 2})
	}
	bubble(t, "on the system's clock", func(t *testing.T) { expect(t, run(t), "10r1 105r2 105|") })
	bubble(t, "on a mock", func(t *testing.T) { expectOnMock(t, run(t), "10r1 105r2 105|") })
}

// countingClock is the system's clock, which counts the timers that are armed.
type countingClock struct{ armed, most atomic.Int64 }

func (c *countingClock) Now() time.Time { return time.Now() }

func (c *countingClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	if n := c.armed.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	var once sync.Once
	over := func() { once.Do(func() { c.armed.Add(-1) }) }
	return countedTimer{time.AfterFunc(d, func() { over(); f() }), over}
}

type countedTimer struct {
	*time.Timer
	over func()
}

func (t countedTimer) Stop() bool {
	t.over()
	return t.Timer.Stop()
}

func TestMapRetry_OneTimerAndNoGoroutineForWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5000
		var c countingClock
		before := virtual.Count()
		ctx := stream.WithClock(t.Context(), &c)
		tries := make([]int, n)
		calls := 0
		s := operators.MapRetry(stream.Range(0, n), retry.New(backoff.Func(func(_ int, u float64) time.Duration {
			return time.Second + time.Duration(u*float64(time.Hour))
		})), func(_ context.Context, i int) (int, error) {
			calls++
			if tries[i]++; tries[i] == 1 {
				return 0, errBoom
			}
			if calls > n && calls < 2*n-100 {
				if g := virtual.Count() - before; g > 2 {
					t.Errorf("%d goroutines more than before, want the source's, if that, and a worker", g)
				}
			}
			return i, nil
		}, options{Workers: 1})
		got, err := s.Collect(ctx)
		if err != nil || len(got) != n {
			t.Fatalf("%d results, %v", len(got), err)
		}
		if most := c.most.Load(); most != 1 {
			t.Errorf("%d timers were armed at once, want 1", most)
		}
		if left := c.armed.Load(); left != 0 {
			t.Errorf("%d timers left", left)
		}
	})
}

func TestMapRetry_Workers(t *testing.T) {
	for _, c := range []struct{ workers, want int }{{1, 1}, {3, 3}, {0, runtime.GOMAXPROCS(0)}, {1000, 20}, {math.MaxInt, 20}} {
		bubble(t, fmt.Sprint(c.workers), func(t *testing.T) {
			before := virtual.Count()
			var at atomic.Int64
			var seen [21]atomic.Bool // by the number of calls at once
			s := operators.MapRetry(stream.Range(0, 20), constant(time.Second), func(_ context.Context, i int) (int, error) {
				seen[at.Add(1)].Store(true)
				time.Sleep(ms)
				at.Add(-1)
				if n := virtual.Count() - before; n > c.want+1 {
					t.Errorf("%d goroutines for %d calls at once", n, c.want)
				}
				return i, nil
			}, options{Workers: c.workers})
			if got, err := s.Collect(t.Context()); len(got) != 20 || err != nil {
				t.Error(got, err)
			}
			for n := range seen {
				if got, want := seen[n].Load(), 1 <= n && n <= c.want; got != want {
					t.Errorf("%d calls at once: %v, want %v", n, got, want)
				}
			}
		})
	}
}

func TestMapRetry_MaxPendingSlowsTheSource(t *testing.T) {
	for _, c := range []struct{ workers, pending int }{{1, 1}, {1, 3}, {4, 10}, {8, 3}, {2, 0}} {
		for _, ordered := range []bool{false, true} {
			bubble(t, fmt.Sprint(c, ordered), func(t *testing.T) {
				n, pending := 50, c.pending
				if pending == 0 {
					n, pending = 10_100, 10_000
				}
				var made, called atomic.Int64
				var up atomic.Bool
				tries := make([]int, n)
				s := operators.MapRetry(stream.Range(0, n).Tap(func(int) { made.Add(1) }), constant(time.Hour),
					func(_ context.Context, i int) (int, error) {
						if tries[i]++; tries[i] == 1 {
							called.Add(1)
						}
						if !up.Load() {
							return 0, errBoom
						}
						return i, nil
					}, options{Workers: c.workers, MaxPending: c.pending, Ordered: ordered})
				time.AfterFunc(150*time.Minute, func() {
					if called := int(called.Load()); called != pending {
						t.Errorf("%d items were called during the outage, want %d", called, pending)
					}
					if made := int(made.Load()); made != pending+1 {
						t.Errorf("the source made %d items, want %d and one in hand", made, pending)
					}
					up.Store(true)
				})
				got, err := s.Collect(t.Context())
				if ordered && !slices.IsSorted(got) {
					t.Error("out of order")
				}
				slices.Sort(got)
				if want, _ := stream.Range(0, n).Collect(t.Context()); err != nil || !slices.Equal(got, want) {
					t.Errorf("%d results of %d, %v", len(got), n, err)
				}
			})
		}
	}
}

func TestMapRetry_SlowConsumerStopsTheWorkersAndTheSource(t *testing.T) {
	for _, workers := range []int{1, 3, 10} {
		bubble(t, fmt.Sprint(workers), func(t *testing.T) {
			var made, called atomic.Int64
			s := operators.MapRetry(stream.Range(0, 100).Tap(func(int) { made.Add(1) }), constant(0),
				func(_ context.Context, i int) (int, error) { called.Add(1); return i, nil }, options{Workers: workers})
			ahead, taken := max(workers, 4), 0
			err := s.ForEach(t.Context(), func(int) {
				time.Sleep(time.Second)
				taken++
				if n := int(called.Load()); n > taken+ahead {
					t.Errorf("%d calls for %d values, want at most %d", n, taken, taken+ahead)
				}
				if n := int(made.Load()); n > taken+2*ahead+1 {
					t.Errorf("%d items for %d values, want at most %d", n, taken, taken+2*ahead+1)
				}
			})
			if err != nil || taken != 100 {
				t.Error(taken, err)
			}
		})
	}
}

func TestMapRetry_GivingUpEndsTheStream(t *testing.T) {
	refuse := errors.New("refused")
	f := func(_ context.Context, i int) (int, error) {
		switch i {
		case 3:
			return 0, errBoom
		case 5:
			return 0, retry.Permanent(refuse)
		case 6:
			return 0, refuse
		}
		return i, nil
	}
	p := constant(time.Second, retry.Limit(2), retry.If(func(err error) bool { return err != refuse }))
	bubble(t, "limit", func(t *testing.T) {
		_, err := operators.MapRetry(stream.Of(3), p, f, options{}).Collect(t.Context())
		e, ok := err.(*retry.Error)
		if !ok || !errors.Is(e.Cause, retry.ErrLimit) || e.Last != errBoom || e.Attempts != 3 || e.Elapsed != 2*time.Second {
			t.Errorf("%#v", err)
		}
	})
	bubble(t, "permanent", func(t *testing.T) {
		if _, err := operators.MapRetry(stream.Of(5), p, f, options{}).Collect(t.Context()); !errors.Is(err, refuse) || err.Error() != refuse.Error() {
			t.Errorf("%#v", err)
		}
	})
	bubble(t, "refused", func(t *testing.T) {
		if _, err := operators.MapRetry(stream.Of(6), p, f, options{}).Collect(t.Context()); err != refuse {
			t.Errorf("%#v", err)
		}
	})
	bubble(t, "the others are abandoned", func(t *testing.T) {
		var l ledger
		src := stream.Of(1, 6, 7, 8, 9).Concat(stream.Never[int]())
		_, err := operators.MapRetry(src, constant(time.Second), func(ctx context.Context, i int) (int, error) {
			switch i {
			case 6:
				time.Sleep(ms)
				return 0, retry.Permanent(refuse)
			case 7, 1:
				return 0, errBoom
			case 8:
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return i, nil
		}, options{Workers: 2, OnAbandon: l.abandon}).Collect(t.Context())
		if !errors.Is(err, refuse) {
			t.Error(err)
		}
		l.expect(t, "", "1/1 7/1 8/1 9/0")
	})
	bubble(t, "in its turn", func(t *testing.T) {
		var l ledger
		s := operators.MapRetry(stream.Of(1, 2, 3, 4, 5), constant(time.Second, retry.Limit(1)), func(_ context.Context, i int) (string, error) {
			switch i {
			case 1: // ready after 1 s, when 3 has long ended the stream
				if time.Sleep(500 * ms); l.lastDead == nil {
					l.lastDead = new(retry.Error)
					return "", errBoom
				}
			case 3:
				return "", retry.Permanent(errBoom)
			case 5:
				t.Error("item 5 was called")
			}
			return fmt.Sprint("r", i), nil
		}, options{Workers: 2, Ordered: true, OnAbandon: l.abandon})
		expect(t, s, "2000r1 2000r2 2000#")
		l.expect(t, "", "4/0 5/0")
	})
}

func TestMapRetry_DeadLetter(t *testing.T) {
	fail := func(errs ...error) func(context.Context, int) (string, error) {
		return func(_ context.Context, i int) (string, error) {
			if i < len(errs) && errs[i] != nil {
				return "", errs[i]
			}
			return fmt.Sprint("r", i), nil
		}
	}
	bubble(t, "given up", func(t *testing.T) {
		var l ledger
		s := operators.MapRetry(stream.Of(0, 1, 2, 3), constant(10*ms, retry.Limit(2)), fail(nil, errBoom), options{Workers: 1, DeadLetter: l.deadLetter, OnAbandon: l.abandon})
		expect(t, s, "0r0 0r2 0r3 20|")
		l.expect(t, "1/3", "")
		if e := l.lastDead; !errors.Is(e.Cause, retry.ErrLimit) || e.Last != errBoom || e.Elapsed != 20*ms {
			t.Errorf("%#v", e)
		}
	})
	bubble(t, "in its turn", func(t *testing.T) {
		f := newFlaky(map[int]int{1: 9, 2: 1})
		var order []string
		s := operators.MapRetry(stream.Of(1, 2, 3), constant(10*ms, retry.Limit(1)), f.call,
			options{Workers: 1, Ordered: true, DeadLetter: func(_ context.Context, i int, _ *retry.Error) error {
				order = append(order, fmt.Sprint("dead", i))
				return nil
			}})
		err := s.ForEach(t.Context(), func(v string) { order = append(order, v) })
		if got := strings.Join(order, " "); err != nil || got != "dead1 r2 r3" {
			t.Errorf("%s, %v", got, err)
		}
		f.expect(t, "1@0s 2@0s 3@0s 1@10ms 2@10ms")
	})
	inner := &retry.Error{Cause: retry.ErrExhausted, Last: errBoom, Attempts: 7}
	for name, failure := range map[string]error{
		"permanent":                  retry.Permanent(errBoom),
		"permanent deeper":           fmt.Errorf("wrapped: %w", retry.Permanent(errBoom)),
		"refused":                    fmt.Errorf("no: %w", errBoom),
		"refused, an Error itself":   inner,
		"permanent, an Error itself": retry.Permanent(inner),
		"a wrapped Error of a retry": fmt.Errorf("no: %w", inner),
		"an error of a funny type":   funnyError{[]string{"x"}},
	} {
		bubble(t, name, func(t *testing.T) {
			var l ledger
			p := constant(0, retry.If(func(err error) bool { return false }))
			s := operators.MapRetry(stream.Of(0, 1), p, fail(failure), options{Workers: 1, DeadLetter: l.deadLetter, OnAbandon: l.abandon})
			expect(t, s, "0r1 0|")
			l.expect(t, "0/1", "")
			if e := l.lastDead; e.Cause != retry.ErrRefused || !errors.Is(e, errBoom) || e.Elapsed != 0 {
				t.Errorf("%#v", e)
			}
		})
	}
	bubble(t, "its error ends the stream", func(t *testing.T) {
		var l ledger
		full := errors.New("the dead letter queue is full")
		_, err := operators.MapRetry(stream.Of(0, 1, 2), constant(0, retry.Limit(0)), fail(errBoom, errBoom), options{Workers: 1, OnAbandon: l.abandon,
			DeadLetter: func(ctx context.Context, i int, err *retry.Error) error {
				time.Sleep(ms) // the others go on
				return full
			}}).Collect(t.Context())
		if err != full {
			t.Error(err)
		}
		l.expect(t, "", "1/1 2/1")
	})
	bubble(t, "on the consumer's goroutine, with its context", func(t *testing.T) {
		caller := virtual.Current().ID
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := operators.MapRetry(stream.Of(0), constant(0, retry.Limit(0)), fail(errBoom), options{
			DeadLetter: func(got context.Context, _ int, _ *retry.Error) error {
				if got != ctx || virtual.Current().ID != caller {
					t.Error("another context or goroutine")
				}
				return nil
			}}).Collect(ctx)
		if err != nil {
			t.Error(err)
		}
	})
}

// funnyError is an error that cannot be compared.
type funnyError struct{ words []string }

func (e funnyError) Error() string { return strings.Join(e.words, " ") }
func (e funnyError) Unwrap() error { return errBoom }

// A context that ends while DeadLetter is called: its error matches the cause too.
func TestMapRetry_CancelledInDeadLetter(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	err := operators.MapRetry(stream.Of(1), constant(0, retry.Limit(0)), newFlaky(map[int]int{1: 1}).call, options{
		DeadLetter: func(ctx context.Context, _ int, _ *retry.Error) error {
			cancel(errCause)
			return ctx.Err()
		}}).ForEach(ctx, func(string) {})
	if !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMapRetry_Cancel(t *testing.T) {
	bubble(t, "while items wait and are called", func(t *testing.T) {
		var l ledger
		src := stream.Of(1, 2, 3, 4, 5, 6).Concat(stream.Never[int]())
		s := operators.MapRetry(src, constant(time.Hour), func(ctx context.Context, i int) (string, error) {
			switch {
			case i <= 2:
				return "", errBoom
			case i == 3:
				<-ctx.Done()
				return "", errBoom
			case i == 4:
				<-ctx.Done()
				return "late", nil
			}
			return "", errBoom
		}, options{Workers: 2, OnAbandon: l.abandon})
		expectUntil(t, time.Minute, s, "60000!")
		l.expect(t, "", "1/1 2/1 3/1 4/1 5/0 6/0")
	})
	bubble(t, "while the consumer works", func(t *testing.T) {
		var l ledger
		ctx := cancelAt(t, ms)
		made := 0
		s := operators.MapRetry(stream.Range(0, 100).Tap(func(int) { made++ }), constant(0), newFlaky(nil).call, options{Workers: 1, OnAbandon: l.abandon})
		got := playWith(ctx, s, func(string) bool { time.Sleep(time.Second); return true })
		if got != "0r0 1000!" {
			t.Error(got)
		}
		// 0 came out, 4 more are called, and of those that are not, 4 at most wait for it and one is in the source's hand.
		if made < 9 || made > 10 {
			t.Errorf("%d items were made", made)
		}
		var want strings.Builder
		want.WriteString("1/1 2/1 3/1 4/1")
		for i := 5; i < made; i++ {
			fmt.Fprintf(&want, " %d/0", i)
		}
		l.expect(t, "", want.String())
	})
	bubble(t, "a wait that would pass the deadline is not begun", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var l ledger
		f := newFlaky(map[int]int{1: 1, 2: 0})
		s := operators.MapRetry(stream.Of(1, 2), constant(time.Hour), f.call, options{Workers: 1, DeadLetter: l.deadLetter})
		if got := play(ctx, s); got != "0r2 0|" {
			t.Error(got)
		}
		if l.expect(t, "1/1", ""); l.lastDead.Cause != retry.ErrDeadline {
			t.Error(l.lastDead)
		}
	})
}

func TestMapRetry_SourceFails(t *testing.T) {
	fails := stream.Of(1, 2, 3).Concat(stream.Fail[int](errBoom))
	bubble(t, "what it has delivered is finished first", func(t *testing.T) {
		f := newFlaky(map[int]int{1: 2})
		expect(t, operators.MapRetry(fails, constant(time.Second), f.call, options{Workers: 1}), "0r2 0r3 2000r1 2000#")
	})
	bubble(t, "both errors", func(t *testing.T) {
		refused := errors.New("refused")
		_, err := operators.MapRetry(fails, constant(time.Second), func(_ context.Context, i int) (int, error) {
			if time.Sleep(ms); i == 3 {
				return 0, retry.Permanent(refused)
			}
			return i, nil
		}, options{}).Collect(t.Context())
		if !errors.Is(err, refused) || !errors.Is(err, errBoom) {
			t.Error(err)
		}
	})
	bubble(t, "cancelled meanwhile", func(t *testing.T) {
		f := newFlaky(map[int]int{1: 2})
		expectUntil(t, ms, operators.MapRetry(fails, constant(time.Second), f.call, options{Workers: 1}), "0r2 0r3 1!")
	})
}

func TestMapRetry_Panics(t *testing.T) {
	type mine struct{ error }
	var l ledger
	run := func(t *testing.T, src stream.Stream[int], p retry.Policy, f func(context.Context, int) (int, error), o options) any {
		l = ledger{}
		o.OnAbandon = l.abandon
		return recovered(func() { _, _ = operators.MapRetry(src, p, f, o).Collect(t.Context()) })
	}
	expectStack := func(t *testing.T, v any, where string) {
		t.Helper()
		err, ok := v.(error)
		if !ok || !errors.Is(err, errBoom) || !strings.Contains(err.Error(), where) {
			t.Errorf("panicked with %v, want boom with the stack of %s", v, where)
		}
	}
	ok := func(_ context.Context, i int) (int, error) { return i, nil }
	bubble(t, "f", func(t *testing.T) {
		n := 0
		v := run(t, stream.Of(1, 2, 3).Concat(stream.Never[int]()), constant(time.Second), func(_ context.Context, i int) (int, error) {
			if n++; n == 4 {
				panicHere(errBoom)
			}
			return 0, errBoom
		}, options{Workers: 1})
		expectStack(t, v, "panicHere")
		l.expect(t, "", "1/2 2/1 3/1")
	})
	bubble(t, "f, when the run is over already", func(t *testing.T) {
		v := recovered(func() {
			_ = operators.MapRetry(stream.Of(1, 2), constant(0), func(ctx context.Context, i int) (int, error) {
				if i == 2 {
					<-ctx.Done()
					panicHere(errBoom)
				}
				return i, nil
			}, options{Workers: 2})(t.Context(), func(int) bool { time.Sleep(ms); return false })
		})
		expectStack(t, v, "panicHere")
	})
	bubble(t, "f, when an item's error has ended the run", func(t *testing.T) {
		v := run(t, stream.Of(1, 2), constant(0), func(ctx context.Context, i int) (int, error) {
			if i == 2 {
				<-ctx.Done()
				panicHere(errBoom)
			}
			time.Sleep(ms)
			return 0, retry.Permanent(errCause)
		}, options{Workers: 2})
		expectStack(t, v, "panicHere")
		l.expect(t, "", "1/1 2/1") // the panic hides the error of 1
	})
	bubble(t, "f twice: the first counts", func(t *testing.T) {
		v := run(t, stream.Of(1, 2), constant(0), func(ctx context.Context, i int) (int, error) {
			if i == 1 {
				<-ctx.Done()
				panic(errCause)
			}
			time.Sleep(ms)
			panicHere(errBoom)
			return 0, nil
		}, options{Workers: 2})
		expectStack(t, v, "panicHere")
	})
	bubble(t, "f exits", func(t *testing.T) {
		if !exits(func() {
			run(t, stream.Of(1), constant(0), func(context.Context, int) (int, error) { runtime.Goexit(); return 0, nil }, options{})
		}) {
			t.Error("the goroutine goes on")
		}
		l.expect(t, "", "1/1")
	})
	bubble(t, "a hook", func(t *testing.T) {
		v := run(t, stream.Of(1), constant(0, retry.OnRetry(func(context.Context, retry.Event) { panicHere(errBoom) })), func(context.Context, int) (int, error) { return 0, errBoom }, options{})
		expectStack(t, v, "panicHere")
		l.expect(t, "", "1/1")
	})
	bubble(t, "the source", func(t *testing.T) {
		v := run(t, stream.Of(1).Concat(stream.Defer(func(context.Context) stream.Stream[int] { time.Sleep(ms); panicHere(errBoom); return nil })), constant(0), ok, options{})
		expectStack(t, v, "panicHere")
		l.expect(t, "", "")
	})
	bubble(t, "a dead letter, untouched", func(t *testing.T) {
		v := run(t, stream.Of(1, 2).Concat(stream.Never[int]()), constant(0, retry.Limit(0)), func(context.Context, int) (int, error) { return 0, errBoom }, options{Workers: 1,
			DeadLetter: func(context.Context, int, *retry.Error) error { time.Sleep(ms); panic(mine{errBoom}) }})
		if v != (mine{errBoom}) {
			t.Error(v)
		}
		l.expect(t, "", "2/1")
	})
	bubble(t, "the consumer, untouched", func(t *testing.T) {
		l = ledger{}
		v := recovered(func() {
			_ = operators.MapRetry(stream.Of(1, 2).Concat(stream.Never[int]()), constant(0), ok, options{Workers: 1, OnAbandon: l.abandon}).
				ForEach(t.Context(), func(int) { time.Sleep(ms); panic(mine{errBoom}) })
		})
		if v != (mine{errBoom}) {
			t.Error(v)
		}
		l.expect(t, "", "2/1")
	})
}

// It is for the race detector.
func TestMapRetry_PanicWhileTheSourceEnds(t *testing.T) {
	for range 1000 {
		called := make(chan struct{})
		src := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
			yield(1)
			<-called
			return errBoom
		})
		v := recovered(func() {
			_, _ = operators.MapRetry(src, constant(0), func(context.Context, int) (int, error) {
				close(called)
				panic(errCause)
			}, options{}).Collect(t.Context())
		})
		if err, ok := v.(error); !ok || !errors.Is(err, errCause) {
			t.Errorf("panicked with %v", v)
		}
	}
}

//go:noinline
func panicHere(v any) { panic(v) }

func TestMapRetry_AttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		s := operators.MapRetry(stream.Of(1, 2), constant(20*ms, retry.AttemptTimeout(10*ms), retry.Limit(2)), func(ctx context.Context, i int) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, options{Workers: 1, DeadLetter: l.deadLetter})
		expectOnMock(t, s, "80|") // 1 for 0-10, 30-40, 60-70 ms; 2 for 10-20, 40-50, 70-80 ms
		if l.expect(t, "1/3 2/3", ""); l.lastDead.Last != context.DeadlineExceeded {
			t.Error(l.lastDead)
		}
	})
}

func TestMapRetry_Signal(t *testing.T) {
	bubble(t, "ends the waits of all items", func(t *testing.T) {
		signal := retry.NewSignal()
		f := newFlaky(map[int]int{1: 2, 2: 1})
		time.AfterFunc(time.Second, signal.Fire)
		p := retry.New(backoff.Linear(time.Hour), retry.ResetOn(signal))
		// The row starts again: the wait after the signal is of 1 h, not 2.
		expect(t, operators.MapRetry(stream.Of(1, 2, 3), p, f.call, options{Workers: 1}), "0r3 1000r2 3601000r1 3601000|")
	})
	bubble(t, "while all workers are busy", func(t *testing.T) {
		signal := retry.NewSignal()
		tries := map[int]int{}
		f := func(_ context.Context, i int) (string, error) {
			if tries[i]++; i == 2 {
				time.Sleep(time.Minute)
			}
			if tries[i] == 1 {
				return "", errBoom
			}
			return fmt.Sprint("r", i), nil
		}
		time.AfterFunc(time.Second, signal.Fire)
		p := constant(time.Hour, retry.ResetOn(signal))
		// 2 is in the middle of its call at the signal: its wait, begun afterwards, lasts.
		expect(t, operators.MapRetry(stream.Of(1, 2), p, f, options{Workers: 1}), "60000r1 3720000r2 3720000|")
	})
	bubble(t, "between a failure and its wait", func(t *testing.T) {
		signal := retry.NewSignal()
		f := newFlaky(map[int]int{1: 1})
		p := constant(time.Hour, retry.ResetOn(signal), retry.OnRetry(func(context.Context, retry.Event) { signal.Fire() }))
		expect(t, operators.MapRetry(stream.Of(1, 2), p, f.call, options{Workers: 1}), "0r1 0r2 0|")
	})
	bubble(t, "fired before the run means nothing", func(t *testing.T) {
		signal := retry.NewSignal()
		signal.Fire()
		f := newFlaky(map[int]int{1: 1, 2: 1})
		expect(t, operators.MapRetry(stream.Of(1, 2), constant(time.Hour, retry.ResetOn(signal)), f.call, options{Workers: 1}), "3600000r1 3600000r2 3600000|")
	})
	bubble(t, "is let go of", func(t *testing.T) {
		signal := retry.NewSignal()
		s := operators.MapRetry(stream.Of(1), constant(time.Hour, retry.ResetOn(signal)), newFlaky(nil).call, options{})
		for range 10 {
			expect(t, s, "0r1 0|")
		}
		if text := fmt.Sprintf("%+v", signal); strings.Contains(text, "0x") {
			t.Errorf("the signal still knows of %s", text)
		}
	})
}

func TestMapRetry_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		b := retry.NewBudget(2, 1, 0.5)
		f := newFlaky(map[int]int{2: 9, 3: 9})
		s := operators.MapRetry(stream.Of(1, 2, 3, 4), constant(time.Second, retry.WithBudget(b)), f.call, options{Workers: 1, DeadLetter: l.deadLetter})
		expect(t, s, "0r1 0r4 1000|")
		if l.expect(t, "2/2 3/2", ""); l.lastDead.Cause != retry.ErrBudget {
			t.Error(l.lastDead)
		}
		if b.Tokens() != 0.5 {
			t.Errorf("%v, want the refund of item 4", b)
		}
	})
}

func TestMapRetry_HugeDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		f := newFlaky(map[int]int{1: 9, 2: 9})
		s := operators.MapRetry(stream.Of(1, 2), constant(math.MaxInt64), f.call, options{OnAbandon: l.abandon})
		expectUntil(t, 1000*time.Hour, s, "3600000000!")
		l.expect(t, "", "1/1 2/1")
	})
}

func TestMapRetry_AMillionFailuresWithoutDelayAreFlat(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n /= 10
	}
	tries, depth := 0, 0
	s := operators.MapRetry(stream.Of(1), retry.New(backoff.Backoff{}), func(context.Context, int) (int, error) {
		if tries++; tries == 10 || tries == n {
			var pc [200]uintptr
			if d := runtime.Callers(0, pc[:]); depth != 0 && d != depth {
				t.Errorf("the stack was %d deep and is %d", depth, d)
			} else {
				depth = d
			}
		}
		if tries == n {
			return tries, nil
		}
		return 0, errBoom
	}, options{Workers: 1})
	allocs := testing.AllocsPerRun(1, func() {
		tries = 0
		if _, err := s.Collect(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if allocs > float64(n)+200 { // each retry has the context that knows its number
		t.Errorf("%v allocations for %d failures", allocs, n)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	tries = 0
	_, err := operators.MapRetry(stream.Of(1), retry.New(backoff.Backoff{}), func(context.Context, int) (int, error) {
		if tries++; tries == 1000 {
			cancel(errCause)
		}
		return 0, errBoom
	}, options{}).Collect(ctx)
	if !errors.Is(err, errCause) || tries != 1000 {
		t.Errorf("%v after %d calls", err, tries)
	}
}

func TestMapRetry_RunsShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		tries := map[int]int{}
		s := operators.MapRetry(stream.Range(0, 100), constant(time.Second), func(_ context.Context, i int) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if tries[i]++; tries[i]%3 != 0 {
				return 0, errBoom
			}
			return i, nil
		}, options{Workers: 3, Ordered: true})
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got, err := s.Collect(t.Context()); len(got) != 100 || !slices.IsSorted(got) || err != nil {
					t.Errorf("%v, %v", got, err)
				}
			})
		}
		wg.Wait()
	})
}

// Each item fares as it would under retry.Do: the same calls at the same times, the same end.
func TestMapRetry_IsRetryDoForEachItem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy := drawPolicy(rt)
		scripts := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"fail", "slow", "permanent", "refused", "after", "ok"}), 0, 8), 1, 5).Draw(rt, "items")
		var want, got []string
		synctest.Test(t, func(t *testing.T) {
			logs := make([]string, len(scripts))
			var wg sync.WaitGroup
			for i, script := range scripts {
				wg.Go(func() {
					v, err := retry.Do(t.Context(), policy, scripted(&logs[i], script))
					logs[i] += fmt.Sprint(" => ", v, " ", err)
				})
			}
			wg.Wait()
			want = logs
		})
		synctest.Test(t, func(t *testing.T) {
			logs := make([]string, len(scripts))
			calls := make([]func(context.Context) (string, error), len(scripts))
			for i, script := range scripts {
				calls[i] = scripted(&logs[i], script)
			}
			s := operators.MapRetry(stream.Range(0, len(scripts)), policy, func(ctx context.Context, i int) (int, error) {
				v, err := calls[i](ctx)
				if err == nil {
					logs[i] += fmt.Sprint(" => ", v, " ", err)
				}
				return i, err
			}, options{Workers: len(scripts), DeadLetter: func(_ context.Context, i int, err *retry.Error) error {
				if err.Cause == retry.ErrRefused {
					logs[i] += fmt.Sprint(" =>  ", err.Last)
				} else {
					logs[i] += fmt.Sprint(" =>  ", err)
				}
				return nil
			}})
			if _, err := s.Collect(t.Context()); err != nil {
				t.Error(err)
			}
			got = logs
		})
		for i := range want {
			if got[i] != want[i] {
				rt.Errorf("item %d\nMapRetry %s\nDo       %s", i, got[i], want[i])
			}
		}
	})
}

var errRefused = errors.New("refused")

func drawPolicy(t *rapid.T) retry.Policy {
	p := retry.New(rapid.SampledFrom([]backoff.Backoff{
		backoff.Backoff{},
		backoff.Constant(time.Second),
		backoff.Exponential(time.Second, 2).Jitter(jitter.Full),
		backoff.Quadratic(time.Second).Cap(5 * time.Second),
		backoff.Decorrelated(time.Second).Cap(10 * time.Second),
		backoff.Exponential(time.Second, 2).Tiled(),
	}).Draw(t, "backoff"), retry.WithRand(func() float64 { return 0.7 }), retry.If(func(err error) bool { return err != errRefused }))
	if rapid.Bool().Draw(t, "limit") {
		p = p.With(retry.Limit(rapid.IntRange(0, 6).Draw(t, "n")))
	}
	if rapid.Bool().Draw(t, "within") {
		p = p.With(retry.Within(time.Duration(rapid.IntRange(0, 20).Draw(t, "d")) * time.Second))
	}
	if rapid.Bool().Draw(t, "stopat") {
		p = p.With(retry.StopAt(8 * time.Second))
	}
	if rapid.Bool().Draw(t, "resetafter") {
		p = p.With(retry.ResetAfter(3 * time.Second))
	}
	if rapid.Bool().Draw(t, "timeout") {
		p = p.With(retry.AttemptTimeout(2 * time.Second))
	}
	if rapid.Bool().Draw(t, "maxretryafter") {
		p = p.With(retry.MaxRetryAfter(5 * time.Second))
	}
	return p
}

// fromScript is a function whose calls go as the words say, and that notes when they are made.
func scripted(log *string, words []string) func(context.Context) (string, error) {
	start, n := time.Now(), 0
	return func(ctx context.Context) (string, error) {
		*log += fmt.Sprint(" ", time.Since(start))
		word := "ok"
		if n < len(words) {
			word = words[n]
		}
		n++
		switch word {
		case "fail":
			return "", errBoom
		case "slow":
			select {
			case <-time.After(4 * time.Second):
				return "", errBoom
			case <-ctx.Done():
				return "", ctx.Err()
			}
		case "permanent":
			return "", retry.Permanent(errBoom)
		case "refused":
			return "", errRefused
		case "after":
			return "", retry.RetryAfter(errBoom, time.Duration(n)*1500*ms)
		}
		return "fine", nil
	}
}

type itemKey struct{}

func TestMapRetry_HooksGetTheItemsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu   sync.Mutex
			told []string
		)
		note := func(ctx context.Context, format string, args ...any) {
			mu.Lock()
			told = append(told, fmt.Sprintf("%v: ", ctx.Value(itemKey{}))+fmt.Sprintf(format, args...))
			mu.Unlock()
		}
		p := constant(time.Second, retry.Limit(2),
			retry.OnRetry(func(ctx context.Context, e retry.Event) { note(ctx, "retry %d, lasted %v", e.N, e.Lasted) }),
			retry.OnGiveUp(func(ctx context.Context, e *retry.Error) { note(ctx, "gave up after %d", e.Attempts) }),
			retry.OnRecovered(func(ctx context.Context, r retry.Recovery) {
				note(ctx, "works after %d, %v: %v", r.Retries, r.Down, r.Last)
			}),
			retry.OnDone(func(ctx context.Context, r retry.Result) {
				note(ctx, "done after %d in %v: %v", r.Attempts, r.Elapsed, r.Err)
			}))
		var attempts []int
		s := operators.MapRetry(stream.Of(1, 2, 3), p, func(ctx context.Context, i int) (int, error) {
			time.Sleep(time.Second)
			attempts = append(attempts, stream.AttemptFrom(ctx))
			if i == 3 || i == 2 && len(attempts) < 5 {
				return 0, errBoom
			}
			return i, nil
		}, options{
			Workers:    1,
			Context:    func(ctx context.Context, i int) context.Context { return context.WithValue(ctx, itemKey{}, i) },
			DeadLetter: func(context.Context, int, *retry.Error) error { return nil },
		})
		if got, err := s.Collect(t.Context()); !slices.Equal(got, []int{1, 2}) || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
		want := []string{
			"1: done after 1 in 1s: <nil>",
			"2: retry 1, lasted 1s",
			"3: retry 1, lasted 1s",
			"2: retry 2, lasted 1s",
			"3: retry 2, lasted 1s",
			"2: works after 2, 4s: boom",
			"2: done after 3 in 5s: <nil>",
			"3: gave up after 3",
			"3: done after 3 in 5s: retry: limit of 2 retries: 3 failures in 4s: boom",
		}
		if !slices.Equal(told, want) {
			t.Errorf("got\n%q\nwant\n%q", told, want)
		}
		if want := []int{1, 1, 1, 2, 2, 3, 3}; !slices.Equal(attempts, want) {
			t.Errorf("attempts %v, want %v", attempts, want)
		}
	})
}

func TestMapRetry_AnItemWhoseOwnContextHasEnded(t *testing.T) {
	gone := errors.New("nobody wants it")
	for _, letters := range []bool{false, true} {
		bubble(t, fmt.Sprintf("with a dead letter: %v", letters), func(t *testing.T) {
			var (
				l     ledger
				calls = map[int]int{}
				done  = map[int]error{}
			)
			own := map[int]context.Context{}
			for i, after := range map[int]time.Duration{1: 0, 2: time.Second / 2, 3: 3 * time.Second / 2} {
				ctx, cancel := context.WithCancelCause(t.Context())
				own[i] = context.WithValue(ctx, itemKey{}, i)
				if after == 0 {
					cancel(gone)
				} else {
					time.AfterFunc(after, func() { cancel(gone) })
				}
			}
			o := options{
				Workers: 1, Ordered: true, OnAbandon: l.abandon,
				Context: func(ctx context.Context, i int) context.Context {
					if own[i] != nil {
						return own[i]
					}
					return ctx
				},
			}
			if letters {
				o.DeadLetter = l.deadLetter
			}
			p := constant(time.Second, retry.OnDone(func(ctx context.Context, r retry.Result) {
				if i, ok := ctx.Value(itemKey{}).(int); ok {
					done[i] = r.Err
				}
			}))
			got, err := operators.MapRetry(stream.Of(1, 2, 3, 4), p, func(ctx context.Context, i int) (int, error) {
				switch calls[i]++; {
				case i == 3 && calls[i] == 2:
					<-ctx.Done() // in the middle of the call
					return 0, errBoom
				case i == 2, i == 3:
					return 0, errBoom
				}
				return i, nil
			}, o).Collect(t.Context())
			if !slices.Equal(got, []int{4}) || err != nil || calls[1] != 0 || calls[2] != 1 || calls[3] != 2 {
				t.Errorf("got %v, %v, calls %v", got, err, calls)
			}
			if letters {
				l.expect(t, "1/0 2/1 3/2", "")
			} else {
				l.expect(t, "", "")
			}
			for i := 1; i <= 3; i++ {
				e, ok := errors.AsType[*retry.Error](done[i])
				if !ok || !errors.Is(e.Cause, gone) || !errors.Is(e, context.Canceled) || e.Attempts != calls[i] || e.Retries != max(0, calls[i]-1) ||
					(calls[i] > 0) != errors.Is(e.Last, errBoom) {
					t.Errorf("item %d: %#v", i, done[i])
				}
			}
		})
	}
}

func TestMapRetry_OnDoneOfWhatIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		p := constant(time.Hour, retry.OnDone(func(_ context.Context, r retry.Result) {
			told = append(told, fmt.Sprintf("%d %v", r.Attempts, r.Err))
		}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		_, err := operators.MapRetry(stream.Of(1, 2).Concat(stream.Never[int]()), p, func(ctx context.Context, i int) (int, error) {
			if i == 2 {
				<-ctx.Done()
			}
			return 0, errBoom
		}, options{Workers: 1}).Collect(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		// One was cut off, and one waited.
		if want := []string{"1 retry: context canceled: 1 failure in 0s: boom", "1 retry: context canceled: 1 failure in 1m: boom"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// An item that was not called when the stream ended is no operation: OnDone is not called for it.
func TestMapRetry_NoOnDoneForWhatWasNotCalled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := constant(0, retry.OnDone(func(_ context.Context, r retry.Result) { t.Errorf("got %+v", r) }))
	var l ledger
	_, err := operators.MapRetry(stream.Of(1), p, func(context.Context, int) (int, error) { return 0, errors.New("it was called") },
		options{OnAbandon: l.abandon, Context: func(ctx context.Context, _ int) context.Context {
			cancel() // after the worker has looked
			return ctx
		}}).Collect(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	l.expect(t, "", "1/0")
}

// A signal makes all waiting items due at once. The one that has waited longest is called first, whatever its delay
// was.
func TestMapRetry_ASignalCallsInTheOrderOfTheFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signal := retry.NewSignal()
		time.AfterFunc(time.Minute, signal.Fire)
		var calls []string
		start := time.Now()
		_, err := operators.MapRetry(stream.Range(1, 6), constant(0, retry.ResetOn(signal)), func(ctx context.Context, i int) (int, error) {
			calls = append(calls, fmt.Sprint(i, time.Since(start)))
			if stream.AttemptFrom(ctx) == 1 {
				return 0, retry.RetryAfter(errBoom, time.Duration(7-i)*time.Hour)
			}
			return i, nil
		}, options{Workers: 1}).Collect(t.Context())
		want := []string{"1 0s", "2 0s", "3 0s", "4 0s", "5 0s", "6 0s", "1 1m0s", "2 1m0s", "3 1m0s", "4 1m0s", "5 1m0s", "6 1m0s"}
		if err != nil || !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q: %v", calls, want, err)
		}
	})
}
