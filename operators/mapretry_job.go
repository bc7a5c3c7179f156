package operators

import (
	"math"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// job is an item of the source, and where its retries stand.
type job[T any] struct {
	seq  int64 // its place in the source, from 0
	row  compactRow
	item T
}

// compactRow is a retry.State in 48 bytes instead of 96: a job whose item is a pointer is one cache line, and looking it up
// among a million is one miss. The zero compactRow is the zero Row.
type compactRow struct {
	attempts int64
	first    int64 // since the run's base
	since    int64 // since the run's base, noTime for the zero time
	previous time.Duration
	u        float64 // notPlaced if it is
	retries  uint32  // or more: a row is not followed further than that
	fires    uint32  // the last bits: it is compared, not counted
}

const (
	noTime    = math.MinInt64
	notPlaced = -1
)

func compact(r *retry.State, base time.Time) compactRow {
	c := compactRow{
		attempts: int64(r.Attempts),
		first:    nanosSince(base, r.First),
		since:    nanosSince(base, r.Since),
		previous: r.Previous,
		u:        notPlaced,
		retries:  uint32(min(int64(r.Retries), math.MaxUint32)),
		fires:    uint32(r.Fires),
	}
	if r.Placed {
		c.u = r.Place
	}
	return c
}

// row returns the Row; fires is what the policy's signals have fired by now.
func (c *compactRow) row(base time.Time, fires uint64) retry.State {
	if c.attempts == 0 {
		return retry.State{}
	}
	r := retry.State{
		Attempts: int(c.attempts),
		Retries:  int(c.retries),
		First:    timeSince(base, c.first),
		Since:    timeSince(base, c.since),
		Previous: c.previous,
		Fires:    fires - uint64(uint32(fires)-c.fires),
	}
	if c.u >= 0 {
		r.Place, r.Placed = c.u, true
	}
	return r
}

// restart is retry.State's.
func (c *compactRow) restart(fires uint64) {
	*c = compactRow{attempts: c.attempts, first: c.first, since: noTime, u: notPlaced, fires: uint32(fires)}
}

func nanosSince(base, t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return int64(t.Sub(base))
}

func timeSince(base time.Time, nanos int64) time.Time {
	if nanos == noTime {
		return time.Time{}
	}
	return base.Add(time.Duration(nanos))
}
