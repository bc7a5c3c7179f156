// Package backoff computes how long to wait before a retry.
//
// A [Backoff] maps the number of consecutive failures, 1 before the first retry, to a delay. It is a value that
// consists of a curve and of settings:
//
//	b := backoff.Exponential(100*time.Millisecond, 2).Cap(30*time.Second).Jitter(jitter.Full)
//	time.Sleep(b.Delay(n))
//
// It counts nothing and keeps no state: the caller counts, or a policy of package retry does. Any number of goroutines
// may use the same Backoff.
//
// Durations and numbers must be finite and not negative. Invalid arguments panic when the Backoff is made, with the
// argument's name; nothing panics later.
//
// # Curves
//
// For the n-th retry, n from 1, and the draw u in [0,1):
//
//	Constant(d)                 d
//	Linear(d)                   d·n
//	Quadratic(d)                d·n²
//	Polynomial(d, degree)       d·n^degree
//	Exponential(base, factor)   base·factor^(n-1)
//	Fibonacci(d)                d, d, 2d, 3d, 5d …
//	Table(delays...)            the n-th of delays, then the last one forever
//	Sidekiq()                   (k⁴ + 15 + u·30·(k+1)) s, k = n-1
//	Buckets(unit, exponent)     between k^e and (k+2)^e units, k = n-1
//	Decorrelated(base)          between base and 3·the delay before
//	Func(f)                     f(n, u)
//
// Sidekiq, Buckets and Decorrelated are random by themselves. The others have no jitter unless [Backoff.Jitter] sets
// one: without jitter, clients that fail together return together. [Backoff.Tiled] instead spreads operations that fail
// together evenly over time.
//
// [Backoff.Delay] draws u. [Backoff.At] takes u as an argument and is pure, which is useful for tests and simulations.
// Its comment defines how the curve, Plus, the cap and the jitter work together.
//
// # Words
//
// The curve is the delay before all settings. Plus is added to it. The cap is the maximum delay, jitter included. The
// ceiling is the delay before jitter. A dictated delay is one that the other side asked for. A key or an ordinal fixes
// all draws of one operation.
//
// # Text form
//
// A Backoff prints its text form, and [Parse] returns an equal Backoff for it. The text form can be used in JSON, in a
// flag (flag.TextVar) and in a configuration file:
//
//	exponential base=100ms factor=2 cap=30s jitter=full
//
// The text is the name of one curve with its keys, and any of the modifiers, at most once each, in any order, separated
// by white space. Names and keys may be in upper case.
//
//	constant      d=1s                        Constant
//	linear        d=1s                        Linear
//	quadratic     d=1s                        Quadratic
//	polynomial    d=1s degree=1.5             Polynomial
//	exponential   base=100ms factor=2         Exponential
//	fibonacci     d=1s                        Fibonacci
//	table         delays=10ms,100ms,1s        Table
//	sidekiq                                   Sidekiq
//	buckets       unit=1s exponent=2          Buckets
//	decorrelated  base=100ms                  Decorrelated
//
//	plus=1s                                   Plus
//	cap=30s                                   Cap
//	jitter=full                               Jitter: none, default, full, equal,
//	                                          deviation:0.3 or uniform:0.5:1.5
//	tiled                                     Tiled
//	key=42                                    Keyed
//	ordinal=3                                 Ordinal; not with key
//
// Durations are those of time.ParseDuration and numbers those of strconv.ParseFloat; neither may be negative. A curve's
// keys are required. A Func and a custom Jitter have no text form.
package backoff
