package durable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

var errGoexit = errors.New("the handler ended its goroutine (runtime.Goexit)")

// Work has the given number of goroutines attempt jobs by calling handler, until ctx ends, and returns nil when all of
// them have ended. What handler returns decides: nil is success, an error goes to the policy, and a panic is a failure
// too, a *PanicError with its stack. What handler does must be idempotent.
//
// When ctx ends no attempt is begun; jobs fetched ahead are handed back at once; the contexts of running handlers end
// after Config.Grace, and Work waits for them. A handler that then returns an error of its context has its job handed
// back, with the attempt uncounted; any other outcome counts as ever. The handler's context bears ctx's values, and
// under retry.AttemptTimeout a deadline.
//
// Work returns an error when it cannot go on: the connection was closed for good, the queue was deleted on the server,
// or Close was called (ErrClosed). While the server is only away it waits. It panics when workers is less than 1, or
// when handler is nil and Handle has set no other. handler is for all jobs that are of no kind that Handle knows.
func (q *Queue) Work(ctx context.Context, workers int, handler func(context.Context, *Job) error) error {
	if workers < 1 {
		panic(fmt.Sprintf("durable: Work: workers is %d, want at least 1", workers))
	}
	if handler == nil && !q.handlesKinds() {
		panic("durable: Work: handler is nil, and Handle has set none for a kind")
	}
	if ctx.Err() != nil {
		return nil
	}
	f := newFeed(q, workers)
	if err := q.join(f); err != nil {
		return &failure{"work", err, nil, ""}
	}
	defer q.leave(f)
	defer context.AfterFunc(ctx, func() { f.close(nil) })()
	handlerCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)

	var tasks, running sync.WaitGroup
	tasks.Go(f.run)
	for range workers {
		running.Go(func() { f.attend(handlerCtx, &running, handler) })
	}
	<-f.stopping
	reason := f.err()
	if reason == nil {
		reason = context.Cause(ctx)
	}
	grace := time.AfterFunc(q.config.Grace, func() { cancel(reason) })
	defer grace.Stop()
	tasks.Wait() // first: what is handed back need not wait for the handlers
	f.finish()
	running.Wait()
	f.settling.Wait()
	if err := q.flush(); err != nil {
		q.config.Logger.Warn("outcomes may not have reached the server: their attempts will be made again", "queue", q.config.Name, "error", err)
	}
	switch err := f.err(); {
	case err == nil:
		return nil
	case err == ErrClosed:
		return &failure{"work", ErrClosed, nil, ""}
	default:
		return err
	}
}

// attend makes attempts until the end.
func (f *feed) attend(ctx context.Context, all *sync.WaitGroup, handler func(context.Context, *Job) error) {
	returned := false
	defer func() {
		if !returned { // the handler has ended the goroutine
			all.Go(func() { f.attend(ctx, all, handler) })
		}
	}()
	for {
		d := f.take()
		if d == nil {
			break
		}
		f.attempt(ctx, d, handler)
	}
	returned = true
}

// attempt makes one attempt and reports it.
func (f *feed) attempt(ctx context.Context, d *delivery, handler func(context.Context, *Job) error) {
	began := time.Now()
	defer func() { f.release(time.Since(began)) }()
	job, leave := f.begin(d)
	if job == nil {
		return
	}
	defer leave()
	handler = f.q.handlerOf(job.Kind, handler)
	if handler == nil {
		f.q.config.Logger.Error("no handler for a job's kind, it is handed back", "queue", f.q.config.Name, "id", job.ID, "kind", job.Kind)
		job.handBack(f.q.config.Lease)
		return
	}
	failed := errGoexit
	defer func() {
		if v := recover(); v != nil {
			failed = &PanicError{v, debug.Stack()}
		}
		f.report(ctx, job, failed)
	}()
	attemptCtx := ctx
	if f.q.config.Context != nil {
		attemptCtx = f.q.config.Context(ctx, job)
		job.hooks = context.WithoutCancel(attemptCtx)
	}
	attemptCtx, cancel := f.q.policyOf(job.Kind).AttemptContext(attemptCtx)
	defer cancel()
	failed = handler(attemptCtx, job)
}

// begin returns the attempt at a delivery, nil if there is none to be made, and what to call when it is over. An
// attempt that is to be made alone waits until all others of the queue in this process are over, and none begins before
// it is.
func (f *feed) begin(d *delivery) (job *Job, leave func()) {
	crowd := &f.q.alone
	crowd.RLock()
	switch f.q.check(f.ctx, d, false) {
	case begin:
		return f.q.newJob(d), crowd.RUnlock
	case nothing:
		crowd.RUnlock()
		return nil, nil
	}
	crowd.RUnlock()
	crowd.Lock()
	select {
	case <-f.stopping: // while it waited
		f.q.handBack(f.ctx, d, 0)
	default:
		if f.q.check(f.ctx, d, true) == begin {
			return f.q.newJob(d), crowd.Unlock
		}
	}
	crowd.Unlock()
	return nil, nil
}

// report has the outcome stored. For a failure it waits, and for a success only when the server has not answered for
// ackWindow of them.
func (f *feed) report(ctx context.Context, job *Job, failed error) {
	if job.settled.Load() {
		return
	}
	if failed != nil && ctx.Err() != nil && (errors.Is(failed, ctx.Err()) || errors.Is(failed, context.Cause(ctx))) {
		job.handBack(0)
		return
	}
	store := func() {
		if err := job.Fail(failed); err != nil {
			f.q.config.Logger.Warn("the outcome of an attempt was not stored", "queue", f.q.config.Name, "id", job.ID, "error", err)
		}
	}
	if failed != nil || f.q.isPlain(job.d) {
		store()
		return
	}
	f.slots <- struct{}{}
	f.settling.Go(func() { store(); <-f.slots })
}

// Jobs returns the queue's jobs as a stream that does not end by itself. Each subscription is a worker of its own: a
// job goes to one of them. The consumer must report each job with Done or Fail; until it does the job's lease is kept
// alive, also after the stream has ended, until the queue is closed. Jobs are fetched ahead when they are taken
// quickly, and handed back when the stream ends. Close ends it with ErrClosed.
func (q *Queue) Jobs() stream.Stream[*Job] {
	return func(ctx context.Context, yield func(*Job) bool) error {
		if ctx.Err() != nil {
			return ending.ContextError(ctx)
		}
		f := newFeed(q, 1)
		if err := q.join(f); err != nil {
			return &failure{"jobs", err, nil, ""}
		}
		defer q.leave(f)
		defer context.AfterFunc(ctx, func() { f.close(nil) })()
		var tasks sync.WaitGroup
		tasks.Go(f.run)
		defer func() {
			f.close(nil)
			tasks.Wait()
			f.finish()
			if q.nc.IsConnected() {
				q.nc.FlushTimeout(time.Second)
			}
		}()
		for {
			d := f.take()
			if d == nil {
				break
			}
			began := time.Now()
			more := q.check(f.ctx, d, true) != begin || yield(q.newJob(d))
			f.release(time.Since(began))
			if !more {
				return nil
			}
		}
		if ctx.Err() != nil {
			return ending.ContextError(ctx)
		}
		if err := f.err(); err != ErrClosed {
			return err
		}
		return &failure{"jobs", ErrClosed, nil, ""}
	}
}
