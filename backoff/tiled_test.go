package backoff_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
)

// rising are backoffs that Tiled takes.
func rising() []backoff.Backoff {
	return []backoff.Backoff{
		backoff.Linear(time.Second),
		backoff.Constant(time.Second),
		backoff.Quadratic(10 * ms),
		backoff.Polynomial(time.Second, 0.5),
		backoff.Polynomial(time.Second, 1.2).Plus(3 * time.Second),
		backoff.Exponential(100*ms, 2).Cap(5 * time.Second),
		backoff.Exponential(100*ms, 1.5).Plus(time.Second),
		backoff.Fibonacci(time.Second).Cap(time.Minute),
		backoff.Table(time.Second, time.Second, 3*time.Second, 10*time.Second),
		backoff.Linear(7), // nanoseconds
	}
}

// A fleet fails at time 0, and each retry fails at once. The times of its n-th
// retries must fill [w(1)+…+w(n-1), w(1)+…+w(n)) evenly.
func TestTiledFleetTilesTheTimeLine(t *testing.T) {
	const fleet, waves = 1000, 12
	for _, b := range rising() {
		tiled := b.Tiled()
		at := make([]time.Duration, fleet) // when each operation retries, summed up
		var begin time.Duration            // of the wave
		for n := 1; n <= waves; n++ {
			w := b.Ceiling(n)
			for i := range at {
				u := float64(i) / fleet
				at[i] += tiled.At(n, u)
				// Each of the n delays is rounded to a nanosecond.
				want := begin + time.Duration(u*float64(w))
				if off := at[i] - want; off < -time.Duration(n) || off > time.Duration(n) {
					t.Fatalf("%v: retry %d of the operation at %v comes at %v, want %v", tiled, n, u, at[i], want)
				}
			}
			if at[0] != begin {
				t.Errorf("%v: wave %d begins at %v, want %v, where the one before it ends", tiled, n, at[0], begin)
			}
			if w > waves*fleet && !slices.IsSorted(at) {
				t.Errorf("%v: wave %d is out of order", tiled, n)
			}
			begin += w
		}
	}
}

func TestTiledDelaysNeverShrinkAndTheirRangesAbut(t *testing.T) {
	for _, b := range rising() {
		b = b.Tiled()
		for n := 1; n < 200; n++ {
			for _, u := range []float64{0, 1e-9, 0.3, 0.999, below1} {
				if d, next := b.At(n, u), b.At(n+1, u); next < d {
					t.Errorf("%v at %v: delay %d is %v after %v", b, u, n+1, next, d)
				}
			}
			if top, next := b.At(n, below1), b.At(n+1, 0); next != b.Ceiling(n) || top > next || top < next-1-next>>50 {
				t.Errorf("%v: delay %d goes up to %v, and the next begins at %v; want both %v", b, n, top, next, b.Ceiling(n))
			}
		}
	}
}

func TestTiledRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := backoff.Exponential(
			time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "base")),
			rapid.Float64Range(1, 1.00000001).Draw(t, "factor"), // nearly flat: the last digit decides
		).Tiled()
		n := rapid.IntRange(1, math.MaxInt-1).Draw(t, "n")
		u := rapid.Float64Range(0, below1).Draw(t, "u")
		if lo, hi := b.At(n, 0), b.At(n, u); lo < 0 || hi < lo {
			t.Fatalf("(%v).At(%d, %v) = %v, and %v at 0", b, n, u, hi, lo)
		}
	})
}

func TestTiledRefuses(t *testing.T) {
	s := time.Second
	const noJitter = "a tiled backoff takes no jitter: it spreads by itself"
	f := func(int, float64) time.Duration { return 0 }
	custom := jitter.Func(func(u float64) float64 { return u })
	tests := []struct {
		want string
		f    func()
	}{
		{"backoff: Tiled: " + noJitter, func() { backoff.Linear(s).Jitter(jitter.Full).Tiled() }},
		{"backoff: Tiled: " + noJitter, func() { backoff.Default.Tiled() }},
		{"backoff: Jitter: j is full: " + noJitter, func() { backoff.Linear(s).Tiled().Jitter(jitter.Full) }},
		{"backoff: Jitter: j is default: " + noJitter, func() { backoff.Linear(s).Tiled().Cap(s).Jitter(jitter.Default) }},
		{"backoff: Jitter: j is custom(jitter.Func): " + noJitter, func() { backoff.Linear(s).Tiled().Jitter(custom) }},
		{"backoff: Tiled: table falls from 2s to 1s at entry 3: tiles need a curve that never does", func() { backoff.Table(s, 2*s, s).Tiled() }},
		{"backoff: Tiled: exponential with factor 0.5 falls: tiles need a curve that never does", func() { backoff.Exponential(s, 0.5).Cap(s).Tiled() }},
		{"backoff: Tiled: sidekiq is random by itself: tiles need a curve that is not", func() { backoff.Sidekiq().Tiled() }},
		{"backoff: Tiled: buckets is random by itself: tiles need a curve that is not", func() { backoff.Buckets(s, 0).Tiled() }},
		{"backoff: Tiled: decorrelated is random by itself: tiles need a curve that is not", func() { backoff.Decorrelated(s).Tiled() }},
		{"backoff: Tiled: a func may fall or be random: tiles need a curve that does neither", func() { backoff.Func(f).Tiled() }},
	}
	for _, tt := range tests {
		check.Panics(t, tt.want, tt.f)
	}
	for _, b := range rising() {
		if b.IsTiled() {
			t.Errorf("%v says it is tiled", b)
		}
		if b := b.Tiled().Jitter(jitter.None).Cap(s).Plus(s).Keyed(1); !b.IsTiled() {
			t.Errorf("%v says it is not tiled", b)
		}
	}
	if (backoff.Backoff{}).Tiled().At(3, 0.5) != 0 {
		t.Error("the zero Backoff, tiled, waits")
	}
}

func TestDelayOnATiledBackoffDrawsAnew(t *testing.T) {
	b, seen := backoff.Linear(time.Hour).Tiled(), map[time.Duration]bool{}
	for range 100 {
		d := b.Delay(3)
		if d < 2*time.Hour || d >= 3*time.Hour {
			t.Errorf("Delay(3) = %v, want between 2h and 3h", d)
		}
		seen[d] = true
	}
	if len(seen) < 99 {
		t.Errorf("100 calls gave %d delays", len(seen))
	}
}
