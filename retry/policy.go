package retry

import (
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/stream"
)

// Policy decides, for each failure, whether and when to try again. It is an immutable value: With returns another one,
// any number of goroutines may use the same one, and what an operation has been through is kept apart, in a Row. It is
// a stream.RetryHandler.
//
// The zero Policy retries at once and for ever, until ctx ends.
type Policy struct {
	config *config // never changed once it is here; nil in the zero Policy
}

// config is what the options say. A negative number is "not set".
type config struct {
	backoff         backoff.Backoff
	draws           drawing
	limit           int
	within          time.Duration
	stopAt          time.Duration
	attemptTimeout  time.Duration
	resetAfter      time.Duration
	resetAfterItems int64
	maxRetryAfter   time.Duration
	retryable       func(error) bool
	onRetry         []func(Event)
	onGiveUp        []func(*Error)
	signals         []*Signal
	clock           stream.Clock
	rand            func() float64
	budget          *Budget
}

// Default waits about 1, 2, 4 and 8 s, each ±15 %, and gives up when the next wait would be of 10 s or more.
// The figures are those of "Exponential Backoff" (LispCast).
var Default = New(backoff.Exponential(time.Second, 2).Jitter(jitter.Default), StopAt(10*time.Second))

var zero = &config{
	limit: -1, within: -1, stopAt: -1, attemptTimeout: -1, resetAfter: -1, resetAfterItems: -1, maxRetryAfter: -1,
}

// New returns the policy that waits as b says. Without Limit, Within or StopAt it retries until ctx ends. Hooks and
// signals given twice add up; of every other option the last one counts.
func New(b backoff.Backoff, opts ...Option) Policy {
	return Policy{}.With(WithBackoff(b)).With(opts...)
}

// With returns the policy p changed by opts; p stays as it is.
func (p Policy) With(opts ...Option) Policy {
	c := *p.settings()
	c.onRetry = c.onRetry[:len(c.onRetry):len(c.onRetry)]
	c.onGiveUp = c.onGiveUp[:len(c.onGiveUp):len(c.onGiveUp)]
	c.signals = c.signals[:len(c.signals):len(c.signals)]
	for i, o := range opts {
		if o == nil {
			panicf("With", "opts[%d] is nil", i)
		}
		o(&c)
	}
	return Policy{&c}
}

// Backoff returns the policy's backoff.
func (p Policy) Backoff() backoff.Backoff { return p.settings().backoff }

// Succeeded gives the budget its refund for an operation or an attempt that ended well. Do, Run, Attempts and
// stream.RetryWhen call it; it is for those who drive a policy by Decide.
func (p Policy) Succeeded(items int64) { p.settings().succeeded() }

func (c *config) succeeded() {
	if c.budget != nil {
		c.budget.succeeded()
	}
}

func (p Policy) settings() *config {
	if p.config == nil {
		return zero
	}
	return p.config
}
