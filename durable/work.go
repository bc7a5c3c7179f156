package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

var errGoexit = errors.New("the handler ended its goroutine (runtime.Goexit)")

// Work runs the given number of goroutines, which attempt jobs by calling handler. When ctx ends, Work stops them and
// returns nil. handler's result is the outcome of the attempt: nil is success, and the policy decides about an error. A
// panic is a failure with a *PanicError, which includes the stack. handler must be idempotent.
//
// When ctx ends, no further attempt begins, and jobs that were fetched ahead are handed back at once. The contexts of
// running handlers end after Config.Grace. If a handler then returns an error, its job is handed back and the attempt
// is not counted, because the error may come from the end; only an error that is marked permanent counts. Work waits
// 5 s more for handlers that ignore their contexts. It then hands their jobs back and returns an error that matches
// ErrStillRunning and names them. The handler's context has ctx's values, and a deadline, the policy's
// retry.AttemptTimeout.
//
// Work returns an error when it cannot continue: the connection was closed for good, the queue was deleted on the
// server, or Close was called (ErrClosed). During an outage of the server it waits. handler is called for the jobs
// whose kind has no handler of its own (Handle). Work panics when workers is less than 1, or when handler is nil and
// Handle has not been called.
func (q *Queue) Work(ctx context.Context, workers int, handler func(context.Context, *Job) error) error {
	if workers < 1 {
		panic(fmt.Sprintf("durable: Work: workers is %d, want at least 1", workers))
	}
	if handler == nil && !q.kinds.any() {
		panic("durable: Work: handler is nil, want a handler here or from Handle")
	}
	if ctx.Err() != nil {
		return nil
	}
	f := newFeed(q.attempts, workers)
	if err := q.join(f); err != nil {
		return explain("work", err)
	}
	defer q.leave(f)
	defer context.AfterFunc(ctx, func() { f.close(nil) })()
	handlerCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)

	var tasks, running sync.WaitGroup
	tasks.Go(f.run)
	for range workers {
		running.Go(func() { f.workLoop(handlerCtx, &running, handler) })
	}
	<-f.stopping
	reason := cmp.Or(f.err(), context.Cause(ctx))
	grace := time.AfterFunc(q.config.Grace, func() { cancel(reason) })
	defer grace.Stop()
	late := time.NewTimer(q.config.Grace + patience)
	defer late.Stop()
	tasks.Wait() // first, so that jobs are handed back before the handlers return
	f.finish()
	returned := make(chan struct{})
	go func() { running.Wait(); close(returned) }()
	var stuck error
	select {
	case <-returned:
	case <-late.C:
		stuck = f.desert()
	}
	f.settling.Wait()
	if err := q.flush(); err != nil {
		q.config.Logger.Warn("outcomes may not have reached the server, their attempts may be made again", "error", err)
	}
	err := f.err()
	if err == ErrClosed {
		err = &failure{"work", ErrClosed, nil, ""}
	}
	return errors.Join(err, stuck)
}

