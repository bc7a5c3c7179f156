package operators_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
)

var soak = flag.Duration("soak", 0, "have TestMapRetry_Soak run in real time for so long, instead of a few hundred runs in virtual time")

// Runs with everything at random: cancellations, panics, failures, consumers that stop. Each item that the source has
// handed over comes to exactly one end, and no goroutine is left.
func TestMapRetry_Soak(t *testing.T) {
	if *soak > 0 {
		present := goleak.IgnoreCurrent()
		seed, runs := rand.Uint64(), uint64(0)
		t.Logf("seed %d", seed)
		for start := time.Now(); time.Since(start) < *soak && !t.Failed(); runs++ {
			newSoakRun(t, seed, runs).run()
		}
		if err := goleak.Find(present); err != nil {
			t.Error(err)
		}
		t.Logf("%d runs", runs)
		return
	}
	runs := uint64(500)
	if testing.Short() {
		runs = 50
	}
	for seed := range runs {
		synctest.Test(t, func(t *testing.T) { newSoakRun(t, seed, 0).run() })
	}
}

// itemError is the failure of an item.
type itemError int

func (e itemError) Error() string { return fmt.Sprintf("item %d", int(e)) }

// soakItem counts what has become of an item.
type soakItem struct {
	taken, delivered, dead, abandoned int
	calls                             atomic.Int64
	random                            uint64 // what its calls do
}

// soakRun is one run. Its numbers are drawn beforehand, for calls are concurrent.
type soakRun struct {
	*testing.T
	seed, number uint64
	items        []soakItem
	failing      uint64 // of 1000 calls
	crashing     uint64
	sourceErr    error
	gaps, lasts  bool // of the source: time between its items, and after them
	deadLeft     int  // dead letters until DeadLetter fails; negative: it does not
	stopAt       int  // the consumer stops at this value; negative: it does not
	slow         int  // after this number of values the consumer is slow; 0: never
	options      options
	policy       retry.Policy
	signal       *retry.Signal
	fireAfter    time.Duration
	cancelAfter  time.Duration
}

var errFull = errors.New("dead letters are full")

func newSoakRun(t *testing.T, seed, number uint64) *soakRun {
	r := rand.New(rand.NewPCG(seed, number))
	rare := func(n int) bool { return r.IntN(n) == 0 }
	// seldom returns a number below n once in three times, else without.
	seldom := func(n, without int) int {
		if rare(3) {
			return r.IntN(n)
		}
		return without
	}
	microseconds := func(n int) time.Duration {
		if us := seldom(n, -1); us >= 0 {
			return time.Duration(us) * time.Microsecond
		}
		return 1000 * time.Hour // never
	}
	s := &soakRun{
		T: t, seed: seed, number: number,
		items:       make([]soakItem, r.IntN(300)),
		failing:     r.Uint64N(800),
		crashing:    uint64(seldom(4, 0)),
		gaps:        rare(4),
		lasts:       rare(4),
		deadLeft:    seldom(20, -1),
		stopAt:      seldom(300, -1),
		slow:        seldom(20, 0),
		signal:      retry.NewSignal(),
		fireAfter:   microseconds(1000),
		cancelAfter: microseconds(3000),
		options:     options{Workers: r.IntN(9), MaxPending: r.IntN(40), Ordered: rare(2)},
	}
	for i := range s.items {
		s.items[i].random = r.Uint64()
	}
	if rare(4) {
		s.sourceErr = errBoom
	}
	s.options.OnAbandon = s.abandon
	if !rare(4) {
		s.options.DeadLetter = s.deadLetter
	}
	s.policy = retry.New(backoff.Exponential(time.Duration(r.IntN(300))*time.Microsecond, 1+r.Float64()).Jitter(jitter.Full),
		retry.Limit(r.IntN(8)))
	if rare(3) {
		s.policy = s.policy.With(retry.ResetOn(s.signal), retry.ResetAfter(ms))
	}
	if rare(3) {
		s.policy = s.policy.With(retry.WithBudget(retry.NewBudget(10, 1, 0.3)))
	}
	if rare(3) {
		s.policy = s.policy.With(retry.AttemptTimeout(time.Duration(1+r.IntN(500)) * time.Microsecond))
	}
	if rare(3) {
		s.policy = s.policy.With(retry.OnRetry(func(context.Context, retry.Event) { time.Sleep(10 * time.Microsecond) }))
	}
	return s
}

