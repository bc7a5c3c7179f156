// Durable puts jobs into a durable queue. It kills and restarts the worker process twice, and shows at the end that no
// job is lost: put = done + dead.
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
	"os"
	"time"

	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/examples/internal/program"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "worker" { // the program starts itself
		program.Main("durable", nil, func(ctx context.Context, _ io.Writer) error {
			return work(ctx, os.Args[2], os.Args[3])
		})
	}
	program.Main("durable", os.Args[1:], func(ctx context.Context, out io.Writer) error { return run(ctx, 5000, out) })
}

// kills is how often the worker is killed.
const kills = 2

// run puts the jobs, runs and kills worker processes, and checks the numbers.
func run(ctx context.Context, jobs int, out io.Writer) error {
	dir, err := os.MkdirTemp("", "retrywhen-durable-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := embedded.Start(dir, embedded.Listen(0)) // on 127.0.0.1, because the worker is another process
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(out, "server   in this process, %s, store in %s\n", server.URL(), dir)
	q, close, err := open(ctx, server.URL())
	if err != nil {
		return err
	}
	defer close()
	shop, err := openShop()
	if err != nil {
		return err
	}
	defer shop.close()
	fmt.Fprintf(out, "policy   %v, lease %v\n", policy, lease)

	r := &running{url: server.URL(), queue: q, shop: shop, jobs: jobs, out: out}
	if err := r.putAll(ctx); err != nil {
		return err
	}
	return errors.Join(r.work(ctx), r.ledger(ctx))
}

// running is a run in progress.
type running struct {
	url   string
	queue *durable.Queue
	shop  *shop
	jobs  int
	out   io.Writer
}

// putAll puts the orders.
func (r *running) putAll(ctx context.Context) error {
	var orders []durable.NewJob
	for i := range r.jobs {
		id := fmt.Sprint("order-", i+1)
		orders = append(orders, durable.NewJob{Data: []byte(id), Options: []durable.PutOption{durable.PutID(id)}})
	}
	for _, put := range r.queue.PutAll(ctx, orders) {
		if put.Err != nil && !errors.Is(put.Err, durable.ErrExists) {
			return put.Err
		}
	}
	return nil
}

// work runs a worker, kills it each time that the next part of the jobs is settled and starts another, and returns when
// the queue is empty.
func (r *running) work(ctx context.Context) error {
	worker, err := startWorker(r.url, r.shop.url)
	if err != nil {
		return err
	}
	defer func() { worker.kill() }()
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	for looks, empty, killed := 1, 0, 0; empty < 3; looks++ { // a job that moves while Stats runs may not be counted
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-worker.ended:
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
		if looks%4 == 0 {
			fmt.Fprintf(r.out, "         done %5d   ready %5d   running %4d   later %5d   dead %4d   calls %6d\n",
				r.shop.done.Load(), stats.Ready, stats.Running, stats.Later, stats.Dead, r.shop.calls.Load())
		}
		if settled := int(r.shop.done.Load()) + stats.Dead; killed < kills && settled >= r.jobs*(killed+1)/(kills+1) {
			killed++
			worker.kill()
			fmt.Fprintf(r.out, "kill %d   the worker, at %d of %d jobs; starting another\n", killed, settled, r.jobs)
			next, err := startWorker(r.url, r.shop.url)
			if err != nil {
				return err
			}
			worker = next
		}
		if empty++; stats.Ready+stats.Running+stats.Later > 0 {
			empty = 0
		}
	}
	return nil
}

// ledger checks that each job that was put is either done or dead, and prints the numbers.
func (r *running) ledger(ctx context.Context) error {
	permanent, dead, both := 0, 0, 0
	for d, err := range r.queue.Dead().All(ctx) {
		if err != nil {
			return err
		}
		if dead++; d.Cause == "permanent" {
			permanent++
		}
		if _, has := r.shop.taken.Load(d.ID); has {
			both++
		}
	}
	done := int(r.shop.done.Load())
	fmt.Fprintf(r.out, "ledger   put %d = done %d + dead %d (%d permanent); %d calls, %d of them for orders that were done already\n",
		r.jobs, done, dead, permanent, r.shop.calls.Load(), r.shop.repeated.Load())
	if r.jobs != done+dead || both > 0 {
		return fmt.Errorf("the numbers do not add up: put %d, done %d, dead %d, both %d", r.jobs, done, dead, both)
	}
	return nil
}
