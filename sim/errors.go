package sim

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrHorizon is the cause when a run reaches its Horizon and more would happen later.
var ErrHorizon = errors.New("the horizon is reached")

// ErrStuck is the cause when an Outage's or an Overload's clients make more than 100 attempts each at one instant,
// without an end in sight: the backoff does not wait and a failure takes no time.
var ErrStuck = errors.New("retries take no time")

// StoppedError is the error of a run that stopped before its work was done. The result returned with it is valid for
// the part that was computed.
//
// Unwrap returns the cause: ErrHorizon, ErrStuck, or the cause of the context.
type StoppedError struct {
	Model string // "Herd", "OCC", …
	Cause error
	At    time.Duration // the simulated time at which it stopped; 0 for a model that computes job by job
	Done  int64         // the work done, in Unit
	Total int64         // the whole work, in Unit
	Unit  string        // "retries", "clients", "runs", "ms"
}

// Error returns a text with the cause and how much of the work was done.
func (e *StoppedError) Error() string {
	at := ""
	if e.At > 0 {
		at = fmt.Sprintf(" at %v", e.At)
	}
	return fmt.Sprintf("sim: %s: stopped%s: %v: %d of %d %s done", e.Model, at, e.Cause, e.Done, e.Total, e.Unit)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// FieldError is the error for an invalid field of a model or an invalid argument.
type FieldError struct {
	Model string // "Herd", "OCC", …
	Field string // the invalid field or argument
	Value any    // its value
	Want  string // the valid values
}

// Error returns a text with the field, its value, and the valid values.
func (e *FieldError) Error() string {
	return fmt.Sprintf("sim: %s: %s is %v, want %s", e.Model, e.Field, e.Value, e.Want)
}

// checker keeps the first error in the fields of a model.
type checker struct {
	model string
	err   error
}

func (c *checker) fail(field string, value any, want string) {
	if c.err == nil {
		c.err = &FieldError{c.model, field, value, want}
	}
}

// count wants lo <= v <= hi.
func (c *checker) count(field string, v, lo, hi int) {
	if v < lo || v > hi {
		c.fail(field, v, strconv.Itoa(lo)+" to "+strconv.Itoa(hi))
	}
}

// duration wants lo <= d <= hi.
func (c *checker) duration(field string, d, lo, hi time.Duration) {
	if d < lo || d > hi {
		c.fail(field, d, fmt.Sprintf("%v to %v", lo, hi))
	}
}

// notNegative wants d >= 0.
func (c *checker) notNegative(field string, d time.Duration) {
	if d < 0 {
		c.fail(field, d, "at least 0")
	}
}

// number wants lo <= x <= hi; a NaN fails.
func (c *checker) number(field string, x, lo, hi float64) {
	if !(x >= lo && x <= hi) {
		c.fail(field, x, fmt.Sprintf("%v to %v", lo, hi))
	}
}
