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

// shipper ships its lines to the collector, in order. A line is forgotten when the collector has acknowledged it.
type shipper struct {
	addr        string
	lines       []string
	connections int
}

// shipLoop keeps a connection to the collector until all is shipped. The function looks like what it does: the backoff
// keeps no state, the loop does.
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

// shipAttempts does the same, with a policy in place of the arithmetic. It gives up when its policy does, it never
// sleeps past ctx's deadline, and its error says why.
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
	errStopped     = errors.New("stopped")
	errWrongAnswer = errors.New("the collector sent no acknowledgment")
)

// ship sends line after line over one connection, and waits for the collector to have each. A collector that says
// nothing is as good as dead.
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
		answer, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		if answer != "have "+s.lines[0]+"\n" {
			return fmt.Errorf("%w: %q", errWrongAnswer, answer)
		}
		s.lines = s.lines[1:]
	}
	return nil
}
