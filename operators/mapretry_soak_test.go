package operators_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

var soak = flag.Duration("soak", 0, "have TestMapRetry_Soak run in real time for so long, instead of a few hundred runs in virtual time")

// Runs with everything at random: cancellations, panics, failures, consumers that stop. Each item that the source has
// handed over comes to exactly one end, and no goroutine is left.
func TestMapRetry_Soak(t *testing.T) {
	if *soak > 0 {
		before, present := runtime.NumGoroutine(), goleak.IgnoreCurrent()
		seed, runs, items := rand.Uint64(), 0, 0
		t.Logf("seed %d", seed)
		for start := time.Now(); time.Since(start) < *soak && !t.Failed(); runs++ {
			items += soakRun(t, rand.New(rand.NewPCG(seed, uint64(runs))))
		}
		if err := goleak.Find(present); err != nil {
			t.Error(err)
		}
		t.Logf("%d runs, %d items, all accounted for; goroutines over the start: %d", runs, items, runtime.NumGoroutine()-before)
		return
	}
	runs := uint64(500)
	if testing.Short() {
		runs = 50
	}
	for seed := range runs {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("with seed %d", seed)
				}
			}()
			soakRun(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

// itemError is the failure of an item.
type itemError int

func (e itemError) Error() string { return fmt.Sprintf("item %d", int(e)) }

// fate counts what has become of an item.
type fate struct{ taken, delivered, dead, abandoned, ended int }

// soakRun makes one run and returns how many items it took.
func soakRun(t *testing.T, r *rand.Rand) (items int) {
	rare := func(n int) bool { return r.IntN(n) == 0 }
	n := r.IntN(300)
	fates := make([]fate, n)

	o := operators.MapRetryOptions[int]{Workers: r.IntN(9), MaxPending: r.IntN(40), Ordered: rare(2)}
	o.OnAbandon = func(i, attempts int) {
		fates[i].abandoned++
		if attempts < 0 || attempts > 100 {
			t.Errorf("item %d is abandoned after %d attempts", i, attempts)
		}
	}
	full, deadLeft := errors.New("dead letters are full"), -1
	if !rare(4) {
		if rare(4) {
			deadLeft = r.IntN(20)
		}
		o.DeadLetter = func(_ context.Context, i int, _ *retry.Error) error {
			fates[i].dead++
			if deadLeft--; deadLeft == 0 {
				return full
			}
			return nil
		}
	}

	signal := retry.NewSignal()
	p := retry.New(backoff.Exponential(time.Duration(r.IntN(300))*time.Microsecond, 1+r.Float64()).Jitter(jitter.Full), retry.Limit(r.IntN(8)))
	if rare(3) {
		p = p.With(retry.ResetOn(signal), retry.ResetAfter(ms))
	}
	if rare(3) {
		p = p.With(retry.AttemptTimeout(time.Duration(1+r.IntN(500)) * time.Microsecond))
	}
	if rare(3) {
		p = p.With(retry.WithBudget(retry.NewBudget(10, 1, 0.3)))
	}

	if rare(3) {
		every := uint64(1 + r.IntN(20))
		var n atomic.Uint64
		p = p.With(retry.OnRetry(func(context.Context, retry.Event) {
			if n.Add(1)%every == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}))
	}

	// What f does is drawn beforehand: its calls are concurrent.
	scripts := make([][8]int, n)
	for i := range scripts {
		for k := range scripts[i] {
			scripts[i][k] = r.IntN(1000)
		}
	}
	failing, crashing := r.IntN(800), 0
	if rare(4) {
		crashing = 2
	}
	var mu sync.Mutex
	calls := make([]int, n)
	f := func(ctx context.Context, i int) (int, error) {
		mu.Lock()
		k := calls[i]
		calls[i]++
		mu.Unlock()
		if k > 0 && k%50 == 0 {
			time.Sleep(time.Microsecond) // rows that signals start again and again come to an end
		}
		switch x := scripts[i][k%8]; {
		case x < crashing:
			if x == 0 {
				runtime.Goexit()
			}
			panic(itemError(i))
		case x < 20:
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(time.Duration(x) * 50 * time.Microsecond):
			}
			return 0, itemError(i)
		case x < 30:
			return 0, retry.Permanent(itemError(i))
		case x < failing:
			return 0, itemError(i)
		case x > 990:
			runtime.Gosched()
		}
		return i, nil
	}

	end := error(nil)
	if rare(4) {
		end = errBoom
	}
	slow, wait := rare(4), rare(4)
	src := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
		for i := range n {
			if slow && i%16 == 0 {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(20 * time.Microsecond):
				}
			}
			fates[i].taken++
			if !yield(i) {
				return nil
			}
		}
		if wait {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(5 * ms):
			}
		}
		return end
	})

	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if rare(2) {
		timer := time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, func() { cancel(errCause) })
		defer timer.Stop()
	}
	if rare(3) {
		timer := time.AfterFunc(time.Duration(r.IntN(1000))*time.Microsecond, signal.Fire)
		defer timer.Stop()
	}
	stopAt, dawdle := -1, 0
	if rare(4) {
		stopAt = r.IntN(n + 1)
	}
	if rare(4) {
		dawdle = 1 + r.IntN(20)
	}

	var err error
	last, returned := -1, false
	exited := make(chan struct{})
	go func() { // f may call Goexit, which ends this goroutine too
		defer close(exited)
		defer func() {
			if v := recover(); v != nil {
				if _, ok := errors.AsType[itemError](v.(error)); !ok {
					t.Errorf("panicked with %v", v)
				}
			}
		}()
		got := 0
		err = operators.MapRetry(src, p, f, o)(ctx, func(i int) bool {
			fates[i].delivered++
			if o.Ordered && i <= last {
				t.Errorf("%d came after %d", i, last)
			}
			last = i
			if got++; dawdle > 0 && got%dawdle == 0 {
				time.Sleep(30 * time.Microsecond)
			}
			return got != stopAt
		})
		returned = true
	}()
	<-exited
	if returned && err != nil && ctx.Err() == nil && !errors.Is(err, full) && !(errors.Is(err, errBoom) && end != nil) {
		if _, ok := errors.AsType[itemError](err); !ok && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
	}
	if o.DeadLetter == nil && returned {
		if i, ok := errors.AsType[itemError](err); ok {
			fates[i].ended++
		} else if errors.Is(err, context.DeadlineExceeded) { // of an AttemptTimeout, which does not say whose
			for i := range fates {
				if f := fates[i]; f.taken == 1 && f == (fate{taken: 1}) {
					fates[i].ended++
					break
				}
			}
		}
	}
	for i, f := range fates {
		if items += f.taken; f.taken != f.delivered+f.dead+f.abandoned+f.ended {
			t.Errorf("item %d of %d: %+v; the run returned %v with %v, its context %v", i, n, f, returned, err, ctx.Err())
		}
	}
	return items
}
