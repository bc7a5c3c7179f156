package kafkagroup_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/kafkagroup"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

const partitions = 3

// serve starts a broker with a topic of the numbers 1 to n, in turn in each partition.
func serve(t *testing.T, n int) *kfake.Cluster {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "orders"), kfake.GroupMinSessionTimeout(time.Second))
	check.Must(t, err)
	t.Cleanup(broker.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...), kgo.DefaultProduceTopic("orders"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	check.Must(t, err)
	defer client.Close()
	for i := 1; i <= n; i++ {
		r := &kgo.Record{Partition: int32(i % partitions), Value: []byte(strconv.Itoa(i))}
		check.Must(t, client.ProduceSync(t.Context(), r).FirstErr())
	}
	return broker
}

// group are the options of a member, which connects by address, whatever the broker says where it is.
func group(address string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(address), kgo.ConsumerGroup("shop"), kgo.HeartbeatInterval(50 * time.Millisecond),
		kgo.RequestTimeoutOverhead(time.Second), kgo.FetchMaxWait(100 * time.Millisecond), kgo.SessionTimeout(2 * time.Second), kgo.RebalanceTimeout(2 * time.Second),
		kgo.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}),
	}
}

// committed returns the sum of the offsets that the group has committed.
func committed(broker *kfake.Cluster) (sum int64) {
	for _, c := range broker.GroupInfo("shop").Commits["orders"] {
		sum += c.Offset
	}
	return sum
}

var patience = retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))

// effects counts what was done for each record. It is safe for concurrent use.
type effects struct {
	mu    sync.Mutex
	times map[string]int
	all   chan struct{} // closed when each of want has been done
	want  int
}

func expect(n int) *effects {
	return &effects{times: map[string]int{}, all: make(chan struct{}), want: n}
}

func (e *effects) done(r *kgo.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.times[string(r.Value)]++; len(e.times) == e.want && e.times[string(r.Value)] == 1 {
		close(e.all)
	}
}

// Members come and go, connections break, each tenth record fails twice: each record has its effect, and what has none is
// not committed.
func TestWork(t *testing.T) {
	const n = 300
	broker := serve(t, n)
	network := proxy.Start(t, broker.ListenAddrs()[0])
	effects := expect(n)
	fault := network.Each()
	work := func(ctx context.Context) error {
		attempts := map[string]int{}
		return kafkagroup.Worker{
			Topic: "orders",
			Handle: func(ctx context.Context, r *kgo.Record) error {
				if k := string(r.Value); k[len(k)-1] == '0' && attempts[k] < 2 {
					attempts[k]++
					return errors.New("the database is busy")
				}
				time.Sleep(2 * time.Millisecond)
				effects.done(r)
				return nil
			},
			Bury:      func(_ context.Context, r *kgo.Record, err error) error { return fmt.Errorf("%s: %w", r.Value, err) },
			Patience:  retry.New(backoff.Constant(5*time.Millisecond), retry.Limit(1000)), // commits fail too
			Reconnect: proxy.Policy,
		}.Work(ctx, group(network.Address())...)
	}
	ctx, stop := context.WithCancel(t.Context())
	var members sync.WaitGroup
	members.Go(func() {
		if err := work(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	for running := true; running; {
		guest, leave := context.WithTimeout(ctx, 300*time.Millisecond)
		members.Go(func() { _ = work(guest) })
		select {
		case <-effects.all:
			running = false
		case <-guest.Done():
			fault()
		}
		leave()
	}
	stop()
	members.Wait()
	if got := committed(broker); got > n || got < n-20 {
		t.Errorf("%d records are committed, of %d", got, n)
	}
}

// A partition that goes to another member ends the handler's context. Its record was not committed, and comes again.
func TestWork_Rebalance(t *testing.T) {
	broker := serve(t, partitions)
	address := broker.ListenAddrs()[0]
	ended, effects := make(chan error, 1), expect(partitions)
	ctx, stop := context.WithCancel(t.Context())
	var members sync.WaitGroup
	member := func(handle func(context.Context, *kgo.Record) error) {
		members.Go(func() {
			err := kafkagroup.Worker{Topic: "orders", Handle: handle, Patience: patience, Reconnect: proxy.Policy,
				Bury: func(_ context.Context, r *kgo.Record, err error) error {
					t.Errorf("%s is buried: %v", r.Value, err)
					return nil
				}}.Work(ctx, append(group(address), kgo.Balancers(kgo.RangeBalancer()))...)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	began, hung := make(chan struct{}), false
	member(func(ctx context.Context, r *kgo.Record) error {
		if !hung { // the first record hangs until its partition goes
			hung = true
			close(began)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		}
		effects.done(r)
		return nil
	})
	<-began
	member(func(_ context.Context, r *kgo.Record) error { effects.done(r); return nil })
	if err := <-ended; !errors.Is(err, kafkagroup.ErrRevoked) {
		t.Errorf("the handler's context ended with %v", err)
	}
	<-effects.all
	stop()
	members.Wait()
}

// A record that fails goes to the dead letters, and the others go on.
func TestWork_DeadLetter(t *testing.T) {
	broker := serve(t, 30)
	attempts, handled := 0, 0
	var buried []string
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := kafkagroup.Worker{
		Topic: "orders",
		Handle: func(_ context.Context, r *kgo.Record) error {
			if string(r.Value) == "7" {
				attempts++
				return errors.New("no such customer")
			}
			if handled++; handled == 29 && len(buried) == 1 {
				stop()
			}
			return nil
		},
		Bury: func(_ context.Context, r *kgo.Record, err error) error {
			if !errors.Is(err, retry.ErrLimit) {
				t.Error(err)
			}
			if buried = append(buried, string(r.Value)); handled == 29 {
				stop()
			}
			return nil
		},
		Patience:  patience,
		Reconnect: proxy.Policy,
	}.Work(ctx, group(broker.ListenAddrs()[0])...)
	if !errors.Is(err, context.Canceled) || attempts != 4 || !slices.Equal(buried, []string{"7"}) {
		t.Errorf("%v, %d attempts, buried %v", err, attempts, buried)
	}
}
