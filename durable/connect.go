package durable

import (
	"context"
	"errors"
	"fmt"
	"net"
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
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			c.Logger.Warn("connection lost, reconnecting", "queue", c.Name, "error", err)
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.Logger.Info("connection is back", "queue", c.Name, "server", nc.ConnectedUrlRedacted())
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
	dialer := &rememberingDialer{Dialer: net.Dialer{Timeout: nats.DefaultTimeout}}
	options = append([]nats.Option{nats.SetCustomDialer(dialer)}, options...)
	nc, err := nats.Connect(c.URL, options...)
	if err != nil {
		// "No servers available" is true, and says nothing: why the last dial failed does.
		if last := dialer.lastError(); last != nil && errors.Is(err, nats.ErrNoServers) {
			err = fmt.Errorf("%w: %w", err, last)
		}
		return nil, false, explain("open: connect to "+redact(c.URL), err)
	}
	return nc, true, nil
}

// rememberingDialer keeps the error of the last dial.
type rememberingDialer struct {
	net.Dialer
	mu  sync.Mutex
	err error
}

// Dial dials.
func (d *rememberingDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := d.Dialer.Dial(network, address)
	d.mu.Lock()
	d.err = err
	d.mu.Unlock()
	return conn, err
}

func (d *rememberingDialer) lastError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}
