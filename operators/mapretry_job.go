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

// compactRow is a retry.Row in 56 bytes instead of 96. The zero compactRow is the zero Row.
type compactRow struct {
	attempts int64
	retries  int64
	first    int64 // since the run's base
	since    int64 // since the run's base, noTime for the zero time
	previous time.Duration
	u        float64 // notPlaced if it is
	fires    uint64
}

const (
	noTime    = math.MinInt64
	notPlaced = -1
)

func compact(r *retry.Row, base time.Time) compactRow {
	c := compactRow{
		attempts: int64(r.Attempts),
		retries:  int64(r.Retries),
		first:    nanosSince(base, r.First),
		since:    nanosSince(base, r.Since),
		previous: r.Previous,
		u:        notPlaced,
		fires:    r.Fires,
	}
	if r.Placed {
		c.u = r.U
	}
	return c
}

func (c *compactRow) row(base time.Time) retry.Row {
	if c.attempts == 0 {
		return retry.Row{}
	}
	r := retry.Row{
		Attempts: int(c.attempts),
		Retries:  int(c.retries),
		First:    timeSince(base, c.first),
		Since:    timeSince(base, c.since),
		Previous: c.previous,
		Fires:    c.fires,
	}
	if c.u >= 0 {
		r.U, r.Placed = c.u, true
	}
	return r
}

// restart is retry.Row's.
func (c *compactRow) restart(fires uint64) {
	*c = compactRow{attempts: c.attempts, first: c.first, since: noTime, u: notPlaced, fires: fires}
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
