package retry_test

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
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
