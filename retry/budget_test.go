package retry_test

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestABudgetIsNeverOverdrawn(t *testing.T) {
	budget := retry.NewBudget(100, 1, 0)
	var retries atomic.Int64
	p := every(0, retry.WithBudget(budget), retry.OnRetry(func(context.Context, retry.Event) { retries.Add(1) }))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				c := calls{fails: -1}
				_, _ = retry.Do(t.Context(), p, c.do)
			}
		})
	}
	wg.Wait()
	if retries.Load() != 100 || budget.Tokens() != 0 {
		t.Errorf("%d retries, %v tokens left; want 100 and 0", retries.Load(), budget.Tokens())
	}
}

func TestARefundFillsNoFurtherThanTheCapacity(t *testing.T) {
	budget := retry.NewBudget(10, 5, 0.5)
	p := every(0, retry.Limit(1), retry.WithBudget(budget))
	ok, bad := calls{}, calls{fails: -1}
	for range 3 {
		_, _ = retry.Do(t.Context(), p, ok.do)
	}
	if budget.Tokens() != 10 {
		t.Errorf("%v tokens, want 10", budget.Tokens())
	}
	_, _ = retry.Do(t.Context(), p, bad.do)
	_, _ = retry.Do(t.Context(), p, ok.do)
	if budget.Tokens() != 5.5 {
		t.Errorf("%v tokens, want 5.5", budget.Tokens())
	}
	if got, want := budget.String(), "budget 5.5 of 10, cost 5, refund 0.5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBudgetsCountInTenths(t *testing.T) {
	p := every(0)
	retries := func(budget *retry.Budget) int {
		c := calls{fails: -1}
		_, _ = retry.Do(t.Context(), p.With(retry.WithBudget(budget)), c.do)
		return len(c.at) - 1
	}
	for _, n := range []int{3, 7, 10, 30, 100, 1000} {
		if got := retries(retry.NewBudget(1, 1/float64(n), 0)); got != n {
			t.Errorf("a capacity of 1 pays %d retries of 1/%d", got, n)
		}
	}
	budget := retry.NewBudget(1, 1, 0.1)
	retries(budget)
	good := calls{}
	for range 9 {
		_, _ = retry.Do(t.Context(), p.With(retry.WithBudget(budget)), good.do)
	}
	if got := retries(budget); got != 0 {
		t.Errorf("nine refunds of 0.1 pay %d retries", got)
	}
	_, _ = retry.Do(t.Context(), p.With(retry.WithBudget(budget)), good.do)
	if got := retries(budget); got != 1 || budget.Tokens() != 0 {
		t.Errorf("ten refunds of 0.1 pay %d retries, and leave %v", got, budget.Tokens())
	}
}

func TestARefillFlowsWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := retry.NewBudget(4, 1, 0).Refill(0.5)
		p := every(time.Second, retry.WithBudget(budget))
		c := calls{fails: -1}
		_, err := retry.Do(t.Context(), p, c.do)
		// Four tokens, and half a one each second: 4 3.5 3 2.5 2 1.5 1 0.5.
		c.want(t, 0, 1, 2, 3, 4, 5, 6, 7)
		gaveUp(t, err, retry.ErrBudget, 8, 7*time.Second)
	})
}

func TestBudgetClone(t *testing.T) {
	b := retry.NewBudget(10, 1, 0.5).Refill(2)
	b.Add(-4)
	c := b.Clone()
	if c.String() != b.String() || c.Tokens() != 6 {
		t.Errorf("the clone of %v is %v", b, c)
	}
	c.Add(1)
	if b.Tokens() != 6 {
		t.Errorf("a token for the clone changes the budget to %v", b.Tokens())
	}
	_ = retry.Run(t.Context(), every(0, retry.WithBudget(b)), failNow(1))
	if granted, refused := b.Clone().Stats(); granted != 0 || refused != 0 {
		t.Errorf("a clone has granted %d and refused %d", granted, refused)
	}
}

// A feed that works earns its retries, whatever ends its attempts.
func TestBudget_AFeedEarnsWhatItDelivers(t *testing.T) {
	budget := retry.NewBudget(10, 1, 0.1)
	attempts, values := 0, stream.Range(0, 1000).MustNotEnd(errBoom)
	err := values.OnEnd(func(error) { attempts++ }).RetryWhen(every(0, retry.WithBudget(budget))).Take(1000*1000).ForEach(t.Context(), func(int) {})
	if err != nil || attempts != 1000 {
		t.Errorf("%d attempts: %v", attempts, err)
	}
}

