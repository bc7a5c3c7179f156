package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

// lease is short, so that the jobs of a killed worker are soon delivered to the next one.
const lease = 2 * time.Second

// policy has delays below a second, which the worker keeps. The server keeps those that Retry-After dictates.
var policy = retry.New(backoff.Exponential(100*time.Millisecond, 2.5).Cap(time.Second).Jitter(jitter.Equal),
	retry.Limit(6), retry.AttemptTimeout(5*time.Second))

// open opens the queue on the NATS server at url.
func open(ctx context.Context, url string) (q *durable.Queue, close func(), err error) {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	q, err = durable.Open(ctx, nc, durable.Config{Name: "orders", Policy: policy, Lease: lease})
	if err != nil {
		nc.Close()
	}
	return q, func() { q.Close(); nc.Close() }, err
}

// work is the worker process of the queue on the NATS server at url. Its jobs call the target. It works until it is
// stopped or killed.
func work(ctx context.Context, url, target string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // the parent has the other end of the pipe, so the worker does not outlive it
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	q, close, err := open(ctx, url)
	if err != nil {
		return err
	}
	defer close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	return q.Work(ctx, 32, func(ctx context.Context, job *durable.Job) error { return call(ctx, client, target, job) })
}

// call sends one order. The order's id makes it idempotent: the shop takes an order once, however often it is sent.
func call(ctx context.Context, client *http.Client, target string, job *durable.Job) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target+"/"+job.ID, bytes.NewReader(job.Data))
	if err != nil {
		return retry.Permanent(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	failure := retryhttp.NewStatusError(resp) // with the delay of Retry-After
	if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
		return retry.Permanent(failure)
	}
	return failure
}

// worker is the parent's handle of a worker process.
type worker struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan error // buffered
}

func startWorker(url, target string) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "worker", url, target)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the worker: %w", err)
	}
	w := &worker{cmd, stdin, make(chan error, 1)}
	go func() { w.ended <- cmd.Wait() }()
	return w, nil
}

// kill ends the process like a crash: it cannot clean up. kill may be called again.
func (w *worker) kill() {
	if w.cmd.Process.Kill() == nil {
		<-w.ended
	}
	w.stdin.Close()
}
