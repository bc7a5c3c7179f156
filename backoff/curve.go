package backoff

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/internal/words"
)

// kind is the kind of a Backoff's curve.
type kind uint8

// The curves.
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
)

// Curve describes a curve of the text form.
type Curve struct {
	Name       string   // in the text form; the constructor has the same name with a capital letter
	Parameters []string // the names of the constructor's arguments, in their order
	Formula    string   // of the n-th delay, with the parameters' names
	Random     bool     // random by itself, so that Tiled refuses it
}

// curves contains the curves by their kinds.
var curves = [...]Curve{
	constant:     {"constant", []string{"d"}, "d", false},
	linear:       {"linear", []string{"d"}, "d·n", false},
	quadratic:    {"quadratic", []string{"d"}, "d·n²", false},
	polynomial:   {"polynomial", []string{"d", "degree"}, "d·n^degree", false},
	exponential:  {"exponential", []string{"base", "factor"}, "base·factor^(n-1)", false},
	fibonacci:    {"fibonacci", []string{"d"}, "d times 1, 1, 2, 3, 5, 8 …", false},
	tabled:       {"table", []string{"delays"}, "delays, the last one forever", false},
	sidekiq:      {"sidekiq", nil, "(n-1)⁴ + 15 + up to 30·n seconds at random", true},
	buckets:      {"buckets", []string{"unit", "exponent"}, "at random between unit·(n-1)^exponent and unit·(n+1)^exponent", true},
	decorrelated: {"decorrelated", []string{"base"}, "at random between base and three times the previous delay", true},
	function:     {"func", nil, "f(n, u)", false},
}

// Curves returns the curves that have a text form. The caller may change the result.
func Curves() []Curve {
	all := slices.Clone(curves[:function])
	for i := range all {
		all[i].Parameters = slices.Clone(all[i].Parameters)
	}
	return all
}

// curveNames are the names of the curves that can be parsed.
var curveNames = func() (names []string) {
	for _, c := range curves[:function] {
		names = append(names, c.Name)
	}
	return names
}()

// curveNamed returns the curve of that name, if there is one.
func curveNamed(name string) (k kind, is bool) {
	i := slices.IndexFunc(curves[:], func(c Curve) bool { return c.Name == name })
	return kind(i), i >= 0
}

// ranged reports whether the curve is random by itself.
func (k kind) ranged() bool { return curves[k].Random }

// of returns the curve with a duration and, if the curve has one, a number.
func (k kind) of(d time.Duration, x ...float64) Backoff {
	constructor := strings.ToUpper(curves[k].Name[:1]) + curves[k].Name[1:]
	notNegative(constructor, curves[k].Parameters[0], d)
	b := Backoff{kind: k, d: d}
	for _, x := range x {
		b.x = number(constructor, curves[k].Parameters[1], x)
	}
	return b
}

// Constant returns the Backoff whose delay is always d.
func Constant(d time.Duration) Backoff { return constant.of(d) }

// Linear returns the Backoff of d·n: d, 2d, 3d, 4d …
func Linear(d time.Duration) Backoff { return linear.of(d) }

// Quadratic returns the Backoff of d·n²: d, 4d, 9d, 16d … It is the curve of "Exponential-Backoff RxJava operator with
// Jitter" (2017), in spite of that name.
func Quadratic(d time.Duration) Backoff { return quadratic.of(d) }

// Polynomial returns the Backoff of d·n^degree. The degree need not be a whole number; 0.5 flattens the curve. Delays
// are exact for a whole degree, and otherwise correct to the nearest nanosecond or 15 digits.
func Polynomial(d time.Duration, degree float64) Backoff { return polynomial.of(d, degree) }

// Exponential returns the Backoff of base·factor^(n-1): base, then each delay factor times the one before.
// Exponential(2*base, 2) is base·2^n, the curve of Marc Brooker, "Exponential Backoff And Jitter" (AWS Architecture
// Blog, 2015); Exponential(d, 2).Plus(least) is the least + d·2^(n-1) of "Visualization of backoff functions". Delays
// are exact for a whole factor. With a factor below 1 delays shrink.
func Exponential(base time.Duration, factor float64) Backoff { return exponential.of(base, factor) }

// Fibonacci returns the Backoff of d times the n-th Fibonacci number: d, d, 2d, 3d, 5d, 8d …
func Fibonacci(d time.Duration) Backoff { return fibonacci.of(d) }

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

// curve is the value of a curve that is not random by itself, for n >= 1. Only a Func uses u.
func (b *Backoff) curve(n int, u float64) time.Duration {
	k := uint64(n)
	switch b.kind {
	case constant:
		return b.d
	case linear:
		return times(b.d, k)
	case quadratic:
		return times(b.d, power(k, 2))
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
	case function:
		return max(0, (*b.fn)(n, u))
	}
	panic("backoff: no such curve")
}

// timesPower is d·k^x.
func timesPower(d time.Duration, k uint64, x float64) time.Duration {
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
	return multiply(b.d, math.Pow(b.x, float64(k))) // exact where the power has 53 bits
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
	x, err := words.Number(name, x)
	if err != nil {
		panic(fmt.Sprintf("backoff: %s: %v", constructor, err))
	}
	return x
}
