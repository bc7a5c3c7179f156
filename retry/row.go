package retry

import (
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/golden"
	"github.com/retrywhen/retrywhen/internal/permanent"
	"github.com/retrywhen/retrywhen/stream"
)

// Row is where one operation stands: what a decision needs to know of the failures before. The zero Row is an
// operation that has not failed yet. It is plain data, so that an operation can be put aside, or stored, and decided
// on later in another place; it belongs to one operation and is not safe for concurrent use.
type Row struct {
	// Attempts counts the operation's failed attempts, over all rows.
	Attempts int
	// Retries counts the retries in a row.
	Retries int
	// First is when the operation first failed.
	First time.Time
	// Since is when the row first failed.
	Since time.Time
	// Previous is the last delay that was drawn in the row, which Decorrelated goes on from.
	Previous time.Duration
	// U is the operation's place under a Tiled backoff, once Placed is true.
	U      float64
	Placed bool
	// Fires counts the fires of the policy's signals that the row has seen (Policy.Fires), in this process.
	Fires uint64
}

// restart starts the row again.
func (r *Row) restart() {
	r.Retries, r.Since, r.Previous, r.U, r.Placed = 0, time.Time{}, 0, 0, false
}

// Decide is the policy without its waits: it takes the failure of one operation, which happened at the given time, and
// returns the delay before the next attempt, or the error that the operation ends with. It brings row up to date,
// takes from the budget and calls the hooks. deadline is that of the operation, zero for none; cancellation is the
// caller's to look at. Of f only Err, Items and Lasted matter.
func (p Policy) Decide(row *Row, f stream.Failure, at, deadline time.Time) (time.Duration, error) {
	return p.settings().decide(row, &f, &moment{at: at}, deadline)
}

// moment is the time of a failure, read from the clock when it is first needed: without waits it seldom is.
type moment struct {
	clock stream.Clock // nil: at is known
	at    time.Time
}

func (m *moment) time() time.Time {
	if m.clock != nil {
		m.at, m.clock = m.clock.Now(), nil
	}
	return m.at
}

func (c *config) decide(row *Row, f *stream.Failure, m *moment, deadline time.Time) (time.Duration, error) {
	c.count(row, m)
	simple := isSimple(f.Err)
	if !simple {
		if err, ok := permanent.Strip(f.Err); ok {
			return 0, err
		}
	}
	if c.retryable != nil && !c.retryable(f.Err) {
		return 0, f.Err
	}
	if c.resets(row, f) {
		row.restart()
	}
	if row.Retries == 0 { // not Since.IsZero(): a clock may begin at the zero time
		row.Since = m.time()
	}
	if c.limit >= 0 && row.Retries >= c.limit {
		return 0, c.giveUp(row, ErrExhausted, f.Err, m)
	}
	var asked time.Duration
	if !simple {
		asked = dictated(f.Err)
	}
	delay, cause := c.delay(row, asked, m, deadline)
	if cause == nil && c.budget != nil && !c.budget.take(m.time()) {
		cause = ErrBudget
	}
	if cause != nil {
		return 0, c.giveUp(row, cause, f.Err, m)
	}
	row.Retries++
	if c.onRetry != nil {
		e := Event{N: row.Retries, Err: f.Err, Delay: delay, Elapsed: m.time().Sub(row.Since)}
		for _, hook := range c.onRetry {
			hook(e)
		}
	}
	return delay, nil
}

// count counts the failed attempt.
func (c *config) count(row *Row, m *moment) {
	if row.Attempts == 0 {
		row.First, row.Fires = m.time(), c.fires()
	}
	row.Attempts++
}

// resets reports whether the failed attempt, or a signal since, starts the row again.
func (c *config) resets(row *Row, f *stream.Failure) bool {
	if c.signals != nil {
		if fires := c.fires(); fires != row.Fires {
			row.Fires = fires
			return true
		}
	}
	return c.resetAfterItems > 0 && f.Items >= c.resetAfterItems ||
		c.resetAfter > 0 && f.Lasted >= c.resetAfter
}

// delay returns the wait before the row's next retry, of which the failure asks for so much, or why there is none.
func (c *config) delay(row *Row, asked time.Duration, m *moment, deadline time.Time) (time.Duration, error) {
	n, u := row.Retries+1, c.draw(row)
	var delay time.Duration
	if asked > 0 {
		if c.maxRetryAfter >= 0 && asked > c.maxRetryAfter {
			return 0, ErrExhausted
		}
		delay = c.backoff.Dictated(asked, u)
	} else {
		if c.stopAt >= 0 && c.backoff.Ceiling(n) >= c.stopAt {
			return 0, ErrExhausted
		}
		if c.draws != nothing {
			delay = c.backoff.After(n, row.Previous, u)
		}
		row.Previous = delay
		asked = delay
	}
	// Of a dictated delay only the least part must fit, of a drawn one all.
	if c.within >= 0 {
		room := c.within - max(0, m.time().Sub(row.Since)) // a clock may go back
		if asked > room {
			return 0, ErrExhausted
		}
		delay = min(delay, room)
	}
	if delay > 0 && !deadline.IsZero() {
		// An attempt that starts at the deadline is cancelled: it must start before.
		room := max(0, deadline.Sub(m.time())) - 1
		if asked > room {
			return 0, ErrDeadline
		}
		delay = min(delay, room)
	}
	return delay, nil
}

// drawing is how often a policy draws a random number.
type drawing uint8

const (
	never   drawing = iota // the backoff is not random
	nothing                // nor does it wait
	always                 // for each retry
	eachRow                // once for the retries in a row: Tiled
)

func drawingFor(b backoff.Backoff) drawing {
	switch {
	case b == backoff.Backoff{}:
		return nothing
	case !b.IsRandom():
		return never
	case b.IsTiled():
		return eachRow
	default:
		return always
	}
}

// draw returns the random number for the row's next retry.
func (c *config) draw(row *Row) float64 {
	switch {
	case c.draws <= nothing:
		return 0
	case c.draws == always:
		return c.random()
	case !row.Placed:
		row.U, row.Placed = c.place(), true
	}
	return row.U
}

func (c *config) random() float64 {
	if c.rand != nil {
		return c.rand()
	}
	return rand.Float64()
}

// place returns an operation's place in a fleet.
func (c *config) place() float64 {
	if c.rand != nil {
		return c.rand()
	}
	return golden.Next()
}

// giveUp returns the error that ends the operation, and tells of it.
func (c *config) giveUp(row *Row, cause, last error, m *moment) *Error {
	err := row.failure(cause, last, m)
	for _, hook := range c.onGiveUp {
		hook(err)
	}
	return err
}

// failure returns the error of the operation that ends here.
func (r *Row) failure(cause, last error, m *moment) *Error {
	err := &Error{Cause: cause, Last: last, Attempts: r.Attempts}
	if r.Attempts > 0 {
		err.Elapsed = m.time().Sub(r.First)
	}
	return err
}
