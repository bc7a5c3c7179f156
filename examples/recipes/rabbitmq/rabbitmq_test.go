package rabbitmq_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/rabbitmq"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

const heartbeat = 10 * time.Second

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// dial connects to the broker. amqp.DialConfig takes no context, so the connection is closed when ctx ends, also amid
// the handshake, whose deadline amqp091-go removes.
func dial(d dialer) func(context.Context) (*amqp.Connection, error) {
	return func(ctx context.Context) (*amqp.Connection, error) {
		return amqp.DialConfig("amqp://guest:guest@127.0.0.1:5672/", amqp.Config{Heartbeat: heartbeat, Dial: func(network, address string) (net.Conn, error) {
			conn, err := d(ctx, network, address)
			if err != nil {
				return nil, err
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			return conn, conn.SetDeadline(time.Now().Add(2 * heartbeat))
		}})
	}
}

var reconnect = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfterItems(1))

// connecting is the policy of the connection that all share.
var connecting = reconnect.With(retry.AttemptTimeout(2 * heartbeat))

func number(d rabbitmq.Delivery) int { return int(binary.BigEndian.Uint32(d.Body)) }

// The recipe comes back from every break of its connection, before and in the middle of each of the broker's writes.
func TestConsume_ComesBack(t *testing.T) {
	serve := func(ctx context.Context, l net.Listener) {
		b, running := &broker{}, sync.WaitGroup{}
		defer running.Wait()
		defer context.AfterFunc(ctx, func() { _ = l.Close(); b.cut() })()
		running.Go(func() {
			for n := 1; n <= 12 && ctx.Err() == nil; n++ {
				time.Sleep(100 * time.Millisecond)
				b.publish(n, n)
			}
		})
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				b.serve(t, conn)
			})
		}
	}
	reconnecttest.Check(t, func() reconnecttest.Run[int] {
		return reconnecttest.Run[int]{Serve: serve, Client: func(ctx context.Context, d reconnecttest.Dial, got func(int)) error {
			handle := func(context.Context, rabbitmq.Delivery) error { return nil }
			links := rabbitmq.Connect(dial(d), connecting)
			defer links.Close()
			jobs := rabbitmq.Consume(links, "jobs", 2*heartbeat, 2, reconnect, retry.Default, handle)
			return jobs.ForEach(ctx, func(d rabbitmq.Delivery) { got(number(d)) })
		}}
	}, reconnecttest.AtLeastOnce(), reconnecttest.AnyOrder())
}

// An outage ends when the client consumes, although the queue is empty.
func TestConsume_Idle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, serving := &broker{}, sync.WaitGroup{}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		connections := 0
		network := func(context.Context, string, string) (net.Conn, error) {
			if connections++; connections == 1 {
				return nil, errors.New("connection refused")
			}
			client, server := net.Pipe()
			serving.Go(func() { b.serve(t, server) })
			return client, nil
		}
		p := reconnect.With(retry.OnWorks(func(context.Context, int) { stop() }))
		links := rabbitmq.Connect(dial(network), connecting)
		defer links.Close()
		_, err := rabbitmq.Consume(links, "jobs", 2*heartbeat, 1, p, retry.Default, nil).Collect(ctx)
		if b.cut(); !errors.Is(err, context.Canceled) {
			t.Errorf("not recovered: %v", err)
		}
		serving.Wait()
	})
}

