package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// silence is how long the collector may take to acknowledge.
const silence = 5 * time.Second

// shipper ships its lines to the collector, in order. A line is removed when the collector has acknowledged it.
type shipper struct {
	addr        string
	lines       []string
	connections int
}

// shipLoop ships all lines, over as many connections as it takes. The loop keeps the state; the backoff has none.
func (s *shipper) shipLoop(done, reset <-chan struct{}) error {
	for attempt := 0; ; attempt++ {
		select {
		case <-done:
			return fmt.Errorf("stopped with %d lines to ship", len(s.lines))
		case <-reset:
			attempt = 0
		case <-time.After(backoff.Default.Delay(attempt)):
		}
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			continue
		}
		attempt = 0
		if s.ship(conn, done) == nil {
			return nil
		}
	}
}

// shipAttempts does the same with a policy. It gives up when the policy does, it does not wait past ctx's deadline, and
// its error has the cause.
func (s *shipper) shipAttempts(ctx context.Context, policy retry.Policy) error {
	for a, err := range policy.Attempts(ctx) {
		if err != nil {
			return fmt.Errorf("stopped with %d lines to ship: %w", len(s.lines), err)
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		if err != nil {
			a.Fail(err)
			continue
		}
		a.Reset()
		a.Fail(s.ship(conn, ctx.Done()))
	}
	return nil
}

var (
	errStopped         = errors.New("stopped")
	errNotAcknowledged = errors.New("the collector sent no acknowledgement")
)

// ship sends line after line over one connection, and waits until each is acknowledged. A collector that sends nothing
// within silence counts as dead.
func (s *shipper) ship(conn net.Conn, done <-chan struct{}) error {
	defer conn.Close()
	s.connections++
	in := bufio.NewReader(conn)
	for len(s.lines) > 0 {
		select {
		case <-done:
			return errStopped
		default:
		}
		conn.SetDeadline(time.Now().Add(silence))
		if _, err := fmt.Fprintf(conn, "%s\n", s.lines[0]); err != nil {
			return err
		}
		response, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		if response != "have "+s.lines[0]+"\n" {
			return fmt.Errorf("%w: %q", errNotAcknowledged, response)
		}
		s.lines = s.lines[1:]
	}
	return nil
}
