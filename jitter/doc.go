// Package jitter varies delays at random, so that clients that failed together do not return together.
//
//	b := backoff.Exponential(time.Second, 2).Cap(time.Minute).Jitter(jitter.Equal)
//
// A [Jitter] maps a uniform draw to a factor for the delay. It draws nothing itself: the same u gives the same factor,
// so code that uses it can be tested exactly.
//
//	value             factor            text form
//	None              1                 none
//	Default           [0.85, 1.15]      default
//	Full              [0, 1)            full
//	Equal             [0.5, 1)          equal
//	Deviation(p)      [1-p, 1+p]        deviation:p
//	Uniform(lo, hi)   [lo, hi)          uniform:lo:hi
//	Func(f)           f(u)              -
//
// Package backoff applies a Jitter to a curve, and keeps every delay within its cap.
package jitter
