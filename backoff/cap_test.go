package backoff_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
)

func TestJitterAndCap(t *testing.T) {
	exp := backoff.Exponential(time.Second, 2)
	tests := []struct {
		name string
		b    backoff.Backoff
		n    int
		u    float64
		want time.Duration
	}{
		{"default low", exp.Jitter(jitter.Default), 1, 0, 850 * ms},
		{"default middle", exp.Jitter(jitter.Default), 3, 0.5, 4 * time.Second},
		{"default quarter", exp.Jitter(jitter.Default), 1, 0.25, 925 * ms},
		{"default high", exp.Jitter(jitter.Default), 2, below1, 2300 * ms},
		{"full low", exp.Jitter(jitter.Full), 4, 0, 0},
		{"full middle", exp.Jitter(jitter.Full), 4, 0.5, 4 * time.Second},
		{"full is less than the whole", exp.Jitter(jitter.Full), 4, below1, 8*time.Second - 1},
		{"equal low", exp.Jitter(jitter.Equal), 1, 0, 500 * ms},
		{"equal is less than the whole", exp.Jitter(jitter.Equal), 1, below1, time.Second - 1},
		{"full at the cap", exp.Jitter(jitter.Full).Cap(30 * time.Second), 10, 0.5, 15 * time.Second},
		{"deviation below the cap is not rescaled", exp.Jitter(jitter.Deviation(0.5)).Cap(6 * time.Second), 3, 0.75, 5 * time.Second},
		{"deviation just below the cap", exp.Jitter(jitter.Deviation(0.5)).Cap(6 * time.Second), 3, below1, 6 * time.Second},
		{"deviation at the cap, low", exp.Jitter(jitter.Deviation(0.5)).Cap(6 * time.Second), 4, 0, 2 * time.Second},
		{"deviation at the cap, middle", exp.Jitter(jitter.Deviation(0.5)).Cap(6 * time.Second), 4, 0.5, 4 * time.Second},
		{"a cap between curve and curve·Factor(1)", exp.Jitter(jitter.Deviation(0.5)).Cap(6 * time.Second), 4, 0.25, 3 * time.Second},
		{"a factor below 1 leaves the cap alone", exp.Jitter(jitter.Uniform(0.2, 0.4)).Cap(6 * time.Second), 4, 0.5, 1800 * ms},
		{"a huge factor still spreads at the cap", exp.Jitter(jitter.Uniform(0, 1e300)).Cap(6 * time.Second), 1, 0.5, 3 * time.Second},
		{"plus before jitter", exp.Plus(time.Second).Jitter(jitter.Full), 1, 0.5, time.Second},
		{"plus before cap", exp.Plus(time.Minute).Jitter(jitter.Full).Cap(time.Second), 1, 0.5, 500 * ms},
		{"cap 0", exp.Jitter(jitter.Default).Cap(0), 3, 0.9, 0},
		{"saturated without a cap", backoff.Constant(longest).Jitter(jitter.Default), 1, 0.5, longest},
		{"past the range without a cap", backoff.Constant(longest).Jitter(jitter.Default), 1, 0.9, longest},
		{"an exact half of the largest", backoff.Constant(longest).Jitter(jitter.Full), 1, 0.5, 1 << 62},
		{"None", exp.Jitter(jitter.Full).Jitter(jitter.None), 3, 0.1, 4 * time.Second},
		{"the last jitter counts", exp.Jitter(jitter.Full).Jitter(jitter.Equal), 1, 0, 500 * ms},
		{"the last cap counts", exp.Cap(time.Second).Cap(3 * time.Second), 5, 0, 3 * time.Second},
		{"the last plus counts", exp.Plus(time.Second).Plus(2 * time.Second), 1, 0, 3 * time.Second},
		{"a cap taken off", exp.Cap(time.Second).Cap(longest), 5, 0, 16 * time.Second},
	}
	for _, tt := range tests {
		if got := tt.b.At(tt.n, tt.u); got != tt.want {
			t.Errorf("%s: (%v).At(%d, %v) = %v, want %v", tt.name, tt.b, tt.n, tt.u, got, tt.want)
		}
		if got := tt.b.After(tt.n, time.Hour, tt.u); got != tt.want {
			t.Errorf("%s: (%v).After(%d, 1h, %v) = %v, want %v", tt.name, tt.b, tt.n, tt.u, got, tt.want)
		}
	}
}

