package durable

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

// Config says where a queue is and how it works. Name and one of URL, Server and Conn are needed; the zero value of
// every other field is a good default.
type Config struct {
	// URL is that of a NATS server, or of several servers of a cluster with commas between them. It may hold a user and
	// password, or a token, percent-encoded; errors and logs do not show them.
	URL string
	// Server is a server to connect to, usually one that embedded.Start has returned.
	Server Server
	// Conn is a connection to use; Close leaves it open. It should have nats.ReconnectBufSize(-1): otherwise a Put that has
	// failed with ErrNotStored while it was lost may be sent all the same when it is back.
	Conn *nats.Conn
	// NATS are options for the connection to URL or Server: TLS, credentials, timeouts, handlers.
	NATS []nats.Option

	// Name is the queue's: letters, digits, - and _, at most 64. Queues of different names share nothing.
	Name string
	// Policy decides about failures. The zero Policy would retry at once and forever, so it stands for retry.Default
	// here. The clock of the policy (retry.WithClock) is not used: the machines' clocks are. A retry.Signal starts the
	// row again, as elsewhere, but does not end waits.
	Policy retry.Policy

	// Replicas is how many servers of a cluster keep each job: 1 (the default), 3 or 5.
	Replicas int
	// InMemory keeps the jobs in the server's memory: they are lost with it.
	InMemory bool
	// Lease is how long a worker may be silent before its jobs are given to others, 30 s by default and at least 1 s.
	// It is kept alive while an attempt runs, however long that is.
	Lease time.Duration
	// Duplicates is how long an id is remembered: a second Put with it does nothing. 2 minutes by default; it should be
	// some leases long, and must be at least one. A Put that tries for longer than that may store its job twice.
	Duplicates time.Duration
	// KeepDead is how long dead letters are kept; 0 is forever.
	KeepDead time.Duration
	// MaxDeliveries bounds how often a job is given to workers without one of them settling it: a job whose worker
	// dies each time is then a dead letter, with ErrAbandoned. To be handed back counts too. 20 by default, at least 2.
	MaxDeliveries int
	// MaxPayload is the most bytes a job may have. By default it is what the server allows, less 8 KiB for headers.
	MaxPayload int
	// Grace is how long after the end of Work's context the contexts of its running handlers end, 0 by default.
	Grace time.Duration

	// NoSchedules has waits of a second and more kept by delayed negative acknowledgements instead of message
	// schedules, as they are anyway on servers before 2.12. It is for clusters with such servers among others. Delayed
	// negative acknowledgements are fit for some ten retries a second, not for thousands.
	NoSchedules bool
	// Update changes the streams and the consumer of an existing queue to what Config says. Without it Open fails
	// when they differ.
	Update bool
	// Logger is told what no call can return: failed leases, lost connections. By default nobody is.
	Logger *slog.Logger
}

// Server is something to connect to: an embedded server.
type Server interface {
	Connect(options ...nats.Option) (*nats.Conn, error)
}

const (
	// short bounds the waits that a worker holds, and maxHeld how many it holds at a time.
	short   = time.Second
	maxHeld = 4096
	// headerRoom is what the payload limit leaves for headers, of which an error's text takes at most errorRoom.
	headerRoom = 8 << 10
	errorRoom  = 4 << 10
	maxID      = 256
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// withDefaults returns the config with its defaults, or what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	ways := 0
	for _, given := range []bool{c.URL != "", c.Server != nil, c.Conn != nil} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return c, fmt.Errorf("durable: open: Config has %d of URL, Server and Conn, want exactly one", ways)
	case c.Conn != nil && len(c.NATS) > 0:
		return c, fmt.Errorf("durable: open: Config.NATS is for a connection that Open makes, and Config.Conn is one already")
	case !validName.MatchString(c.Name):
		return c, fmt.Errorf("durable: open: Config.Name is %q, want 1 to 64 letters, digits, - or _", c.Name)
	case c.Replicas < 0 || c.Replicas > 5:
		return c, fmt.Errorf("durable: open: Config.Replicas is %d, want 1 to 5 (odd numbers make sense)", c.Replicas)
	case c.Lease != 0 && c.Lease < time.Second:
		return c, fmt.Errorf("durable: open: Config.Lease is %v, want at least 1s", c.Lease)
	case c.KeepDead < 0 || c.Grace < 0 || c.MaxPayload < 0 || c.Duplicates < 0:
		return c, fmt.Errorf("durable: open: Config has KeepDead %v, Grace %v, MaxPayload %d, Duplicates %v: none may be negative",
			c.KeepDead, c.Grace, c.MaxPayload, c.Duplicates)
	case c.KeepDead != 0 && c.KeepDead < time.Second:
		return c, fmt.Errorf("durable: open: Config.KeepDead is %v, want at least 1s, or 0 for no end", c.KeepDead)
	case c.MaxDeliveries != 0 && c.MaxDeliveries < 2:
		return c, fmt.Errorf("durable: open: Config.MaxDeliveries is %d, want at least 2: one worker may die of something else", c.MaxDeliveries)
	}
	if c.Policy == (retry.Policy{}) {
		c.Policy = retry.Default
	}
	orDefault(&c.Replicas, 1)
	orDefault(&c.Lease, 30*time.Second)
	if c.Duplicates == 0 {
		c.Duplicates = max(2*time.Minute, 4*c.Lease)
	}
	if c.Duplicates < c.Lease {
		return c, fmt.Errorf("durable: open: Config.Duplicates is %v, want at least one Lease (%v)", c.Duplicates, c.Lease)
	}
	orDefault(&c.MaxDeliveries, 20)
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