func TestBudget_ALoopEarnsByReset(t *testing.T) {
	budget := retry.NewBudget(10, 1, 1)
	for a, err := range every(0, retry.WithBudget(budget)).Attempts(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if a.N() == 100 {
			break
		}
		a.Reset()
		a.Fail(errBoom)
	}
}

// What one subscription refunds, of a budget with 100 of 1,000 tokens, at a cost of 10 for a retry and a refund of 1.
func TestBudget_RefundsOfAStream(t *testing.T) {
	two := func(then stream.Stream[int]) stream.Stream[int] { return stream.Of(1, 2).Concat(then) }
	fail := func(err error) stream.Stream[int] { return stream.Fail[int](err) }
	for name, test := range map[string]struct {
		src      func(cancel func()) stream.Stream[int]
		opts     []retry.Option
		take     int
		function bool
		want     float64
	}{
		"an end without a value": {src: func(func()) stream.Stream[int] { return stream.Empty[int]() }, want: 101},
		"an end after two":       {src: func(func()) stream.Stream[int] { return stream.Of(1, 2) }, want: 102},
		"a failure without a value": {
			src: func(func()) stream.Stream[int] { return fail(errBoom) }, want: 90},
		"a limit": {
			src: func(func()) stream.Stream[int] { return two(fail(errBoom)) }, want: 94},
		"permanent": {
			src: func(func()) stream.Stream[int] { return two(fail(stream.Permanent(errBoom))) }, want: 102},
		"refused": {
			src:  func(func()) stream.Stream[int] { return two(fail(errBoom)) },
			opts: []retry.Option{retry.If(func(error) bool { return false })}, want: 102},
		"not restartable": {
			src: func(func()) stream.Stream[int] { return two(fail(stream.ErrNotRestartable)) }, want: 102},
		"the consumer stops": {
			src: func(func()) stream.Stream[int] { return stream.Range(0, 9) }, take: 3, want: 103},
		"ctx ends in an attempt": {
			src: func(cancel func()) stream.Stream[int] {
				return two(stream.Defer(func(context.Context) stream.Stream[int] { cancel(); return fail(errBoom) }))
			}, want: 102},
		"ctx ends in a wait": {
			src:  func(cancel func()) stream.Stream[int] { return two(fail(errBoom)) },
			opts: []retry.Option{retry.WithBackoff(backoff.Constant(time.Hour))}, want: 92},
		"a function": {
			src: func(func()) stream.Stream[int] { return two(fail(errBoom)) }, function: true, want: 92},
		"the end of a function": {
			src: func(func()) stream.Stream[int] { return stream.Of(1, 2) }, function: true, want: 100},
	} {
		bubble(t, name, func(t *testing.T) {
			budget := retry.NewBudget(1000, 10, 1)
			budget.Add(-900)
			p := every(0, retry.Limit(1), retry.WithBudget(budget)).With(test.opts...)
			h := stream.RetryHandler(p)
			if test.function {
				h = stream.RetryHandlerFunc(p.Handle)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(time.Minute, cancel).Stop()
			s := test.src(cancel).RetryWhen(h)
			if test.take > 0 {
				s = s.Take(test.take)
			}
			_ = s.ForEach(ctx, func(int) {})
			if got := budget.Tokens(); got != test.want {
				t.Errorf("%v tokens, want %v", got, test.want)
			}
		})
	}
}

// The race detector sees each method that does not lock: its two goroutines have nothing else in common.
func TestBudget_MethodsLock(t *testing.T) {
	methods := map[string]func(*retry.Budget){
		"Add":    func(b *retry.Budget) { b.Add(1) },
		"Refill": func(b *retry.Budget) { b.Refill(1) },
		"Clone":  func(b *retry.Budget) { b.Clone() },
		"String": func(b *retry.Budget) { _ = b.String() },
		"Tokens": func(b *retry.Budget) { b.Tokens() },
		"Stats":  func(b *retry.Budget) { b.Stats() },
		"a text": func(b *retry.Budget) { _ = every(0, retry.WithBudget(b)).String() },
		"a retry, and a success": func(b *retry.Budget) {
			_ = retry.Run(context.Background(), every(0, retry.WithBudget(b)), failNow(1))
		},
	}
	for name, f := range methods {
		for other, g := range methods {
			b := retry.NewBudget(10, 1, 1)
			var both sync.WaitGroup
			both.Go(func() { f(b) })
			both.Go(func() { g(b) })
			if both.Wait(); b.Tokens() > 10 {
				t.Errorf("%s and %s: %s", name, other, b)
			}
		}
	}
}

func TestBudgetAdd(t *testing.T) {
	b := retry.NewBudget(10, 1, 0)
	for _, step := range []struct{ add, want float64 }{{5, 10}, {-4, 6}, {1.5, 7.5}, {-100, 0}, {100, 10}, {0, 10}} {
		if b.Add(step.add); b.Tokens() != step.want {
			t.Errorf("Add(%v): the budget holds %v, want %v", step.add, b.Tokens(), step.want)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if check.Recovered(func() { b.Add(bad) }) == nil {
			t.Errorf("Add(%v) did not panic", bad)
		}
	}
}

// A thousand clients each call a server once a second for a minute, and it is down for the 20 s in the middle. Each
// call may be retried five times. Without a budget the load on the server that is down is six times that of the calls;
// with one that all share it stays below what the budget holds and 10 % of the successes.
func TestHerd_ABudgetKeepsTheRetryLoadDown(t *testing.T) {
	const (
		clients, rounds  = 1000, 60
		downFrom, downTo = 20, 40
		limit            = 5
		capacity, refund = 500, 0.1
	)
	run := func(t *testing.T, opts ...retry.Option) (h herdLoad) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var calls, retries, retriesDown, succeeded atomic.Int64
			down := func() bool {
				at := time.Since(start)
				return downFrom*time.Second <= at && at < downTo*time.Second
			}
			p := retry.New(backoff.Exponential(20*time.Millisecond, 2).Jitter(jitter.Full), retry.Limit(limit)).With(opts...)
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Second / 10 / clients)
					for range rounds {
						round := time.Now()
						first := true
						_ = retry.Run(t.Context(), p, func(context.Context) error {
							if calls.Add(1); !first {
								retries.Add(1)
								if down() {
									retriesDown.Add(1)
								}
							}
							first = false
							if down() {
								return errBoom
							}
							succeeded.Add(1)
							return nil
						})
						time.Sleep(time.Until(round.Add(time.Second)))
					}
				})
			}
			wg.Wait()
			h = herdLoad{calls.Load(), retries.Load(), retriesDown.Load(), succeeded.Load()}
		})
		return h
	}
	const callsDown = clients * (downTo - downFrom)
	without := run(t)
	with := run(t, retry.WithBudget(retry.NewBudget(capacity, 1, refund)))
	t.Logf("while the server is down: %d calls; %d retries without a budget (×%.2f), %d with (×%.3f)",
		callsDown, without.retriesDown, 1+float64(without.retriesDown)/callsDown, with.retriesDown, 1+float64(with.retriesDown)/callsDown)
	t.Logf("in all: %+v without, %+v with", without, with)

	if without.retriesDown < callsDown*(limit-1) || without.retriesDown > callsDown*limit {
		t.Errorf("%d retries without a budget, want nearly %d: the limit times the calls", without.retriesDown, callsDown*limit)
	}
	if with.retriesDown > capacity {
		t.Errorf("%d retries while the server is down, want at most the budget's capacity, %d", with.retriesDown, capacity)
	}
	if most := capacity + int64(refund*float64(with.succeeded)); with.retries > most {
		t.Errorf("%d retries in all, want at most the capacity and a tenth of the successes, %d", with.retries, most)
	}
	if with.succeeded < clients*(rounds-(downTo-downFrom)-1) {
		t.Errorf("%d calls succeeded: the budget is in the way of a server that is up", with.succeeded)
	}
}

