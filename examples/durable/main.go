// Durable puts jobs into a durable queue. It kills and restarts the worker process twice, and shows at the end that no
// job is lost: put = done + dead. Then the HTTP server that the jobs call is repaired, and the dead letters that it
// caused are put back into the queue.
//
//	go run ./examples/durable
//
// The NATS server runs in this process, in a temporary folder; durable.Open takes a connection to any server or
// cluster. Each job is a call to an HTTP server that is often unavailable, sometimes sets a Retry-After, and refuses
// some orders permanently. The program exits with 1 if the numbers do not add up.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/examples/internal/program"
)

func main() {
	if len(os.Args) == 5 && os.Args[1] == "worker" { // the program starts itself
		program.Main("durable", nil, func(ctx context.Context, _ io.Writer) error {
			return work(ctx, os.Args[2], os.Args[3], os.Args[4])
		})
	}
	program.Main("durable", os.Args[1:], func(ctx context.Context, out io.Writer) error { return run(ctx, 5000, out) })
}

// kills is how often the worker is killed.
const kills = 2

// run puts the jobs, runs and kills worker processes, and checks the numbers.
func run(ctx context.Context, jobs int, out io.Writer) error {
	url, close, err := serve(out)
	if err != nil {
		return err
	}
	defer close()
	name := "example-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer nc.Close()
	q, err := durable.Open(ctx, nc, durable.Config{Name: name, Policy: policy, Lease: lease})
	if err != nil {
		return err
	}
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		q.Delete(cleanup)
	}()
	shop, err := openShop()
	if err != nil {
		return err
	}
	defer shop.close()
	fmt.Fprintf(out, "policy   %v, lease %v\n", policy, lease)

	r := &running{jobs: jobs, url: url, name: name, queue: q, shop: shop, out: out}
	if err := r.drain(ctx); err != nil {
		return err
	}
	if err := ledger(ctx, q, shop, int(r.put.Load()), out); err != nil {
		return err
	}
	if err := r.redrive(ctx); err != nil {
		return err
	}
	return ledger(ctx, q, shop, int(r.put.Load()), out)
}

// redrive puts the dead letters back that may succeed now, and returns when the queue is empty.
func (r *running) redrive(ctx context.Context) (err error) {
	r.shop.repaired.Store(true)
	n, err := r.queue.ReviveAll(ctx, func(letter *durable.DeadLetter) bool { return letter.Cause != "permanent" })
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "redrive  the shop is repaired; %d dead letters are put back\n", n)
	if r.worker, err = startWorker(r.url, r.name, r.shop.url); err != nil {
		return err
	}
	defer func() { r.worker.kill() }()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		stats, err := r.queue.Stats(ctx)
		if err != nil {
			return err
		}
		if stats.Ready+stats.Running+stats.Later == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// serve starts a server in this process and returns its URL. The server listens on 127.0.0.1, because the worker is
// another process.
func serve(out io.Writer) (url string, close func(), err error) {
	dir, err := os.MkdirTemp("", "retrywhen-durable-")
	if err != nil {
		return "", nil, err
	}
	server, err := embedded.Start(dir, embedded.Listen(0))
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	fmt.Fprintf(out, "server   in this process, %s, store in %s\n", server.URL(), dir)
	return server.URL(), func() {
		server.Close()
		os.RemoveAll(dir)
	}, nil
}

// running is a run in progress.
type running struct {
	jobs  int
	url   string
	name  string
	queue *durable.Queue
	shop  *shop
	out   io.Writer

	put    atomic.Int64
	worker *worker
	killed int // the number of workers killed so far
}

// drain puts all jobs and returns when the queue is empty.
func (r *running) drain(ctx context.Context) (err error) {
	if r.worker, err = startWorker(r.url, r.name, r.shop.url); err != nil {
		return err
	}
	defer func() { r.worker.kill() }()
	putting := make(chan error, 1)
	go func() { putting <- putAll(ctx, r.queue, r.jobs, &r.put) }()
	look, show := time.NewTicker(250*time.Millisecond), time.NewTicker(time.Second)
	defer look.Stop()
	defer show.Stop()
	allPut := false
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-putting:
			if err != nil {
				return err
			}
			allPut = true
		case err := <-r.worker.ended:
			if ctx.Err() != nil { // Ctrl-C reaches the worker too
				return context.Cause(ctx)
			}
			return fmt.Errorf("the worker ended unexpectedly: %w", errors.Join(err, errors.New("see above")))
		case <-look.C:
		}
		stats, err := r.queue.Stats(ctx)
		if err != nil {
			return err
		}
		select {
		case <-show.C:
			r.show(stats)
		default:
		}
		if err := r.crash(r.shop.done() + stats.Dead); err != nil {
			return err
		}
		if allPut && stats.Ready+stats.Running+stats.Later == 0 {
			return nil
		}
	}
}

func (r *running) show(stats durable.Stats) {
	fmt.Fprintf(r.out, "         put %5d   done %5d   ready %5d   running %4d   later %5d   dead %4d   calls %6d\n",
		r.put.Load(), r.shop.done(), stats.Ready, stats.Running, stats.Later, stats.Dead, r.shop.calls.Load())
}

// crash kills the worker and starts another each time that the next part of the jobs is settled.
func (r *running) crash(settled int) (err error) {
	if r.killed >= kills || settled < r.jobs*(r.killed+1)/(kills+1) {
		return nil
	}
	r.killed++
	r.worker.kill()
	fmt.Fprintf(r.out, "kill %d   the worker, at %d of %d jobs; starting another\n", r.killed, settled, r.jobs)
	next, err := startWorker(r.url, r.name, r.shop.url)
	if err == nil {
		r.worker = next
	}
	return err
}

// putAll puts the orders 1 to n.
func putAll(ctx context.Context, q *durable.Queue, n int, put *atomic.Int64) error {
	var (
		next     atomic.Int64
		all      sync.WaitGroup
		once     sync.Once
		firstErr error
	)
	for range 8 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				id := "order-" + strconv.FormatInt(i, 10)
				kind := ordinary
				if i%10 == 0 {
					kind = express
				}
				_, err := q.Put(ctx, []byte(id), durable.PutID(id), durable.PutKind(kind), durable.PutHeader("X-Trace", "trace-"+id))
				if err != nil && !errors.Is(err, durable.ErrExists) {
					once.Do(func() { firstErr = err })
					return
				}
				put.Add(1)
			}
		})
	}
	all.Wait()
	return firstErr
}

// ledger checks that each job that was put is either done or dead, and prints the numbers.
func ledger(ctx context.Context, q *durable.Queue, shop *shop, put int, out io.Writer) error {
	causes := make(map[string]int)
	dead, both := 0, 0
	for d, err := range q.Dead().All(ctx) {
		if err != nil {
			return err
		}
		dead++
		causes[d.Cause]++
		if shop.has(d.ID) {
			both++
		}
	}
	done := shop.done()
	var why []string
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		why = append(why, fmt.Sprintf("%s %d", cause, causes[cause]))
	}
	fmt.Fprintf(out, "ledger   put %d = done %d + dead %d (%s); %d calls, %d of them for orders that were done already\n",
		put, done, dead, strings.Join(why, ", "), shop.calls.Load(), shop.repeated.Load())
	if put != done+dead || both > 0 {
		return fmt.Errorf("the numbers do not add up: put %d, done %d, dead %d, both %d", put, done, dead, both)
	}
	return nil
}