// anyJitter draws any well-behaved jitter.
func anyJitter() *rapid.Generator[jitter.Jitter] {
	return rapid.OneOf(
		rapid.SampledFrom(everyJitter),
		rapid.Map(rapid.Float64Range(0, 1), jitter.Deviation),
		rapid.Custom(func(t *rapid.T) jitter.Jitter {
			lo := rapid.Float64Range(0, 3).Draw(t, "lo")
			return jitter.Uniform(lo, rapid.Float64Range(lo, 4).Draw(t, "hi"))
		}),
	)
}

func TestDelayFollowsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "curve"))
		plus := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "plus"))
		most := time.Duration(rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "cap"))
		j := anyJitter().Draw(t, "jitter")
		u := rapid.Float64Range(0, below1).Draw(t, "u")

		// min(curve+plus, cap/max(1, Factor(1))) · Factor(u)
		want := new(big.Float).Add(bigInt(c), bigInt(plus))
		if want.Cmp(bigInt(longest)) > 0 {
			want = bigInt(longest)
		}
		edge := new(big.Float).Quo(bigInt(most), bigOf(max(1, j.Factor(1))))
		capped := edge
		if want.Cmp(edge) < 0 {
			capped = want
		}
		b := backoff.Constant(c).Plus(plus)
		// A factor below 1 that would round up to the whole leaves 1 ns.
		near(t, b.Cap(most).Jitter(j).At(1, u), new(big.Float).Mul(capped, bigOf(j.Factor(u))), 4, 1)
		near(t, b.Jitter(j).At(1, u), want.Mul(want, bigOf(j.Factor(u))), 4, 1)
	})
}

func bigInt(d time.Duration) *big.Float { return new(big.Float).SetPrec(400).SetInt64(int64(d)) }

func TestOrderOfMethodsDoesNotMatter(t *testing.T) {
	steps := []func(backoff.Backoff) backoff.Backoff{
		func(b backoff.Backoff) backoff.Backoff { return b.Cap(7 * time.Second) },
		func(b backoff.Backoff) backoff.Backoff { return b.Plus(300 * ms) },
		func(b backoff.Backoff) backoff.Backoff { return b.Jitter(jitter.Deviation(0.4)) },
		func(b backoff.Backoff) backoff.Backoff { return b.Keyed(12) },
	}
	for _, b := range everyCurve() {
		want := b
		for _, step := range steps {
			want = step(want)
		}
		for range 24 {
			got := b
			for _, i := range rand.Perm(len(steps)) {
				got = steps[i](got)
			}
			if got != want {
				t.Errorf("made in another order %v is %v", want, got)
			}
		}
	}
}

func TestNoDelayPassesTheCap(t *testing.T) {
	for _, b := range everyCurve() {
		for _, j := range everyJitter {
			for _, most := range []time.Duration{0, 1, 2, 7, 1001 * ms, time.Hour, 1 << 53, 1<<53 + 1, longest - 1, longest} {
				b := b.Plus(50 * ms).Jitter(j).Cap(most)
				for _, n := range []int{1, 2, 3, 5, 20, 64, 65, 400, math.MaxInt} {
					for _, u := range []float64{0, 1e-300, 0.1, 0.5, 0.9, below1} {
						if at := b.At(n, u); at < 0 || at > most {
							t.Errorf("(%v).At(%d, %v) = %v, want within 0 and %v", b, n, u, at, most)
						}
						if after := b.After(n, most, u); after < 0 || after > most {
							t.Errorf("(%v).After(%d, %v, %v) = %v, want within 0 and %v", b, n, most, u, after, most)
						}
					}
					if d := b.Delay(n); d < 0 || d > most {
						t.Errorf("(%v).Delay(%d) = %v, want within 0 and %v", b, n, d, most)
					}
					if c := b.Ceiling(n); c < 0 || c > most {
						t.Errorf("(%v).Ceiling(%d) = %v, want within 0 and %v", b, n, c, most)
					}
				}
			}
		}
	}
}

