package durable

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// Config configures a queue. Name is required; the zero value of every other field means a default.
//
// Replicas, Lease, Remember, KeepDead, MaxDead and MaxCrashes belong to the queue, not to the process. The first Open
// sets them. Later, a zero field takes what the queue has, and Open refuses a field that differs, unless Update is set.
// Processes that run meanwhile take a new Lease within moments, and the rest when they open the queue again.
type Config struct {
	// Name is the name of the queue: 1 to 64 letters, digits, - or _. Queues with different names share nothing.
	Name string
	// Policy decides about failures. The zero Policy means one that fits a queue: waits from 1 s to 1 h that double, with
	// jitter.Equal, for 24 hours. A policy without a retry.AttemptTimeout gets one of 30 minutes for the attempts of Work,
	// so that a handler that hangs does not keep its worker forever; set a longer one for longer attempts. If processes
	// have different policies, a failure is decided by the policy of the process in which the attempt has failed, from the
	// job's count of failures in all of them.
	// The policy's clock (retry.WithClock) is not used; times are those of the server's clock. A retry.Signal has
	// no effect: it ends no wait, and restarts no counts, which are stored with the job.
	Policy retry.Policy

	// Replicas is how many servers store each job: 1, 3 or 5. For a new queue, the default is 3 in a cluster and 1 on a
	// single server. For an existing queue, the default is what it has.
	Replicas int
	// InMemory keeps the jobs in the server's memory only. They are lost when the server ends.
	InMemory bool
	// Lease is how long a worker may be silent before its jobs are delivered to others: 30 s by default, at least 1 s. It
	// is extended while an attempt runs, however long that takes.
	Lease time.Duration
	// Remember is how long the id of a finished job is remembered; until then a Put with this id returns ErrExists. It is
	// also how late a worker that was presumed dead may come back and still find that its job was finished. The default is
	// 4 leases; the minimum is one lease. The server needs memory for each id that it remembers, see Sizing in
	// docs/durable.md. The ids of all other jobs are known for as long as the jobs exist.
	Remember time.Duration
	// KeepDead is how long dead letters are kept; by default forever.
	KeepDead time.Duration
	// MaxDead is how many dead letters are kept, 100,000 by default. When a job dies and there are more, the oldest are
	// removed; each process does that at most once per second.
	MaxDead int
	// MaxCrashes is the number of attempts during which workers may die, 5 by default. Then the job becomes a dead letter
	// with ErrAbandoned. The first attempt leaves no trace and does not count. The last one runs alone in its process, so
	// that a job is not given up because of another job's crashes: until a process is free, the job is handed back.
	MaxCrashes int
	// MaxPayload is the maximum size of a job in bytes. The default is the server's limit less 8 KiB for headers.
	MaxPayload int
	// Context derives the context of an attempt of Work, and of the policy's hooks for it, from ctx. It can start a span
	// that continues the job's headers, for example. It must not return nil.
	Context func(ctx context.Context, job *Job) context.Context
	// Grace is how long the contexts of running handlers last after Work's context has ended or Close was called; 5 s by
	// default. A time of 1 ns ends them at once. Work and Close then wait 5 s more for handlers that go on, and 5 s to
	// store outcomes: the process must have enough time for all three, see Stopping in docs/durable.md.
	Grace time.Duration

	// Update makes Open change the stream and the consumers of an existing queue to this Config. Without it, Open fails
	// when they differ. If Lease becomes shorter, Open tells the workers first, and takes a quarter of the old lease and a
	// second: ctx must last as long.
	Update bool
	// Logger receives what no call can return, such as leases that could not be extended and outcomes that were not
	// stored. By default nothing is logged.
	Logger *slog.Logger
}

const (
	// short bounds the waits that a worker keeps itself; maxHeld bounds how many it keeps at a time.
	short   = time.Second
	maxHeld = 4096
	// headerRoom is the part of the server's payload limit that is reserved for headers. An error's text and a position
	// take at most errorRoom of it, and the headers of PutHeader at most userRoom.
	headerRoom = 8 << 10
	errorRoom  = 4 << 10
	userRoom   = 2 << 10
	maxID      = 256
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// withDefaults returns the config with the defaults of what belongs to the process, or an error if a field is invalid.
func (c Config) withDefaults() (Config, error) {
	switch {
	case !validName.MatchString(c.Name):
		return c, fmt.Errorf("durable: open: Config.Name is %q, want 1 to 64 letters, digits, - or _", c.Name)
	case !slices.Contains([]int{0, 1, 3, 5}, c.Replicas):
		return c, fmt.Errorf("durable: open: Config.Replicas is %d, want 1, 3 or 5, or 0 for the default", c.Replicas)
	case c.Lease != 0 && c.Lease < time.Second:
		return c, fmt.Errorf("durable: open: Config.Lease is %v, want at least 1s", c.Lease)
	case c.KeepDead < 0 || c.Grace < 0 || c.MaxPayload < 0 || c.MaxDead < 0:
		return c, fmt.Errorf("durable: open: Config has KeepDead %v, Grace %v, MaxPayload %d, MaxDead %d, want none negative",
			c.KeepDead, c.Grace, c.MaxPayload, c.MaxDead)
	case c.KeepDead != 0 && c.KeepDead < time.Second:
		return c, fmt.Errorf("durable: open: Config.KeepDead is %v, want at least 1s, or 0 for forever", c.KeepDead)
	case c.MaxCrashes < 0:
		return c, fmt.Errorf("durable: open: Config.MaxCrashes is %d, want at least 1, or 0 for the default", c.MaxCrashes)
	}
	c.Policy = withPolicyDefaults(cmp.Or(c.Policy, defaultPolicy))
	c.Grace = min(cmp.Or(c.Grace, 5*time.Second), longest) // it is added to other times
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("queue", c.Name)
	return c, nil
}

// defaultPolicy is the policy of a queue without one.
var defaultPolicy = retry.New(backoff.Exponential(time.Second, 2).Cap(time.Hour).Jitter(jitter.Equal), retry.Within(24*time.Hour))

// attemptTimeout bounds the attempts of policies without a retry.AttemptTimeout.
const attemptTimeout = 30 * time.Minute

func withPolicyDefaults(p retry.Policy) retry.Policy {
	if _, set := p.AttemptTimeout(); set {
		return p
	}
	return p.With(retry.AttemptTimeout(attemptTimeout))
}
