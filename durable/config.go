package durable

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// Config says how a queue works. Name is needed; the zero value of every other field is a good default.
type Config struct {
	// Name is the queue's: letters, digits, - and _, at most 64. Queues of different names share nothing.
	Name string
	// Policy decides about failures. The zero Policy would retry at once and forever, so it stands for retry.Default
	// here. The clock of the policy (retry.WithClock) is not used: the machines' clocks are. A retry.Signal starts the
	// row again, as elsewhere, but does not end waits.
	Policy retry.Policy

	// Replicas is how many servers keep each job: 1, 3 or 5. By default it is 3 on a cluster and 1 on a server that is in
	// none; a queue that exists stays as it is.
	Replicas int
	// InMemory keeps the jobs in the server's memory: they are lost with it.
	InMemory bool
	// Lease is how long a worker may be silent before its jobs are given to others, 30 s by default and at least 1 s.
	// It is kept alive while an attempt runs, however long that is.
	Lease time.Duration
	// Remember is how long the id of a finished job is remembered: a Put with it returns ErrExists. It is also how late a
	// worker that was taken for dead may come back, and find that its job was finished. 10 minutes by default, or 10
	// leases if that is longer; at least one lease. The ids of all other jobs are known for as long as the jobs are there.
	Remember time.Duration
	// KeepDead is how long dead letters are kept; 0 is forever.
	KeepDead time.Duration
	// MaxDead is how many dead letters are kept, 100,000 by default: the oldest make room for new ones.
	MaxDead int
	// MaxCrashes is how many attempts at a job may begin and never end before it is a dead letter, with ErrAbandoned: its
	// worker dies each time. The first attempt leaves no trace and does not count. The last one is made alone, with no
	// other job of the queue running in its process, so that no job dies of what its neighbour does. 5 by default.
	MaxCrashes int
	// MaxPayload is the most bytes a job may have. By default it is what the server allows, less 8 KiB for headers.
	MaxPayload int
	// Context returns the context of an attempt that Work makes, and of the policy's hooks when it fails, from the one
	// that they would have: with a span that the job's headers continue, say. It must not return nil.
	Context func(ctx context.Context, job *Job) context.Context
	// Grace is how long after the end of Work's context the contexts of its running handlers end, 0 by default.
	Grace time.Duration

	// Update changes the stream and the consumers of an existing queue to what Config says. Without it Open fails
	// when they differ.
	Update bool
	// Logger is told what no call can return: failed leases, outcomes that were not stored. By default nobody is.
	Logger *slog.Logger
}

const (
	// short bounds the waits that a worker holds, and maxHeld how many it holds at a time.
	short   = time.Second
	maxHeld = 4096
	// headerRoom is what the payload limit leaves for headers, of which an error's text takes at most errorRoom and those
	// of PutHeader at most userRoom.
	headerRoom = 8 << 10
	errorRoom  = 4 << 10
	userRoom   = 2 << 10
	maxID      = 256
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// withDefaults returns the config with its defaults, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	switch {
	case !validName.MatchString(c.Name):
		return c, fmt.Errorf("durable: open: Config.Name is %q, want 1 to 64 letters, digits, - or _", c.Name)
	case c.Replicas < 0 || c.Replicas > 5:
		return c, fmt.Errorf("durable: open: Config.Replicas is %d, want 1 to 5 (odd numbers make sense)", c.Replicas)
	case c.Lease != 0 && c.Lease < time.Second:
		return c, fmt.Errorf("durable: open: Config.Lease is %v, want at least 1s", c.Lease)
	case c.KeepDead < 0 || c.Grace < 0 || c.MaxPayload < 0 || c.MaxDead < 0:
		return c, fmt.Errorf("durable: open: Config has KeepDead %v, Grace %v, MaxPayload %d, MaxDead %d: none may be negative",
			c.KeepDead, c.Grace, c.MaxPayload, c.MaxDead)
	case c.KeepDead != 0 && c.KeepDead < time.Second:
		return c, fmt.Errorf("durable: open: Config.KeepDead is %v, want at least 1s, or 0 for no end", c.KeepDead)
	case c.MaxCrashes < 0:
		return c, fmt.Errorf("durable: open: Config.MaxCrashes is %d, want at least 1, or 0 for the default", c.MaxCrashes)
	}
	if c.Policy == (retry.Policy{}) {
		c.Policy = retry.Default
	}
	orDefault(&c.Lease, 30*time.Second)
	orDefault(&c.Remember, max(10*time.Minute, 10*c.Lease))
	if c.Remember < c.Lease {
		return c, fmt.Errorf("durable: open: Config.Remember is %v, want at least one Lease (%v)", c.Remember, c.Lease)
	}
	orDefault(&c.MaxDead, 100_000)
	orDefault(&c.MaxCrashes, 5)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