// The product of the largest curve below a cap of almost two years and the factor is rounded up, past the cap.
func TestNoDelayPassesTheCap_Rounded(t *testing.T) {
	const most time.Duration = 60216437766594796
	b := backoff.Constant(30413177144792044).Cap(most).Jitter(jitter.Func(func(float64) float64 { return 1.9799456492136425 }))
	if d := b.At(1, 0.5); d != most {
		t.Errorf("got %d, want %d", d, most)
	}
}

func TestCeilingIsBeforeJitter(t *testing.T) {
	s := time.Second
	tests := []struct {
		b    backoff.Backoff
		n    int
		want time.Duration
	}{
		{backoff.Exponential(s, 2).Jitter(jitter.Full), 4, 8 * s},
		{backoff.Exponential(s, 2).Jitter(jitter.Deviation(1)).Cap(10 * s), 4, 8 * s},
		{backoff.Exponential(s, 2).Jitter(jitter.Deviation(1)).Cap(10 * s), 5, 10 * s},
		{backoff.Exponential(s, 2).Plus(s).Cap(10 * s), 4, 9 * s},
		{backoff.Sidekiq(), 1, 45 * s},
		{backoff.Sidekiq(), 3, (16 + 15 + 90) * s},
		{backoff.Sidekiq().Plus(s).Cap(100 * s), 3, 100 * s},
		{backoff.Buckets(s, 2), 1, 4 * s},
		{backoff.Buckets(s, 2).Plus(s), 3, 17 * s},
		{backoff.Decorrelated(s), 1, 3 * s},
		{backoff.Decorrelated(s), 3, 27 * s},
		{backoff.Decorrelated(s).Plus(s), 2, 13 * s},
		{backoff.Decorrelated(s).Cap(20 * s), 3, 20 * s},
		{backoff.Decorrelated(s).Cap(20 * ms), 3, 20 * ms},
		{backoff.Linear(s).Tiled(), 3, 3 * s},
		{backoff.Linear(s).Keyed(1), 3, 3 * s},
	}
	for _, tt := range tests {
		if got := tt.b.Ceiling(tt.n); got != tt.want {
			t.Errorf("(%v).Ceiling(%d) = %v, want %v", tt.b, tt.n, got, tt.want)
		}
	}
}

// hidden is a jitter with no method but Factor.
type hidden struct{ jitter.Jitter }

func TestFactorsThatAreWorkedOutAreThoseOfTheJitter(t *testing.T) {
	jitters := append(everyJitter[:len(everyJitter):len(everyJitter)],
		jitter.Uniform(0, math.MaxFloat64), jitter.Uniform(1, math.Nextafter(1, 2)), jitter.Uniform(0.1, 0.1), jitter.Deviation(0.1), jitter.Deviation(1e-17))
	draws := []float64{-1, 0, math.SmallestNonzeroFloat64, 0.25, 0.5, below1, 1, math.NaN()}
	for range 1000 {
		draws = append(draws, rand.Float64())
	}
	for _, j := range jitters {
		for _, b := range everyCurve() {
			for _, b := range []backoff.Backoff{b, b.Cap(3 * time.Second), b.Plus(longest)} {
				plain, asked := b.Jitter(j), b.Jitter(hidden{j})
				for _, u := range draws {
					if got, want := plain.At(3, u), asked.At(3, u); got != want {
						t.Fatalf("(%v).At(3, %v) = %d, want %d", plain, u, got, want)
					}
				}
			}
		}
	}
}

func TestBadlyBehavedFactorIsKeptInBounds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, bad := range []float64{nan, inf, -inf, -1, 2, 1e308, math.Copysign(0, -1)} {
		j := jitter.Func(func(u float64) float64 {
			if u == 0 || u == 1 {
				return u
			}
			return bad
		})
		want := time.Duration(0)
		if bad > 0 {
			want = time.Second
		}
		b := backoff.Constant(time.Second).Jitter(j)
		if got := b.At(1, 0.5); got != want {
			t.Errorf("a factor of %v makes %v, want %v", bad, got, want)
		}
		if got := b.Cap(10*ms).At(1, 0.5); got != min(want, 10*ms) {
			t.Errorf("a factor of %v makes %v under a cap of 10ms", bad, got)
		}
	}
}