func (s *soakRun) abandon(i, attempts int) {
	s.items[i].abandoned++
	if calls := int(s.items[i].calls.Load()); attempts != calls {
		s.Errorf("item %d is abandoned after %d attempts, want %d", i, attempts, calls)
	}
}

func (s *soakRun) deadLetter(_ context.Context, i int, _ *retry.Error) error {
	s.items[i].dead++
	if s.deadLeft--; s.deadLeft == 0 {
		return errFull
	}
	return nil
}

func (s *soakRun) source(ctx context.Context, yield func(int) bool) error {
	for i := range s.items {
		if s.gaps && i%16 == 0 {
			if err := pause(ctx, 20*time.Microsecond); err != nil {
				return err
			}
		}
		s.items[i].taken++
		if !yield(i) {
			return nil
		}
	}
	if s.lasts {
		if err := pause(ctx, 5*ms); err != nil {
			return err
		}
	}
	return s.sourceErr
}

// pause waits, or returns the cause if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func (s *soakRun) call(ctx context.Context, i int) (int, error) {
	n := uint64(s.items[i].calls.Add(1))
	if n%50 == 0 {
		time.Sleep(time.Microsecond) // retries that signals start again and again come to an end
	}
	switch x := (s.items[i].random ^ n*0x9e3779b97f4a7c15) % 1000; {
	case x == 0 && s.crashing > 0:
		runtime.Goexit()
	case x < s.crashing:
		panic(itemError(i))
	case x < 20:
		if err := pause(ctx, time.Duration(x)*50*time.Microsecond); err != nil {
			return 0, err
		}
		return 0, itemError(i)
	case x < 30:
		return 0, retry.Permanent(itemError(i))
	case x < s.failing:
		return 0, itemError(i)
	case x > 990:
		runtime.Gosched()
	}
	return i, nil
}

func (s *soakRun) run() {
	ctx, cancel := context.WithCancelCause(s.Context())
	defer cancel(nil)
	defer time.AfterFunc(s.cancelAfter, func() { cancel(errCause) }).Stop()
	defer time.AfterFunc(s.fireAfter, s.signal.Fire).Stop()
	got, last := 0, -1
	yield := func(i int) bool {
		s.items[i].delivered++
		if s.options.Ordered && i <= last {
			s.Errorf("%d came after %d", i, last)
		}
		last = i
		if got++; s.slow > 0 && got%s.slow == 0 {
			time.Sleep(30 * time.Microsecond)
		}
		return got != s.stopAt
	}
	var err error
	returned := false
	exited := make(chan struct{})
	go func() { // f may call Goexit, which ends this goroutine too
		defer close(exited)
		defer func() {
			if v := recover(); v != nil {
				s.checkPanic(v)
			}
		}()
		err = operators.MapRetry(s.source, s.policy, s.call, s.options)(ctx, yield)
		returned = true
	}()
	<-exited
	s.check(ctx, err, returned)
	if s.Failed() {
		s.Logf("with seed %d, run %d, which returned %v with %v, its context %v", s.seed, s.number, returned, err, ctx.Err())
	}
}

func (s *soakRun) checkPanic(v any) {
	err, _ := v.(error)
	if _, ok := errors.AsType[itemError](err); !ok {
		s.Errorf("panicked with %v", v)
	}
}

// check looks at what has become of each item: all that were taken have come to one end, but for the one whose error
// has ended the stream.
func (s *soakRun) check(ctx context.Context, err error, returned bool) {
	byItem := returned && s.options.DeadLetter == nil && endsByItem(err)
	if returned && err != nil && ctx.Err() == nil && !byItem && !errors.Is(err, errFull) && !errors.Is(err, s.sourceErr) {
		s.Errorf("it ended with %v", err)
	}
	endless := 0
	for i := range s.items {
		item := &s.items[i]
		switch ends := item.delivered + item.dead + item.abandoned; {
		case ends == item.taken:
		case ends == 0 && byItem:
			endless++
		default:
			s.Errorf("item %d of %d was taken %d, delivered %d, dead %d, abandoned %d times",
				i, len(s.items), item.taken, item.delivered, item.dead, item.abandoned)
		}
	}
	if byItem && endless != 1 {
		s.Errorf("%d items have come to no end, want the one with the error", endless)
	}
}

// endsByItem reports whether err is that of an item: its own, or of an AttemptTimeout.
func endsByItem(err error) bool {
	_, ok := errors.AsType[itemError](err)
	return ok || errors.Is(err, context.DeadlineExceeded)
}
