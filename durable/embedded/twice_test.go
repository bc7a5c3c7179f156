package embedded_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

// mutedDialer is a dialer whose connections send nothing while its mutex is locked.
type mutedDialer struct{ sending sync.RWMutex }

func (m *mutedDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return &mutedConn{c, m}, err
}

type mutedConn struct {
	net.Conn
	m *mutedDialer
}

func (c *mutedConn) Write(b []byte) (int, error) {
	c.m.sending.RLock()
	defer c.m.sending.RUnlock()
	return c.Conn.Write(b)
}

// A worker is silent for longer than a lease, so another one gets the job. Then the first worker continues. Whatever
// both report, the job continues once.
func TestAWorkerThatWasTakenForDeadDoublesNothing(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{"retried by the server", "retried at once", "dead"} {
		{
			t.Run(outcome, func(t *testing.T) {
				t.Parallel()
				srv := start(t, embedded.Listen(0))
				delay := map[string]time.Duration{"retried by the server": 1100 * time.Millisecond}[outcome]
				policy := retry.New(backoff.Constant(delay), retry.Limit(1))
				var m mutedDialer
				// Remember has its minimum, and is over when the silent worker wakes. So the test does not depend on it.
				config := durable.Config{Policy: policy, Lease: 2 * time.Second, Remember: 2 * time.Second}
				one, two := open(t, connect(t, srv.URL(), nats.SetCustomDialer(&m)), config), open(t, srv, config)
				put(t, two, "", durable.PutID("job"))

				var attempts atomic.Int64
				begun, wake := make(chan struct{}), make(chan struct{})
				fails := func(job *durable.Job) error {
					if outcome == "dead" || job.Attempt == 1 {
						return errors.New("no")
					}
					return nil
				}
				var once sync.Once
				stopOne := work(t, one, 1, func(_ context.Context, job *durable.Job) error {
					attempts.Add(1)
					once.Do(func() { close(begun); <-wake })
					return fails(job)
				})
				<-begun
				m.sending.Lock()
				muted := true
				defer func() {
					if muted {
						m.sending.Unlock()
					}
				}()
				work(t, two, 1, func(_ context.Context, job *durable.Job) error { attempts.Add(1); return fails(job) })
				eventually(t, "the other worker has made both attempts", func() bool { return attempts.Load() == 3 })
				untilEmpty(t, two)
				time.Sleep(2200 * time.Millisecond) // Remember is over
				m.sending.Unlock()
				muted = false
				close(wake)
				// Another job shows that the silent worker is back. Then nothing may be left.
				eventually(t, "the silent worker has reported", func() bool { s, err := stats(t, one); return err == nil && s.Running == 0 })
				stopOne()
				untilEmpty(t, two)
				dead, err := two.Dead().Collect(t.Context())
				wantDead := 0
				if outcome == "dead" {
					wantDead = 1
				}
				if err != nil || len(dead) != wantDead {
					t.Errorf("%d dead letters, %v, want %d", len(dead), err, wantDead)
				}
				if n := attempts.Load(); n != 3 {
					t.Errorf("%d attempts, want 3: one by each worker, and the retry", n)
				}
			})
		}
	}
}

// The same with a worker that falls silent between storing the retry and acknowledging.
func TestARetryThatWasStoredIsNotStoredAgain(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0))
	var m mutedDialer
	// The delay is longer than a few leases, because the first worker still receives, and may get the job once more before
	// the other one does.
	policy := retry.New(backoff.Constant(5*time.Second), retry.Limit(3))
	config := durable.Config{Policy: policy, Lease: time.Second}
	two := open(t, srv, config)
	one := open(t, connect(t, srv.URL(), nats.SetCustomDialer(&m)), config)
	put(t, two, "", durable.PutID("job"))

	var attempts atomic.Int64
	silence := sync.OnceFunc(m.sending.Lock)
	stopped := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		stopped <- one.Work(ctx, 1, func(context.Context, *durable.Job) error {
			attempts.Add(1)
			return errors.New("no")
		})
	}()
	eventually(t, "the retry is stored", func() bool {
		s, err := stats(t, two)
		if err == nil && attempts.Load() > 0 && s.Later == 1 {
			silence() // before the acknowledgement or after it: both must work
			return true
		}
		return false
	})
	var numbers []int
	var mu sync.Mutex
	work(t, two, 1, func(_ context.Context, job *durable.Job) error {
		mu.Lock()
		defer mu.Unlock()
		numbers = append(numbers, job.Attempt)
		return nil
	})
	untilEmpty(t, two)
	m.sending.Unlock()
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	// The first worker still receives, so it may have had attempt 2 too.
	if attempts.Load() > 2 || len(numbers) != 1 || numbers[0] != 2 {
		t.Errorf("%d attempts by the first worker, then %v, want 1 or 2, then attempt 2", attempts.Load(), numbers)
	}
}
