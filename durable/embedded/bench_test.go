package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/retry"
)

// BenchmarkHappyPath puts, receives and acknowledges jobs with a bare JetStream client and with a Queue, in turns on
// one server. It reports the jobs per second of each, and the ratio. Both publish from 16 goroutines, wait for each
// response, and consume at the same time in 4 goroutines. The context can be cancelled. Without ids, the Queue
// generates ids, and the bare client uses de-duplication ids. With ids, the server stores the ids of the Queue's
// jobs when they are done; it remembers those of the bare client for two minutes, unless it is restarted.
func BenchmarkHappyPath(b *testing.B) {
	for _, named := range []bool{false, true} {
		b.Run(map[bool]string{false: "WithoutIDs", true: "WithIDs"}[named], func(b *testing.B) {
			const jobs = 20_000
			srv := start(b)
			var bare, queue time.Duration
			n := 0
			for b.Loop() {
				n++
				bare += happyBare(b, srv, "bare"+strconv.Itoa(n), jobs)
				queue += happyQueue(b, srv, "queue"+strconv.Itoa(n), jobs, named)
			}
			b.ReportMetric(float64(n*jobs)/bare.Seconds(), "bare/s")
			b.ReportMetric(float64(n*jobs)/queue.Seconds(), "queue/s")
			b.ReportMetric(bare.Seconds()/queue.Seconds(), "ratio")
		})
	}
}

var payload = make([]byte, 200)

// inParallel calls f for 0 to n-1 from 16 goroutines.
func inParallel(n int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

func happyBare(b *testing.B, srv *embedded.Server, name string, jobs int) time.Duration {
	nc, err := srv.Connect()
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, Retention: jetstream.WorkQueuePolicy})
	if err != nil {
		b.Fatal(err)
	}
	defer js.DeleteStream(context.Background(), name)
	c, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1})
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	done := make(chan struct{})
	var n atomic.Int64
	for range 4 {
		consuming, err := c.Consume(func(m jetstream.Msg) {
			if err := m.Ack(); err != nil {
				b.Error(err)
			}
			if n.Add(1) == int64(jobs) {
				close(done)
			}
		})
		if err != nil {
			b.Fatal(err)
		}
		defer consuming.Stop()
	}
	inParallel(jobs, func(i int) {
		m := nats.NewMsg(name + ".job")
		m.Data = payload
		if _, err := js.PublishMsg(ctx, m, jetstream.WithMsgID(name+strconv.Itoa(i))); err != nil {
			b.Error(err)
		}
	})
	<-done
	return time.Since(began)
}

func happyQueue(b *testing.B, srv *embedded.Server, name string, jobs int, named bool) time.Duration {
	q, err := durable.Open(context.Background(), connect(b, srv), durable.Config{Name: name})
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	ctx, cancel := context.WithCancel(context.Background())
	began := time.Now()
	done := make(chan struct{})
	var n atomic.Int64
	go q.Work(ctx, 4, func(context.Context, *durable.Job) error {
		if n.Add(1) == int64(jobs) {
			close(done)
		}
		return nil
	})
	inParallel(jobs, func(i int) {
		var options []durable.PutOption
		if named {
			options = []durable.PutOption{durable.PutID(name + strconv.Itoa(i))}
		}
		if _, err := q.Put(ctx, payload, options...); err != nil {
			b.Error(err)
		}
	})
	<-done
	took := time.Since(began)
	cancel()
	return took
}

// BenchmarkPut calls Put sequentially, with the default and with SyncAlways.
func BenchmarkPut(b *testing.B) {
	for _, c := range []struct {
		name    string
		options []embedded.Option
	}{{"default", nil}, {"SyncAlways", []embedded.Option{embedded.SyncAlways()}}} {
		b.Run(c.name, func(b *testing.B) {
			q := open(b, start(b, c.options...), durable.Config{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := q.Put(b.Context(), payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPutBesideABareClient puts from 16 goroutines, in turns with publications of a bare JetStream client. It reports
// how many times as long as those the Puts take, by the medians of the turns, and how many times the bare client takes that
// publishes the message of a Put with an id: its subject, its headers and the server's check that the id is free.
func BenchmarkPutBesideABareClient(b *testing.B) {
	srv := start(b)
	q := open(b, srv, durable.Config{})
	js, err := jetstream.New(connect(b, srv))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "bare", Subjects: []string{"bare.>"}, Retention: jetstream.WorkQueuePolicy}); err != nil {
		b.Fatal(err)
	}
	publish := func(subject string, header nats.Header) error {
		_, err := js.PublishMsg(b.Context(), &nats.Msg{Subject: subject, Data: payload, Header: header})
		return err
	}
	n := 0
	turns := []struct {
		name string
		f    func(i int) error
		took []time.Duration
	}{
		{"", func(int) error { return publish("bare.job", nil) }, nil},
		{"put/bare", func(int) error { _, err := q.Put(b.Context(), payload); return err }, nil},
		{"named/bare", func(i int) error {
			_, err := q.Put(b.Context(), payload, durable.PutID(fmt.Sprint(n, "-", i)))
			return err
		}, nil},
		{"same/bare", func(i int) error {
			id := fmt.Sprint("bare.job.", n, "-", i, ".")
			return publish(id+"first", nats.Header{"Retrywhen-Put": {time.Now().UTC().Format(time.RFC3339Nano)},
				"Nats-Expected-Last-Subject-Sequence": {"0"}, "Nats-Expected-Last-Subject-Sequence-Subject": {id + "*"}})
		}, nil},
	}
	for b.Loop() {
		n++
		for k := range turns {
			began := time.Now()
			inParallel(400, func(i int) {
				if err := turns[k].f(i); err != nil {
					b.Error(err)
				}
			})
			turns[k].took = append(turns[k].took, time.Since(began))
		}
	}
	for k := range turns {
		slices.Sort(turns[k].took)
	}
	for _, turn := range turns[1:] {
		b.ReportMetric(float64(turn.took[len(turn.took)/2])/float64(turns[0].took[n/2]), turn.name)
	}
}

// BenchmarkRetries measures how many failures are stored per second. Each job fails once, and the server keeps the
// wait.
func BenchmarkRetries(b *testing.B) {
	const jobs = 10_000
	srv := start(b)
	var took time.Duration
	n := 0
	for b.Loop() {
		n++
		q := open(b, srv, durable.Config{Name: "retries" + strconv.Itoa(n), Policy: retry.New(backoff.Constant(time.Hour))})
		inParallel(jobs, func(i int) { put(b, q, "") })
		began := time.Now()
		stop := work(b, q, 64, func(context.Context, *durable.Job) error { return errors.New("no") })
		eventually(b, "all have failed", func() bool { s, err := stats(b, q); return err == nil && s.Later == jobs })
		took += time.Since(began)
		stop()
		if err := q.Delete(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*jobs)/took.Seconds(), "failures/s")
}