// The connection breaks while handlers run and wait for their retries. No handler is called for a message that another
// consumer may have, only what always fails is rejected, and only what was acknowledged in a silence has a second
// effect.
func TestConsume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, workers = 300, 4
		b, serving := &broker{}, sync.WaitGroup{}
		b.publish(1, n)
		network := func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			serving.Go(func() { b.serve(t, server) })
			return client, nil
		}
		var mu sync.Mutex
		calls, effects, late := map[int]int{}, map[int]int{}, 0
		handle := func(ctx context.Context, d rabbitmq.Delivery) error {
			if ctx.Err() != nil {
				mu.Lock()
				late++
				mu.Unlock()
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			mu.Lock()
			defer mu.Unlock()
			switch calls[number(d)]++; {
			case number(d)%100 == 0:
				return errors.New("always fails")
			case number(d)%7 == 0 && calls[number(d)] < 3:
				return errors.New("not now")
			}
			effects[number(d)]++
			return nil
		}
		each := retry.New(backoff.Constant(100*time.Millisecond), retry.Limit(2))
		breaks, silences := 0, 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		serving.Go(func() {
			for ; b.settled() < n; breaks++ {
				for !b.consumed() {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(650 * time.Millisecond) // no handler ends at this instant, so no acknowledgement is lost
				if breaks%3 == 2 {
					silences++
					b.silence()
				} else {
					b.cut()
				}
			}
			cancel()
		})
		links := rabbitmq.Connect(dial(network), connecting)
		err := rabbitmq.Consume(links, "jobs", 2*heartbeat, workers, reconnect, each, handle).ForEach(ctx, func(rabbitmq.Delivery) {})
		links.Close()
		b.cut()
		serving.Wait()
		again := 0
		for i := 1; i <= n; i++ {
			switch {
			case i%100 == 0 && effects[i] > 0, i%100 != 0 && effects[i] == 0:
				t.Errorf("%d has had %d effects", i, effects[i])
			case effects[i] > 1:
				again++
			}
		}
		if !errors.Is(err, context.Canceled) || late > 0 || len(b.dead) != n/100 || again > silences*2*workers || breaks < 5 {
			t.Errorf("%v; %d late calls; %d effects repeated in %d breaks, %d of them silent; rejected: %v", err, late, again, breaks, silences, b.dead)
		}
	})
}

// Eight publishers, and then a consumer, share one connection that breaks: each message is handled, and there is no
// connection but one after each break.
func TestPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const publishers, each = 8, 50
		b, serving := &broker{}, sync.WaitGroup{}
		connections := 0
		network := func(context.Context, string, string) (net.Conn, error) {
			connections++
			client, server := net.Pipe()
			serving.Go(func() { b.serve(t, server) })
			return client, nil
		}
		links := rabbitmq.Connect(dial(network), connecting)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var publishing sync.WaitGroup
		for p := range publishers {
			publishing.Go(func() {
				for n := range each {
					m := amqp.Publishing{Body: binary.BigEndian.AppendUint32(nil, uint32(p*each+n))}
					err := retry.Run(ctx, reconnect, func(ctx context.Context) error { return rabbitmq.Publish(ctx, links, "", "jobs", m) })
					if err != nil {
						t.Error(err)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		seen, breaks := map[int]bool{}, 0
		publishing.Go(func() {
			for ; breaks < 3; breaks++ {
				time.Sleep(1234 * time.Millisecond)
				b.cut()
			}
		})
		publishing.Wait()
		err := rabbitmq.Consume(links, "jobs", 2*heartbeat, 4, reconnect, reconnect, func(context.Context, rabbitmq.Delivery) error { return nil }).
			ForEach(ctx, func(d rabbitmq.Delivery) {
				if seen[number(d)] = true; len(seen) == publishers*each {
					cancel()
				}
			})
		links.Close()
		b.cut()
		serving.Wait()
		if !errors.Is(err, context.Canceled) || len(seen) != publishers*each || connections > 1+breaks {
			t.Errorf("%d messages, %d connections for %d breaks: %v", len(seen), connections, breaks, err)
		}
	})
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program has the effect of a delivery in its handler, before the acknowledgement.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	connect := func(ctx context.Context) (*amqp.Connection, error) {
		return dial(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, args[0])
		})(ctx)
	}
	links := rabbitmq.Connect(connect, connecting)
	defer links.Close()
	jobs := rabbitmq.Consume(links, "jobs", 2*heartbeat, 2, reconnect, retry.Default, func(_ context.Context, d rabbitmq.Delivery) error {
		e.Apply(nil, number(d))
		return nil
	})
	return jobs.TakeWhile(func(rabbitmq.Delivery) bool { return len(e.Counts()) < 300 }).ForEach(ctx, func(rabbitmq.Delivery) {})
}

func TestConsume_Killed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	b := &broker{}
	b.publish(1, 300)
	defer check.Accept(l, func(c net.Conn) { b.serve(t, c) })()
	defer l.Close()
	killed.Check(t, "RabbitMQ", 10, 25, 300, "10 to 40", l.Addr().String())
}
