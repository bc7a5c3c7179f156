package durable

import (
	"sync/atomic"
	"time"
)

// minSkew is the smallest difference of clocks that counts: what is less may be the time of a request.
const minSkew = time.Second

// clock is the server's clock and the lease of the queue, as far as this process knows them.
type clock struct {
	leaseTime atomic.Int64
	skew      atomic.Int64 // the server's time less this machine's
}

// lease returns the lease of the queue. Another process can change it.
func (c *clock) lease() time.Duration { return time.Duration(c.leaseTime.Load()) }

// now returns the time by the server's clock, which all processes of the queue share: due times, and the times in a
// job's retry state, are the server's. It is this machine's time if both differ by less than minSkew.
func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.skew.Load())) }

// until returns how long it is until t by the server's clock.
func (c *clock) until(t time.Time) time.Duration { return t.Sub(c.now()) }
