package backoff

import (
	"fmt"
	"math"
	"time"
)

// kind is the kind of a Backoff's curve.
type kind uint8

// The curves. Those from firstRandom on use u themselves.
const (
	constant kind = iota
	linear
	quadratic
	polynomial
	exponential
	fibonacci
	tabled
	sidekiq
	buckets
	decorrelated
	function

	firstRandom = sidekiq
)

// ranged reports whether the curve is random by itself.
func (k kind) ranged() bool { return k == sidekiq || k == buckets || k == decorrelated }

// Constant returns the Backoff whose delay is always d.
func Constant(d time.Duration) Backoff {
	notNegative("Constant", "d", d)
	return Backoff{kind: constant, d: d}
}

// Linear returns the Backoff of d·n: d, 2d, 3d, 4d …
func Linear(d time.Duration) Backoff {
	notNegative("Linear", "d", d)
	return Backoff{kind: linear, d: d}
}

// Quadratic returns the Backoff of d·n²: d, 4d, 9d, 16d … It is the curve of "Exponential-Backoff RxJava operator with
// Jitter" (2017), in spite of that name.
func Quadratic(d time.Duration) Backoff {
	notNegative("Quadratic", "d", d)
	return Backoff{kind: quadratic, d: d}
}

// Polynomial returns the Backoff of d·n^degree. The degree need not be a whole number; 0.5 flattens the curve. Delays
// are exact for a whole degree, and otherwise correct to the nearest nanosecond or 15 digits.
func Polynomial(d time.Duration, degree float64) Backoff {
	notNegative("Polynomial", "d", d)
	return Backoff{kind: polynomial, d: d, x: number("Polynomial", "degree", degree)}
}

// Exponential returns the Backoff of base·factor^(n-1): base, then each delay factor times the one before.
// Exponential(2*base, 2) is base·2^n, the curve of Marc Brooker, "Exponential Backoff And Jitter" (AWS Architecture
// Blog, 2015); Exponential(d, 2).Plus(least) is the least + d·2^(n-1) of "Visualization of backoff functions". Delays
// are exact for a whole factor. With a factor below 1 delays shrink.
func Exponential(base time.Duration, factor float64) Backoff {
	notNegative("Exponential", "base", base)
	return Backoff{kind: exponential, d: base, x: number("Exponential", "factor", factor)}
}

// Fibonacci returns the Backoff of d times the n-th Fibonacci number: d, d, 2d, 3d, 5d, 8d …
func Fibonacci(d time.Duration) Backoff {
	notNegative("Fibonacci", "d", d)
	return Backoff{kind: fibonacci, d: d}
}

// curveFunc is the type of Func's argument.
type curveFunc func(n int, u float64) time.Duration

// Func returns the Backoff of a custom curve: f is called with n >= 1 and u in [0,1), and must be safe for concurrent
// use. A negative result counts as 0. Plus, the cap and a jitter apply as to any curve; a jitter is drawn with the same
// u. A Func has no text form.
func Func(f func(n int, u float64) time.Duration) Backoff {
	if f == nil {
		panic("backoff: Func: f is nil")
	}
	fn := curveFunc(f)
	return Backoff{kind: function, fn: &fn}
}

// curve is the value of a curve that is not random, for n >= 1.
func (b *Backoff) curve(n int) time.Duration {
	k := uint64(n)
	switch b.kind {
	case constant:
		return b.d
	case linear:
		return times(b.d, k)
	case quadratic:
		return times(b.d, square(k))
	case polynomial:
		return timesPower(b.d, k, b.x)
	case exponential:
		if b.x != 2 {
			return b.exponential(k - 1)
		}
		if b.d <= math.MaxInt64>>(k-1) { // the usual factor: a shift is enough
			return b.d << (k - 1)
		}
		return math.MaxInt64
	case fibonacci:
		return times(b.d, fib[min(n, len(fib)-1)])
	case tabled:
		return b.table.at(n)
	}
	panic("backoff: no such curve")
}

// timesPower is d·k^x.
func timesPower(d time.Duration, k uint64, x float64) time.Duration {
	if x == 2 { // the usual degree
		return times(d, square(k))
	}
	if e, ok := whole(x); ok {
		return times(d, power(k, e))
	}
	return multiply(d, math.Pow(float64(k), x))
}

// exponential is base·factor^k.
func (b *Backoff) exponential(k uint64) time.Duration {
	if f, ok := whole(b.x); ok {
		return times(b.d, power(f, k))
	}
	return multiply(b.d, powerFloat(b.x, k))
}

// fib holds every Fibonacci number that fits an int64, and one more entry that saturates.
var fib = func() (f [94]uint64) {
	f[1] = 1
	for i := 2; i < len(f); i++ {
		f[i] = f[i-1] + f[i-2]
	}
	return f // F(93) still fits 64 bits, and exceeds the range of a Duration
}()

// number panics unless the argument x with the given name is finite and not negative.
func number(constructor, name string, x float64) float64 {
	if why := numberWrong(x); why != "" {
		panic(fmt.Sprintf("backoff: %s: %s is %v, want %s", constructor, name, x, why))
	}
	return x + 0 // a negative zero becomes 0
}

// numberWrong returns what x should be, or "" if x is valid.
func numberWrong(x float64) string {
	if finite(x) && x >= 0 {
		return ""
	}
	return "a finite number >= 0"
}
