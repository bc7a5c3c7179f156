// Package jitter says how a delay is varied at random, so that many clients
// that failed together do not come back together.
//
// A [Jitter] takes a uniform draw in and gives a factor for the delay out. It
// draws nothing itself: the same u gives the same factor, so whatever uses it
// can be tested exactly.
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
// Package backoff applies a Jitter to a curve, and sees to it that no jitter
// takes a delay past its cap.
//
// Sources: "Exponential-Backoff RxJava operator with Jitter" (2017) for the
// deviation of 15 %; Marc Brooker, "Exponential Backoff And Jitter", AWS
// Architecture Blog (2015) for full and equal jitter; Peter Teichman, "Simple
// backoff", Gopher Academy Advent 2014 for the factor between 0.5 and 1.5.
package jitter
