package durable

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// connect returns the connection that c asks for, and whether Close is to close it.
func connect(ctx context.Context, c Config) (*nats.Conn, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, fmt.Errorf("durable: open: %w", context.Cause(ctx))
	}
	if c.Conn != nil {
		if c.Conn.IsClosed() {
			return nil, false, explain("open", nats.ErrConnectionClosed)
		}
		return c.Conn, false, nil
	}
	options := append([]nats.Option{
		nats.Name("retrywhen queue " + c.Name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(200*time.Millisecond, 500*time.Millisecond),
		nats.PingInterval(10 * time.Second),
		nats.ReconnectBufSize(-1), // what is sent without a connection fails: a Put that failed must not be sent later
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil is Close's
				c.Logger.Warn("connection lost, reconnecting", "queue", c.Name, "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.Logger.Info("connection is back", "queue", c.Name, "server", redact(nc.ConnectedUrl()))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.Logger.Warn("the server complains", "queue", c.Name, "error", err)
		}),
	}, c.NATS...)
	if c.Server != nil {
		nc, err := c.Server.Connect(options...)
		if err != nil {
			return nil, false, explain("open: connect to the server given", err)
		}
		return nc, true, nil
	}
	if err := checkURLs(c.URL); err != nil {
		return nil, false, err
	}
	dialer := &rememberingDialer{Dialer: net.Dialer{Timeout: nats.DefaultTimeout}, ctx: ctx}
	options = append([]nats.Option{nats.SetCustomDialer(dialer)}, options...)
	nc, err := nats.Connect(c.URL, options...)
	dialer.release()
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		// "No servers available" is true, and says nothing: why the last dial failed does.
		if last := dialer.lastError(); last != nil && errors.Is(err, nats.ErrNoServers) {
			err = fmt.Errorf("%w: %w", err, last)
		}
		return nil, false, explain("open: connect to "+redact(c.URL), err)
	}
	return nc, true, nil
}

// serverVersion returns the version of the server, and waits for the connection when there is none at the moment: to
// take its server for an old one would make a queue without schedules.
func serverVersion(ctx context.Context, nc *nats.Conn) (string, error) {
	for {
		if version := nc.ConnectedServerVersion(); version != "" {
			return version, nil
		}
		if nc.IsClosed() {
			return "", nats.ErrConnectionClosed
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%w: %w", nats.ErrDisconnected, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// canSchedule reports whether a server of that version has message schedules.
func canSchedule(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major > 2 || major == 2 && minor >= 12)
}

// rememberingDialer keeps the error of the last dial. Until release its context ends what it dials, and what it has
// dialled: a server may accept, and then say nothing.
type rememberingDialer struct {
	net.Dialer
	mu  sync.Mutex
	ctx context.Context
	off []func() bool // undo what ends connections with ctx
	err error
}

// Dial dials.
func (d *rememberingDialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	ctx := d.ctx
	d.mu.Unlock()
	conn, err := d.DialContext(ctx, network, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	if err == nil && d.ctx.Done() != nil {
		d.off = append(d.off, context.AfterFunc(d.ctx, func() { conn.Close() }))
	}
	return conn, err
}

// release has the connection, and later dials to connect again, go on without the context.
func (d *rememberingDialer) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx = context.Background()
	for _, off := range d.off {
		off()
	}
	d.off = nil
}

func (d *rememberingDialer) lastError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}
