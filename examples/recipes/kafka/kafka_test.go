package kafka_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/internal/ledger"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/kafka"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the position after each record with its effect, and is killed amid fetches.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	var at kafka.Position
	e.Start(&at)
	return follow(args[0], at, proxy.Policy).TakeWhile(func(fetches kgo.Fetches) bool {
		fetches.EachRecord(func(r *kgo.Record) {
			at[r.Partition] = r.Offset + 1
			n, _ := strconv.Atoi(string(r.Value))
			e.Apply(at, n)
		})
		return len(e.Counts()) < 1000
	}).ForEach(ctx, func(kgo.Fetches) {})
}

func TestFollow_Killed(t *testing.T) {
	_, address := serve(t, 1000)
	killed.Check(t, "Kafka", 10, 75, 1000, "0", address)
}

// A log may end with the control record of a transaction: the position is after it.
func TestAfter_ControlRecords(t *testing.T) {
	_, address := serve(t, 3)
	producer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("events"), kgo.TransactionalID("writer"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	check.Must(t, err)
	defer producer.Close()
	check.Must(t, producer.BeginTransaction())
	check.Must(t, producer.ProduceSync(t.Context(), &kgo.Record{Partition: 1, Value: []byte("4")}).FirstErr())
	check.Must(t, producer.EndTransaction(t.Context(), kgo.TryCommit))
	at, values := kafka.Position{}, 0
	err = follow(address, at, proxy.Policy)(t.Context(), func(fetches kgo.Fetches) bool {
		at = kafka.After(at, fetches)
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				values++
			}
		})
		return values < 4 || at[1] < 3 // the other partitions may come later
	})
	if err != nil || at != (kafka.Position{1, 3, 1}) || values != 4 {
		t.Errorf("%d values, position %v, %v", values, at, err)
	}
}

// serve starts a broker with a topic of the numbers 1 to n, in turn in each partition, and returns its address.
func serve(t *testing.T, n int) (*kfake.Cluster, string) {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(kafka.Partitions, "events"))
	check.Must(t, err)
	t.Cleanup(broker.Close)
	address := broker.ListenAddrs()[0]
	produce(t, address, 1, n)
	return broker, address
}

// produce adds the numbers first to last.
func produce(t *testing.T, address string, first, last int) {
	t.Helper()
	producer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("events"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(1<<10))
	check.Must(t, err)
	defer producer.Close()
	for i := first; i <= last; i++ {
		r := &kgo.Record{Partition: int32(i % kafka.Partitions), Value: []byte(strconv.Itoa(i))}
		producer.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	check.Must(t, producer.Flush(t.Context()))
}

// follow connects by address, whatever the broker says where it is.
func follow(address string, start kafka.Position, policy retry.Policy) stream.Stream[kgo.Fetches] {
	return kafka.Follow("events", start, 500*time.Millisecond, policy, kgo.SeedBrokers(address), kgo.FetchMaxPartitionBytes(1<<10),
		kgo.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}))
}

func number(t *testing.T, r *kgo.Record) int {
	n, err := strconv.Atoi(string(r.Value))
	if err != nil || n%kafka.Partitions != int(r.Partition) {
		t.Errorf("%q in partition %d, %v", r.Value, r.Partition, err)
	}
	return n
}

// The network cuts, falls silent and refuses, and the program stops and starts again at the position that it has
// stored: each record comes once.
func TestFollow(t *testing.T) {
	const n, every = 5000, 500
	_, address := serve(t, n)
	network := proxy.Start(t, address)
	fault, faults, stored, starts := network.Each(), 0, kafka.Position{}, 0
	silences := 0
	counting := proxy.Policy.With(retry.OnRetry(func(_ context.Context, e retry.Event) {
		if errors.Is(e.Err, stream.ErrTimeout) {
			silences++
		}
	}))
	records := ledger.Ledger{}
	for have := 0; have < n; starts++ {
		until := min(n, have+2000)
		err := follow(network.Address(), stored, counting)(t.Context(), func(fetches kgo.Fetches) bool {
			fetches.EachRecord(func(r *kgo.Record) { have = records.Enter(number(t, r)) })
			stored = kafka.After(stored, fetches)
			if have/every > faults {
				faults++
				fault()
			}
			return have < until
		})
		check.Must(t, err)
	}
	records.Check(t, 1, n)
	if starts < 2 || faults < 6 || silences == 0 {
		t.Errorf("%d starts, %d faults, %d silences, want more", starts, faults, silences)
	}
}

// What retention has deleted is lost: the program hears of it.
func TestFollow_Lost(t *testing.T) {
	broker, address := serve(t, 300)
	check.Must(t, broker.DeleteRecords("events", 1, 50))
	n := 0
	err := follow(address, kafka.Position{100, 50, 100}, proxy.Policy)(t.Context(), func(fetches kgo.Fetches) bool {
		n += fetches.NumRecords()
		return n < 50
	})
	if err != nil || n != 50 {
		t.Errorf("from 50: %d records, %v", n, err)
	}
	fetched := 0
	err = follow(address, kafka.Position{100, 20, 100}, proxy.Policy).ForEach(t.Context(), func(kgo.Fetches) { fetched++ })
	if !errors.Is(err, kerr.OffsetOutOfRange) || errors.Is(err, retry.ErrExhausted) || fetched > 0 {
		t.Errorf("%d fetches, %v", fetched, err)
	}

	// A log that does not begin at 0: from its beginning it has 250 records, at 0 it has none.
	n = 0
	err = follow(address, kafka.Position{kafka.Beginning, kafka.Beginning, kafka.Beginning}, proxy.Policy)(t.Context(), func(fetches kgo.Fetches) bool {
		n += fetches.NumRecords()
		return n < 250
	})
	if err != nil || n != 250 {
		t.Errorf("from the beginning: %d records, %v", n, err)
	}
	err = follow(address, kafka.Position{100, 0, 100}, proxy.Policy).ForEach(t.Context(), func(kgo.Fetches) { fetched++ })
	if !errors.Is(err, kerr.OffsetOutOfRange) || fetched > 0 {
		t.Errorf("at 0: %d fetches, %v", fetched, err)
	}
}

// A topic without new records is not given up: each silence is a reconnect at the same position, and ResetAfter keeps
// Limit from counting them.
func TestFollow_Idle(t *testing.T) {
	broker, address := serve(t, 3)
	silences := 0
	quiet := retry.New(backoff.Constant(time.Millisecond), retry.Limit(2), retry.ResetAfter(100*time.Millisecond), retry.OnRetry(func(context.Context, retry.Event) {
		if silences++; silences == 5 {
			produce(t, broker.ListenAddrs()[0], 4, 4)
		}
	}))
	n := 0
	err := follow(address, kafka.Position{}, quiet)(t.Context(), func(fetches kgo.Fetches) bool {
		n += fetches.NumRecords()
		return n < 4
	})
	if err != nil || n != 4 || silences < 5 {
		t.Errorf("%d records after %d silences, %v", n, silences, err)
	}
}