// herdLoad is what reached the server, or would have.
type herdLoad struct{ calls, retries, retriesDown, succeeded int64 }

// A spent budget ends a call at once. So 32 loops without a wait call a server that is down a hundred times as often as
// with an outer policy that waits, in a minute in which each call takes 10 ms.
func TestABudgetUnderALoop(t *testing.T) {
	calls := func(loop func(ctx context.Context, call func(context.Context) error)) (n int) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p := retry.New(backoff.Exponential(time.Second, 2), retry.Limit(3), retry.WithBudget(retry.NewBudget(10, 1, 0.1)))
			var counted atomic.Int64
			var all sync.WaitGroup
			for range 32 {
				all.Go(func() {
					loop(ctx, func(ctx context.Context) error {
						return retry.Run(ctx, p, func(context.Context) error {
							counted.Add(1)
							time.Sleep(10 * time.Millisecond)
							return errBoom
						})
					})
				})
			}
			all.Wait()
			n = int(counted.Load())
		})
		return n
	}
	bare := calls(func(ctx context.Context, call func(context.Context) error) {
		for ctx.Err() == nil {
			_ = call(ctx)
		}
	})
	waiting := calls(func(ctx context.Context, call func(context.Context) error) {
		_ = retry.Run(ctx, retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second)), call)
	})
	if bare < 190_000 || waiting > 1000 {
		t.Errorf("%d calls in loops without a wait, %d with an outer policy", bare, waiting)
	}
}
