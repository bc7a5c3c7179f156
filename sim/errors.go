package sim

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrHorizon is why a run stopped that had more to do after its Horizon.
var ErrHorizon = errors.New("the horizon is reached")

// ErrStuck is why an Outage stopped whose clients retry without any time going by: the backoff does not wait and a
// failure takes no time.
var ErrStuck = errors.New("retries take no time")

// StoppedError is the error of a run that ended before its work was done. The result that came with it holds what was
// computed so far, and is as good as any other for that part.
//
// Unwrap returns the cause: ErrHorizon, ErrStuck, or the cause of the context.
type StoppedError struct {
	Model string // "Herd", "OCC", …
	Cause error
	At    time.Duration // how far the simulated time had come; 0 for a model that computes job by job
	Done  int64         // how much was done, in Unit
	Total int64         // of how much
	Unit  string        // "retries", "clients", "runs"
}

// Error says what stopped the run, and how much of it was done.
func (e *StoppedError) Error() string {
	at := ""
	if e.At > 0 {
		at = fmt.Sprintf(" at %v", e.At)
	}
	return fmt.Sprintf("sim: %s: stopped%s: %v: %d of %d %s done", e.Model, at, e.Cause, e.Done, e.Total, e.Unit)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// FieldError is the error of a model that cannot be run, or of a question that cannot be answered, as it was put.
type FieldError struct {
	Model string // "Herd", "OCC", …
	Field string // the field, or the argument, at fault
	Value any    // what it is
	Want  string // what it may be
}

// Error names the field, its value, and what it may be.
func (e *FieldError) Error() string {
	return fmt.Sprintf("sim: %s: %s is %v, want %s", e.Model, e.Field, e.Value, e.Want)
}

// checker collects the first thing wrong with the fields of a model.
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

// number wants lo <= x <= hi; a NaN is not.
func (c *checker) number(field string, x, lo, hi float64) {
	if !(x >= lo && x <= hi) {
		c.fail(field, x, fmt.Sprintf("%v to %v", lo, hi))
	}
}