// desert hands back the jobs of the handlers that have not returned, and returns an error that names them, nil if there
// are none.
func (f *feed) desert() error {
	f.mu.Lock()
	all := slices.Collect(maps.Keys(f.jobs))
	f.mu.Unlock()
	var names []string
	for _, job := range all {
		if job.handBack(0) {
			names = append(names, fmt.Sprintf("%s of kind %q", job.ID, job.Kind))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &failure{"work", ErrStillRunning, fmt.Errorf("%v after its context has ended, at the jobs %s", patience, strings.Join(names, ", ")),
		"the jobs were handed back; handlers must return when their context ends"}
}

// workLoop makes attempts until the end.
func (f *feed) workLoop(ctx context.Context, all *sync.WaitGroup, handler func(context.Context, *Job) error) {
	returned := false
	defer func() {
		if !returned { // the handler has called runtime.Goexit
			all.Go(func() { f.workLoop(ctx, all, handler) })
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

// attempt makes one attempt and reports its outcome.
func (f *feed) attempt(ctx context.Context, d *delivery, handler func(context.Context, *Job) error) {
	began := time.Now()
	defer func() { f.release(time.Since(began)) }()
	if handler = f.a.kindOf(d.state.kind, handler).handler; handler == nil {
		f.a.unknownKind(f.ctx, d)
		return
	}
	job, leave := f.begin(d)
	if job == nil {
		return
	}
	defer leave()
	cancellable, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if !f.a.leases.handle(d, stop) {
		job.abandon()
		return
	}
	failed := errGoexit
	defer func() {
		if v := recover(); v != nil {
			failed = &PanicError{v, debug.Stack()}
		}
		if context.Cause(cancellable) == ErrCancelled {
			job.abandon()
			return
		}
		f.report(ctx, job, failed)
	}()
	attemptCtx := cancellable
	if f.a.config.Context != nil {
		attemptCtx = f.a.config.Context(attemptCtx, job)
		job.hooks = context.WithoutCancel(attemptCtx)
	}
	op := f.a.operation(attemptCtx, &job.d.state)
	attemptCtx, cancel := op.Attempt(attemptCtx)
	defer cancel()
	f.has(job, true)
	defer f.has(job, false)
	failed = handler(attemptCtx, job)
}

// has notes whether a handler has the job.
func (f *feed) has(job *Job, now bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now {
		f.jobs[job] = struct{}{}
	} else {
		delete(f.jobs, job)
	}
}

// asideWait is how long a job that must run alone keeps others from beginning, once per lease.
const asideWait = time.Second

// begin returns the attempt at a delivery and a function to call when it is over, or nil if no attempt may be made. An
// attempt that must run alone begins only while no other attempt of the queue runs in this process, and no other begins
// before it is over. It keeps others from beginning for a moment; if one still runs then, its job is handed back.
func (f *feed) begin(d *delivery) (job *Job, leave func()) {
	a := f.a
	if !a.turns.enter(f.stopping) {
		a.handBack(f.ctx, d, 0)
		return nil, nil
	}
	switch a.check(f.ctx, d, false) {
	case begin:
		if !f.isLate(d) {
			return a.newJob(d), a.turns.leave
		}
		fallthrough
	case skip:
		a.turns.leave()
		return nil, nil
	}
	a.turns.leave()
	if !a.turns.enterAlone(asideWait) {
		a.handBack(f.ctx, d, a.lease())
		return nil, nil
	}
	if a.check(f.ctx, d, true) == begin && !f.isLate(d) {
		return a.newJob(d), a.turns.leaveAlone
	}
	a.turns.leaveAlone()
	return nil, nil
}

// isLate hands the job back if the feed has stopped while check waited for the server, and reports whether it has.
func (f *feed) isLate(d *delivery) bool {
	select {
	case <-f.stopping:
		f.a.handBack(f.ctx, d, 0)
		return true
	default:
		return false
	}
}

// report stores the outcome. It waits until a failure is stored, and a success of an attempt that ran alone: the next
// one may kill the process, and that job's crashes are too many. For others it waits if ackWindow are not stored yet.
func (f *feed) report(ctx context.Context, job *Job, failed error) {
	if job.settled.Load() {
		return
	}
	if _, snoozes := errors.AsType[*snooze](failed); failed != nil && !snoozes && ctx.Err() != nil && !isPermanent(failed) {
		job.handBack(0) // the error may come from the end of the context, whatever it looks like
		return
	}
	store := func() {
		if err := job.Fail(failed); err != nil {
			f.a.config.Logger.Warn("the outcome of an attempt was not stored", "id", job.ID, "error", err)
		}
	}
	if failed != nil || job.d.begun >= uint64(f.a.config.MaxCrashes) || f.a.needsNoMark(job.d) {
		store()
		return
	}
	f.slots <- struct{}{}
	f.settling.Go(func() { store(); <-f.slots })
}

// isPermanent reports whether an error is marked permanent: a policy that would retry everything else gives up.
func isPermanent(err error) bool {
	op := everything.Start(context.Background())
	_, end := op.Failed(retry.Outcome{Err: err})
	return end != nil
}

var everything = retry.New(backoff.Backoff{}, retry.If(func(error) bool { return true }))

// Jobs returns the queue's jobs as a stream that lasts until ctx ends or the consumer stops. Each subscription is a
// separate worker: a job goes to one of them. The consumer must report each job with Done or Fail. Until it does, the
// job's lease is extended, even after the stream has ended, until the queue is closed. Jobs are fetched ahead when the
// consumer is quick; when the stream ends, these are handed back. Close ends the stream with ErrClosed. After a job
// that must run alone, see Config.MaxCrashes, no other comes before it is reported.
func (q *Queue) Jobs() stream.Stream[*Job] {
	return func(ctx context.Context, yield func(*Job) bool) error {
		if ctx.Err() != nil {
			return stream.ContextError(ctx)
		}
		f := newFeed(q.attempts, 1)
		if err := q.join(f); err != nil {
			return explain("jobs", err)
		}
		defer q.leave(f)
		defer context.AfterFunc(ctx, func() { f.close(nil) })()
		var tasks sync.WaitGroup
		tasks.Go(f.run)
		defer func() {
			f.close(nil)
			tasks.Wait()
			f.finish()
			q.flush()
		}()
		for {
			d := f.take()
			if d == nil {
				break
			}
			began := time.Now()
			job, leave := f.begin(d)
			more := true
			if job != nil {
				job.leave = sync.OnceFunc(leave)
				more = yield(job)
			}
			f.release(time.Since(began))
			if !more {
				return nil
			}
		}
		if ctx.Err() != nil {
			return stream.ContextError(ctx)
		}
		if err := f.err(); err != ErrClosed {
			return err
		}
		return &failure{"jobs", ErrClosed, nil, ""}
	}
}
