package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
)

// made makes a Backoff of any bytes; decorrelated reports whether it is one.
func made(curve uint8, d, e int64, x float64, plus, most int64, shape uint8, lo, hi float64, key uint64) (b backoff.Backoff, decorrelated bool) {
	duration := func(d int64) time.Duration { return time.Duration(d & math.MaxInt64) }
	number := func(x float64) float64 {
		if x = math.Abs(x); x <= math.MaxFloat64 {
			return x
		}
		return 2
	}
	x, lo, hi = number(x), number(lo), number(hi)
	switch curve % 11 {
	case 0:
		b = backoff.Constant(duration(d))
	case 1:
		b = backoff.Linear(duration(d))
	case 2:
		b = backoff.Quadratic(duration(d))
	case 3:
		b = backoff.Polynomial(duration(d), x)
	case 4:
		b = backoff.Exponential(duration(d), x)
	case 5:
		b = backoff.Fibonacci(duration(d))
	case 6:
		b = backoff.Table(duration(d), duration(e), duration(d^e))
	case 7:
		b = backoff.Sidekiq()
	case 8:
		b = backoff.Buckets(duration(d), x)
	case 9:
		b, decorrelated = backoff.Decorrelated(duration(d)), true
	case 10:
		b = backoff.Func(func(n int, u float64) time.Duration { // rises with u, may be negative
			return time.Duration(d>>1) + time.Duration(u*float64(e&math.MaxInt64>>1)) - time.Duration(n>>2)
		})
	}
	if shape&1 != 0 {
		b = b.Plus(duration(plus))
	}
	if shape&2 != 0 {
		b = b.Cap(duration(most))
	}
	if shape&4 != 0 {
		b = b.Keyed(key)
	}
	if shape&8 != 0 {
		b = b.Ordinal(key)
	}
	switch shape >> 4 & 7 {
	case 1:
		b = b.Jitter(jitter.Uniform(min(lo, hi), max(lo, hi)))
	case 2:
		b = b.Jitter(jitter.Deviation(min(lo, 1)))
	case 3:
		b = b.Jitter(everyJitter[int(key%uint64(len(everyJitter)))])
	case 4:
		b = b.Jitter(jitter.Func(func(u float64) float64 { return lo + u*(min(hi, math.MaxFloat64-lo)) }))
	case 5:
		if check.Recovered(func() { b.Tiled() }) == nil {
			b = b.Tiled()
		}
	}
	return b, decorrelated
}

func FuzzAt(f *testing.F) {
	for curve := range uint8(11) {
		for shape := range uint8(6) {
			f.Add(curve, int64(time.Second), int64(time.Minute), 1.7, int64(ms), int64(time.Hour), shape<<4|3, 0.5, 1.5, uint64(7), 3, 0.2, 0.8, int64(time.Second))
			f.Add(curve, int64(math.MaxInt64), int64(math.MaxInt64), 1e300, int64(math.MaxInt64), int64(math.MaxInt64-1), shape<<4|2, 0.5, 1e308, uint64(7), math.MaxInt, 0.2, 0.8, int64(1))
			f.Add(curve, int64(1), int64(3), 0.3, int64(0), int64(7), shape<<4, 0.0, 1.0, uint64(7), math.MinInt, -1.0, 2.0, int64(-1))
		}
	}
	f.Fuzz(func(t *testing.T, curve uint8, d, e int64, x float64, plus, most int64, shape uint8, lo, hi float64, key uint64, n int, u, v float64, prev int64) {
		b, decorrelated := made(curve, d, e, x, plus, most, shape, lo, hi, key)
		limit := longest
		if shape&2 != 0 {
			limit = time.Duration(most & math.MaxInt64)
		}
		if u > v {
			u, v = v, u
		}
		at, later := b.At(n, u), b.At(n, v)
		for name, got := range map[string]time.Duration{
			"At": at, "At the larger u": later, "After": b.After(n, time.Duration(prev), u), "Delay": b.Delay(n), "Ceiling": b.Ceiling(n),
		} {
			if got < 0 || got > limit {
				t.Errorf("%v: %s of %d for %v and %v is %d, want within 0 and %d", b, name, n, u, v, got, limit)
			}
			if n <= 0 && got != 0 {
				t.Errorf("%v: %s of %d is %d, want 0", b, name, n, got)
			}
		}
		if again := b.At(n, u); again != at {
			t.Errorf("(%v).At(%d, %v) = %d, and again %d", b, n, u, at, again)
		}
		if !decorrelated && u <= v && later < at {
			t.Errorf("(%v).At(%d, ·) falls from %d at %v to %d at %v", b, n, at, u, later, v)
		}
		if a, c := b.After(n, time.Duration(prev), u), b.After(n, time.Duration(prev), v); u <= v && c < a {
			t.Errorf("(%v).After(%d, %d, ·) falls from %d at %v to %d at %v", b, n, prev, a, u, c, v)
		}
		if got := b.Dictated(time.Duration(prev), -1, u); got < max(0, time.Duration(prev)) {
			t.Errorf("(%v).Dictated(%d, %v) = %d", b, prev, u, got)
		}
		if _, err := b.MarshalText(); err == nil {
			if back, err := backoff.Parse(b.String()); err != nil || back != b {
				t.Errorf("Parse(%q) = %v, %v", b, back, err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, b := range everyCurve() {
		f.Add(b.String())
		f.Add(b.Cap(time.Minute).Jitter(jitter.Equal).Plus(1).Keyed(9).String())
		f.Add(b.Ordinal(3).String())
	}
	for _, s := range []string{
		"", " ", "=", "tiled", "linear d=1s tiled", "linear d=1s tiled jitter=full", "exponential base=1s factor=.1 tiled", "table delays=,",
		"EXPONENTIAL base=1h factor=1e400", "linear d=99999999999h", "polynomial d=1s degree=NaN", "linear\u00a0d=1s", "linear d=1s jitter=uniform:1:", "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := backoff.Parse(s)
		if err != nil {
			if pe, ok := err.(*backoff.ParseError); !ok || pe.Text != s || s[pe.Offset:pe.Offset+len(pe.Word)] != pe.Word || pe.Reason == "" {
				t.Fatalf("Parse(%q) fails with %#v", s, err)
			}
			return
		}
		text, err := b.MarshalText()
		if err != nil {
			t.Fatalf("Parse(%q) has no text: %v", s, err)
		}
		if back, err := backoff.Parse(string(text)); err != nil || back != b {
			t.Fatalf("Parse(%q) prints %q, which reads as %v, %v", s, text, back, err)
		}
		for _, n := range []int{0, 1, 5, math.MaxInt} {
			if d := b.At(n, 0.5); d < 0 {
				t.Fatalf("Parse(%q): At(%d) is %v", s, n, d)
			}
		}
	})
}