func TestJitterRefuses(t *testing.T) {
	at := func(lo, hi float64) jitter.Jitter {
		return jitter.Func(func(u float64) float64 {
			if u == 1 {
				return hi
			}
			return lo
		})
	}
	tests := []struct {
		j    jitter.Jitter
		want string
	}{
		{nil, "backoff: Jitter: j is nil"},
		{jitter.Func(nil), "backoff: Jitter: j is nil"},
		{at(0, math.Inf(1)), "backoff: Jitter: j.Factor(1) is +Inf, want a finite number >= 0"},
		{at(0, math.NaN()), "backoff: Jitter: j.Factor(1) is NaN, want a finite number >= 0"},
		{at(0, -1), "backoff: Jitter: j.Factor(1) is -1, want a finite number >= 0"},
		{at(math.NaN(), 1), "backoff: Jitter: j.Factor(0) is NaN, want a finite number >= 0"},
		{at(-0.5, 1), "backoff: Jitter: j.Factor(0) is -0.5, want a finite number >= 0"},
		{at(math.Inf(1), 1), "backoff: Jitter: j.Factor(0) is +Inf, want a finite number >= 0"},
	}
	for _, tt := range tests {
		for _, b := range everyCurve() {
			check.Panics(t, tt.want, func() { b.Jitter(tt.j) })
		}
	}
}

func TestDelayDrawsAnewAndEvenly(t *testing.T) {
	// Even odds of each tenth, over 100,000 draws: a tenth that is off by 8 %
	// is off by more than 8 standard deviations.
	b := backoff.Constant(10 * time.Second).Jitter(jitter.Full)
	var tenths [10]int
	for range 100_000 {
		tenths[b.Delay(1)/time.Second]++
	}
	for i, n := range tenths {
		if n < 9200 || n > 10800 {
			t.Errorf("%d of 100,000 delays lie between %d s and %d s, want about 10,000", n, i, i+1)
		}
	}
}

// The race detector finds a Backoff that keeps a state.
func TestGoroutinesShareABackoff(t *testing.T) {
	b := backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Full)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 100 {
				if d := b.Delay(n); d > time.Minute {
					t.Errorf("Delay(%d) is %v", n, d)
				}
			}
		})
	}
	all.Wait()
}

// Where the ends of the range are past a float64, the range scaled to the cap is still (k/(k+2))^e wide.
func TestBucketsPastEveryNumberSpreadAtTheCap(t *testing.T) {
	b := backoff.Buckets(time.Second, 1000).Cap(time.Hour)
	for u, want := range map[float64]float64{0: math.Pow(1000.0/1002, 1000), 0.5: (1 + math.Pow(1000.0/1002, 1000)) / 2} {
		if got := b.At(1001, u).Hours(); math.Abs(got-want) > 1e-9 {
			t.Errorf("At(1001, %v) is %v h, want %v h", u, got, want)
		}
	}
}

func TestAJitterThatIsTakenAwayLeavesNothing(t *testing.T) {
	for _, b := range []backoff.Backoff{backoff.Linear(time.Second), backoff.Sidekiq().Cap(time.Minute)} {
		if got := b.Jitter(jitter.Default).Jitter(jitter.None); got != b {
			t.Errorf("%v with a jitter and then none is not equal to it", b)
		}
	}
}

func TestDelayDrawsForCurvesThatAreRandomByThemselves(t *testing.T) {
	for _, b := range []backoff.Backoff{backoff.Sidekiq(), backoff.Buckets(time.Hour, 2), backoff.Decorrelated(time.Hour), backoff.Linear(time.Hour).Tiled()} {
		if a, c := b.Delay(1), b.Delay(1); a == c {
			t.Errorf("%v: two delays are both %v", b, a)
		}
	}
}

func TestDelayAllocatesNothing(t *testing.T) {
	for _, b := range everyCurve() {
		for _, b := range []backoff.Backoff{b, b.Cap(time.Minute).Jitter(jitter.Default), b.Keyed(3)} {
			n := 0
			if got := testing.AllocsPerRun(200, func() { n++; b.Delay(n); b.Ceiling(n) }); got != 0 {
				t.Errorf("%v: Delay and Ceiling allocate %v times, want 0", b, got)
			}
		}
	}
}
