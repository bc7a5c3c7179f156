package durable

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

const unflushed = "log: outcomes may not have reached the server, their attempts may be made again"

// later1 is a policy whose retries are stored, because they are due after a minute.
var later1 = retry.New(backoff.Constant(time.Minute))

// key is the key of a value of contexts.
type key struct{}

// workQueue returns a queue with two fresh jobs, "1" and "2".
func workQueue(t *testing.T, s *server, c Config) *Queue {
	t.Helper()
	if c.Policy == (retry.Policy{}) {
		c.Policy = later1
	}
	q := fakeQueue(t, s, c)
	_, fresh := addConsumers(q, s)
	fresh.serve(job(q.backend, s, "1", first, 1, nil), job(q.backend, s, "2", first, 2, nil))
	return q
}

// fakeWork returns a workQueue on a server that stores everything.
func fakeWork(t *testing.T, c Config) (*server, *Queue) {
	t.Helper()
	s := new(server)
	return s, workQueue(t, s, c)
}

// workAsync calls Work in a goroutine. The channel gets its error.
func workAsync(ctx context.Context, q *Queue, workers int, handler func(context.Context, *Job) error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- q.Work(ctx, workers, handler) }()
	return ended
}

// Work that cannot begin.
func TestWork_DoesNotBegin(t *testing.T) {
	s, q := fakeWork(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Work(ctx, 1, noHandler); err != nil || s.took() != "" {
		t.Errorf("ctx has ended: got %v, want nil", err)
	}
	q.closed = true
	if err := q.Work(t.Context(), 1, noHandler); !errors.Is(err, ErrClosed) || err.Error() != "durable: work: the queue is closed" {
		t.Errorf("the queue is closed: got %v, want ErrClosed", err)
	}
	for text, call := range map[string]func(){
		"durable: Work: workers is 0, want at least 1":                      func() { q.Work(t.Context(), 0, noHandler) },
		"durable: Work: handler is nil, want a handler here or from Handle": func() { q.Work(t.Context(), 1, nil) },
	} {
		panics(t, text, call)
	}
	q.Handle("k", later1, noHandler)
	if err := q.Work(t.Context(), 1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("with a handler of a kind: got %v, want ErrClosed", err)
	}
}

// When Work ends: what was fetched ahead is handed back at once, the contexts of handlers end after Grace, and Work
// returns when the outcomes are stored.
func TestWork_Ends(t *testing.T) {
	cause := errors.New("cause")
	for name, test := range map[string]struct {
		stop  func(cancel context.CancelCauseFunc, q *Queue)
		cause error
		want  error
		text  string
	}{
		"ctx ends": {stop: func(cancel context.CancelCauseFunc, _ *Queue) { cancel(cause) }, cause: cause},
		"Close": {stop: func(_ context.CancelCauseFunc, q *Queue) { go q.shutDown() }, cause: ErrClosed, want: ErrClosed,
			text: "durable: work: the queue is closed"},
		"the queue is deleted": {stop: func(_ context.CancelCauseFunc, q *Queue) {
			for f := range q.feeds {
				f.close(explain("work", jetstream.ErrConsumerDeleted))
			}
		},
			cause: jetstream.ErrConsumerDeleted, want: ErrGone, text: "durable: work: the queue was deleted on the server"},
	} {
		bubble(t, name, func(t *testing.T) {
			s, q := fakeWork(t, Config{Grace: 3 * time.Second})
			fresh := q.first.(*fakeConsumer)
			ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
			defer cancel(nil)
			began := time.Now()
			ended := workAsync(ctx, q, 2, func(ctx context.Context, j *Job) error {
				if ctx.Value(key{}) != "value" {
					t.Error("the handler's context has not the values of Work's")
				}
				if j.ID == "2" {
					time.Sleep(12 * time.Second) // 2 s of grace
					if ctx.Err() != nil {
						t.Error("the handler's context ends before Grace")
					}
					s.note("2 is done")
					return nil
				}
				<-ctx.Done()
				if got := time.Since(began); got != 13*time.Second || !errors.Is(context.Cause(ctx), test.cause) {
					t.Errorf("the handler's context ends after %v with %v, want 13s, %v", got, context.Cause(ctx), test.cause)
				}
				return ctx.Err()
			})
			synctest.Wait()
			if got := outcomesOf(s); got != "" || len(q.feeds) != 1 {
				t.Errorf("it did %q, with %d feeds", got, len(q.feeds))
			}
			fresh.last().handler(job(q.backend, s, "3", first, 3, nil)) // more than was requested: it waits for a worker
			time.Sleep(10 * time.Second)
			test.stop(cancel, q)
			synctest.Wait()
			if got := outcomesOf(s); got != "nak" {
				t.Errorf("at once it did %q, want the third job handed back", got)
			}
			err := <-ended
			if got := time.Since(began); got != 13*time.Second {
				t.Errorf("it ended after %v, want 13s", got)
			}
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || err != nil && !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if got := outcomesOf(s); got != "2 is done; put mark; ack; nak; "+unflushed {
				t.Errorf("it did %q", got)
			}
			if len(q.feeds) != 0 {
				t.Error("the queue still has its feed")
			}
		})
	}
}

// A handler ignores its context. Work returns a while after Grace, hands the job back and names it. What the handler
// returns later does nothing.
func TestWork_AHandlerIgnoresItsContext(t *testing.T) {
	for name, stop := range map[string]func(cancel context.CancelFunc, q *Queue) error{
		"ctx ends": func(cancel context.CancelFunc, _ *Queue) error { cancel(); return nil },
		"Close":    func(_ context.CancelFunc, q *Queue) error { return q.Close() },
	} {
		bubble(t, name, func(t *testing.T) {
			s, q := fakeWork(t, Config{Grace: 3 * time.Second})
			q.close = q.shutDown
			ctx, cancel := context.WithCancel(t.Context())
			returned := make(chan struct{}, 2)
			ended := workAsync(ctx, q, 2, func(ctx context.Context, j *Job) error {
				if j.ID == "1" && name == "Close" {
					<-ctx.Done()
					return ctx.Err()
				}
				time.Sleep(time.Hour)
				defer func() { returned <- struct{}{} }()
				return errors.New("no")
			})
			synctest.Wait()
			began := time.Now()
			if err := stop(cancel, q); errors.Is(err, ErrStillRunning) { // Work returns it
				t.Errorf("Close: %v", err)
			}
			err, stuck := <-ended, map[string]string{"ctx ends": `1 of kind "", 2 of kind ""`, "Close": `2 of kind ""`}[name]
			if !errors.Is(err, ErrStillRunning) || !strings.Contains(err.Error(), "at the jobs "+stuck) || errors.Is(err, ErrClosed) != (name == "Close") ||
				time.Since(began) != 3*time.Second+patience {
				t.Errorf("got %v after %v", err, time.Since(began))
			}
			if got := outcomesOf(s); got != "nak; nak; "+unflushed {
				t.Errorf("it did %q", got)
			}
			<-returned
			synctest.Wait()
			if got := outcomesOf(s); got != "" || q.counts.handedBack.Load() != 2 {
				t.Errorf("when the handler returned it did %q; handed back %d", got, q.counts.handedBack.Load())
			}
			cancel()
		})
	}
}

// With the longest Grace, Work waits until its handlers return.
func TestWork_TheLongestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, q := fakeWork(t, Config{Grace: math.MaxInt64})
		ctx, cancel := context.WithCancel(t.Context())
		ended := workAsync(ctx, q, 1, func(ctx context.Context, _ *Job) error { cancel(); time.Sleep(time.Minute); return ctx.Err() })
		began := time.Now()
		if err := <-ended; err != nil || time.Since(began) != time.Minute {
			t.Errorf("got %v after %v, want nil after 1m", err, time.Since(began))
		}
	})
}

// A consumer of Jobs that does not return does not stop Close.
func TestClose_AConsumerThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fakeWork(t, Config{})
		q.close = q.shutDown
		go q.Jobs().Take(1).ForEach(t.Context(), func(*Job) { time.Sleep(time.Hour) })
		synctest.Wait()
		began := time.Now()
		if err := q.Close(); !errors.Is(err, ErrStillRunning) || time.Since(began) != 20*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		if got := outcomesOf(s); got != "nak" {
			t.Errorf("it did %q, want the job handed back", got)
		}
		time.Sleep(2 * time.Hour)
	})
}

// Work returns after the last outcome is stored, and not before a handler has returned.
func TestWork_WaitsForOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(*nats.Msg) error { time.Sleep(4 * time.Second); return nil }}
		q := workQueue(t, s, Config{Grace: time.Hour})
		q.first.(*fakeConsumer).serve(job(q.backend, s, "1", first, 1, nil))
		ctx, cancel := context.WithCancel(t.Context())
		ended := workAsync(ctx, q, 1, func(context.Context, *Job) error { time.Sleep(2 * time.Second); cancel(); return nil })
		began := time.Now()
		if err := <-ended; err != nil || time.Since(began) != 6*time.Second {
			t.Errorf("got %v after %v, want nil after 6s", err, time.Since(began))
		}
		if got := outcomesOf(s); got != "put mark; ack; "+unflushed {
			t.Errorf("it did %q", got)
		}
	})
}

// Work and Jobs return when the server has what was sent.
func TestWork_Flushes(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Queue){
		"Work": func(ctx context.Context, q *Queue) { q.Work(ctx, 1, noHandler) },
		"Jobs": func(ctx context.Context, q *Queue) { q.Jobs()(ctx, func(*Job) bool { return true }) },
	} {
		s, q := fakeOnline(t, Config{})
		due, fresh := addConsumers(q, s)
		ctx, cancel := context.WithCancel(t.Context())
		due.consume = func(*fakeConsume) { cancel() }
		fresh.consume = due.consume
		before := s.pinged.Load()
		run(ctx, q)
		if got := outcomesOf(s); s.pinged.Load() != before+1 || got != "" {
			t.Errorf("%s: %d flushes, and it did %q, want one", name, s.pinged.Load()-before, got)
		}
	}
}

// A handler that ends its goroutine fails, and the worker goes on.
func TestWork_Goexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fakeWork(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		<-workAsync(ctx, q, 1, func(_ context.Context, j *Job) error {
			if j.ID == "1" {
				runtime.Goexit()
			}
			cancel()
			return nil
		})
		if got := outcomesOf(s); got != "put later; ack; put mark; ack; "+unflushed {
			t.Errorf("it did %q", got)
		}
		if got := readState(s.sent[0].Header); got.lastError != errGoexit.Error() || got.retry.Attempts() != 1 {
			t.Errorf("the retry is %+v", got)
		}
	})
}

// What an attempt gives its handler, and what it does with the result.
func TestAttempt(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		config  Config
		kind    string
		late    bool // the lease has run out
		handler func(context.Context, *Job) error
		did     string
		err     string // the beginning of the stored error
		took    time.Duration
	}{
		"success": {handler: func(_ context.Context, j *Job) error {
			if j.ID != "x" || string(j.Data) != "data" || j.Attempt != 1 {
				t.Errorf("the job is %+v", j)
			}
			time.Sleep(300 * time.Millisecond)
			return nil
		}, did: "put mark; ack", took: 300 * time.Millisecond},
		"failure":               {handler: func(context.Context, *Job) error { return no }, did: "put later; ack", err: "no"},
		"a panic":               {handler: func(context.Context, *Job) error { panic("oh") }, did: "put later; ack", err: "panic: oh\n\ngoroutine "},
		"the lease has run out": {late: true, handler: func(context.Context, *Job) error { t.Error("it was called"); return nil }},
		"no handler":            {config: Config{Lease: 20 * time.Second}, did: "log: a job's kind has no handler here, such jobs are handed back; nak in 100ms"},
		"the handler of the kind": {kind: "k", handler: func(context.Context, *Job) error { t.Error("it was called"); return nil },
			did: "put later; ack", err: "of the kind"},
		"a deadline": {config: Config{Policy: later1.With(retry.AttemptTimeout(time.Second))}, handler: func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			return nil
		}, did: "put mark; ack", took: time.Second},
		"a context": {config: Config{Context: func(ctx context.Context, j *Job) context.Context { return context.WithValue(ctx, key{}, j.ID) },
			Policy: later1.With(retry.OnRetry(func(ctx context.Context, _ retry.Event) {
				if ctx.Value(key{}) != "x" || ctx.Done() != nil {
					t.Errorf("the hook's context has %v, and ends: %t", ctx.Value(key{}), ctx.Done() != nil)
				}
			}))},
			handler: func(ctx context.Context, _ *Job) error {
				if ctx.Value(key{}) != "x" || ctx.Done() == nil {
					t.Errorf("the handler's context has %v, and ends: %t", ctx.Value(key{}), ctx.Done() != nil)
				}
				return no
			}, did: "put later; ack", err: "no"},
		"a context that is nil": {config: Config{Context: func(context.Context, *Job) context.Context { return nil }}, handler: noHandler,
			did: "put later; ack", err: "panic: "},
	} {
		bubble(t, name, func(t *testing.T) {
			if test.config.Policy == (retry.Policy{}) {
				test.config.Policy = later1
			}
			s, q := fake(t, test.config)
			q.Handle("k", later1, func(context.Context, *Job) error { return errors.New("of the kind") })
			d := deliver(q, s, first, func(d *delivery) { d.state.kind = test.kind })
			if test.late {
				d.until = time.Now()
			}
			f := d.feed
			f.running = 1
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			handler, of := test.handler, context.Context(nil)
			if handler != nil {
				handler = func(ctx context.Context, j *Job) error { of = ctx; return test.handler(ctx, j) }
			}
			f.attempt(ctx, d, handler)
			f.settling.Wait()
			if of != nil && of.Err() == nil {
				t.Error("the attempt is over, and its context has not ended")
			}
			s.did(t, test.did)
			if got := readState(s.lastSent().Header).lastError; !strings.HasPrefix(got, test.err) || (got == "") != (test.err == "") {
				t.Errorf("the error is %q, want %q", got, test.err)
			}
			if f.running != 0 || f.average != test.took {
				t.Errorf("%d run, an attempt takes %v, want 0, %v", f.running, f.average, test.took)
			}
			if !q.turns.enterAlone(asideWait) {
				t.Error("it still keeps others from running alone")
			}
		})
	}
}

// An attempt that fails when its context has ended is handed back; everything else is an outcome.
func TestReport(t *testing.T) {
	cause, no := errors.New("cause"), errors.New("no")
	for name, test := range map[string]struct {
		failed error
		ended  bool
		fails  error // of publications
		want   string
	}{
		"success":                              {want: "put mark; ack"},
		"success at the end":                   {ended: true, want: "put mark; ack"},
		"failure":                              {failed: no, want: "put later; ack"},
		"failure at the end":                   {failed: no, ended: true, want: "nak"},
		"the error of ctx":                     {failed: fmt.Errorf("x: %w", context.Canceled), ended: true, want: "nak"},
		"the cause of ctx":                     {failed: fmt.Errorf("x: %w", cause), ended: true, want: "nak"},
		"a panic at the end":                   {failed: &PanicError{Value: "no"}, ended: true, want: "nak"},
		"the error of another context":         {failed: context.Canceled, want: "put later; ack"},
		"the error of another context, at end": {failed: context.DeadlineExceeded, ended: true, want: "nak"},
		"a permanent error at the end":         {failed: fmt.Errorf("x: %w", retry.Permanent(no)), ended: true, want: "put dead; ack"},
		"a snooze at the end":                  {failed: Snooze(time.Hour), ended: true, want: "put later; ack"},
		"it cannot be stored": {failed: no, fails: no,
			want: "put later; log: the outcome of an attempt could not be stored, the job is handed back; nak in 60s; log: the outcome of an attempt was not stored"},
	} {
		s := &server{publish: func(*nats.Msg) error { return test.fails }}
		q := fakeQueue(t, s, Config{Policy: later1})
		q.bound.next.Store(time.Now().Add(time.Hour).UnixNano())
		d := deliver(q, s, first, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		if test.ended {
			cancel(cause)
		}
		d.feed.report(ctx, q.newJob(d), test.failed)
		d.feed.settling.Wait()
		if got := strings.ReplaceAll(s.took(), "1m0s", "60s"); got != test.want {
			t.Errorf("%s: it did %q, want %q", name, got, test.want)
		}
		cancel(nil)
	}
}

// A worker waits until a failure is stored, and a success of the last attempt, and others if ackWindow are not stored.
func TestReport_Waits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(*nats.Msg) error { time.Sleep(time.Second); return nil }}
		q := fakeQueue(t, s, Config{Policy: later1})
		f := newFeed(q.attempts, 1)
		seq := uint64(0)
		report := func(failed error, begun uint64) time.Duration {
			seq++
			d := deliver(q, s, first, func(d *delivery) { d.seq, d.feed, d.begun = seq, f, begun })
			began := time.Now()
			f.report(t.Context(), q.newJob(d), failed)
			return time.Since(began)
		}
		if failure, last := report(errors.New("no"), 0), report(nil, 5); failure != time.Second || last != time.Second {
			t.Errorf("a failure took %v, a success of the last attempt %v, want 1s", failure, last)
		}
		for i := range ackWindow {
			if got := report(nil, 4); got != 0 {
				t.Fatalf("success %d took %v", i+1, got)
			}
		}
		if got := report(nil, 0); got != time.Second {
			t.Errorf("one more took %v, want 1s", got)
		}
		began := time.Now()
		if f.settling.Wait(); time.Since(began) != time.Second || len(f.slots) != 0 {
			t.Errorf("the rest took %v, want 1s; %d are left", time.Since(began), len(f.slots))
		}
	})
}

// A success that needs no mark is only acknowledged, which needs no slot. Nor does a failure.
func TestReport_NeedsNoSlot(t *testing.T) {
	s, q := fakeOnline(t, Config{Policy: later1})
	for failed, want := range map[error]string{nil: "ack", errors.New("no"): "put later; ack"} {
		d := deliver(q, s, first, nil)
		for range ackWindow {
			d.feed.slots <- struct{}{}
		}
		d.feed.report(t.Context(), q.newJob(d), failed)
		if got := s.took(); got != want {
			t.Errorf("%v: it did %q, want %q", failed, got, want)
		}
	}
}

// Which lock an attempt holds.
func TestBegin(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*delivery)
		publish error
		want    bool
		others  bool // other attempts may run next to it
		did     string
	}{
		"a fresh job":           {want: true, others: true},
		"the lease has run out": {change: func(d *delivery) { d.until = time.Now() }, others: true},
		"begun too often":       {change: func(d *delivery) { d.deliveries, d.begun = 2, 4 }, want: true, did: "put mark"},
		"begun too often, and it cannot be claimed": {change: func(d *delivery) { d.deliveries, d.begun = 2, 4 }, publish: nats.ErrPermissionViolation, others: true,
			did: "put mark; log: a job could not be claimed, it is handed back; nak in 30s"},
	} {
		s := &server{publish: func(*nats.Msg) error { return test.publish }}
		q := fakeQueue(t, s, Config{})
		d := deliver(q, s, first, test.change)
		j, leave := d.feed.begin(d)
		if (j != nil) != test.want || (leave != nil) != test.want || j != nil && j.d != d {
			t.Errorf("%s: got %v", name, j)
		}
		if got := s.took(); got != test.did {
			t.Errorf("%s: it did %q, want %q", name, got, test.did)
		}
		if alone := len(q.turns.door) > 0; alone == test.others {
			t.Errorf("%s: it runs alone: %t, want %t", name, alone, !test.others)
		}
		if leave != nil {
			if q.turns.enterAlone(time.Millisecond) {
				t.Errorf("%s: another may run alone", name)
			}
			leave()
		}
		if !q.turns.enterAlone(asideWait) {
			t.Errorf("%s: others cannot run afterwards", name)
		}
	}
}

// A delivery that is skipped waits for no other attempt.
func TestBegin_SkipsAtOnce(t *testing.T) {
	s, q := fake(t, Config{})
	d := deliver(q, s, first, func(d *delivery) { d.until = time.Now() })
	q.turns.enter(nil) // another attempt
	if j, _ := d.feed.begin(d); j != nil || q.turns.running.Load() != 1 {
		t.Errorf("it has begun, %d run", q.turns.running.Load())
	}
}

// An attempt that must run alone keeps others from beginning for a moment. If that does not help, it is handed back for
// a lease.
func TestBegin_Alone(t *testing.T) {
	for name, test := range map[string]struct {
		running time.Duration // another attempt
		want    string
		after   time.Duration
	}{
		"idle":            {want: "put mark; last *; put mark"},
		"others are long": {running: time.Hour, want: "put mark; last *; nak in 32s", after: time.Second},
		"others end":      {running: 900 * time.Millisecond, want: "put mark; last *; put mark", after: 900 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &server{publish: inTurn(refused)}
			q := fakeQueue(t, s, Config{Lease: 32 * time.Second})
			s.last = func(string) (*jetstream.RawStreamMsg, error) {
				return message(q, mark, 9, nats.Header{headerBegun: {"4"}, headerDelivery: {"2"}}), nil
			}
			d := deliver(q, s, first, func(d *delivery) { d.deliveries = 3 })
			if test.running > 0 {
				q.turns.enter(nil)
				time.AfterFunc(test.running, q.turns.leave)
			}
			began := time.Now()
			entered := make(chan time.Duration, 1)
			time.AfterFunc(100*time.Millisecond, func() { q.turns.enter(nil); entered <- time.Since(began); q.turns.leave() })
			j, leave := d.feed.begin(d)
			if got := s.took(); got != test.want || (j != nil) != strings.HasSuffix(test.want, "put mark") || time.Since(began) != test.after {
				t.Errorf("it did %q after %v, want %q, %v", got, time.Since(began), test.want, test.after)
			}
			if j != nil {
				time.Sleep(3 * time.Second)
				leave()
			}
			want := max(test.after, 100*time.Millisecond)
			if j != nil {
				want = test.after + 3*time.Second
			}
			if got := <-entered; got != want {
				t.Errorf("another attempt has begun after %v, want %v", got, want)
			}
		})
	}
}

// Two attempts must run alone. The second one waits for the first, but no longer than it may.
func TestTurns_TwoAlone(t *testing.T) {
	for lasts, want := range map[time.Duration]bool{999 * time.Millisecond: true, 1001 * time.Millisecond: false} {
		synctest.Test(t, func(t *testing.T) {
			turns, began := newTurns(), time.Now()
			turns.enterAlone(asideWait)
			time.AfterFunc(lasts, turns.leaveAlone)
			if got := turns.enterAlone(asideWait); got != want || time.Since(began) != min(lasts, asideWait) {
				t.Errorf("the first one lasts %v: the second runs %t after %v", lasts, got, time.Since(began))
			}
			time.Sleep(time.Second)
		})
	}
}

// An attempt waits while another runs alone. If its feed stops meanwhile, its job is handed back.
func TestBegin_WaitsForOneAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{})
		d := deliver(q, s, first, nil)
		q.turns.enterAlone(asideWait)
		time.AfterFunc(time.Second, func() { d.feed.close(nil) })
		began := time.Now()
		if j, _ := d.feed.begin(d); j != nil || time.Since(began) != time.Second || s.took() != "nak" {
			t.Errorf("it has begun: %t, after %v", j != nil, time.Since(began))
		}
	})
}

// How a stream of Jobs ends. What was fetched ahead is handed back, the job that the consumer has is not.
func TestJobs_Ends(t *testing.T) {
	cause := errors.New("cause")
	for name, test := range map[string]struct {
		stop func(cancel context.CancelCauseFunc, q *Queue) // with the second job; nil: the consumer stops
		want error
		text string
	}{
		"the consumer stops": {},
		"ctx ends":           {stop: func(cancel context.CancelCauseFunc, _ *Queue) { cancel(cause) }, want: cause, text: "cause"},
		"Close":              {stop: func(_ context.CancelCauseFunc, q *Queue) { go q.shutDown() }, want: ErrClosed, text: "durable: jobs: the queue is closed"},
		"the queue is deleted": {stop: func(_ context.CancelCauseFunc, q *Queue) {
			for f := range q.feeds {
				f.close(explain("work", jetstream.ErrConsumerDeleted))
			}
		}, want: ErrGone, text: "durable: work: the queue was deleted on the server"},
	} {
		bubble(t, name, func(t *testing.T) {
			s, q := fakeWork(t, Config{})
			fresh := q.first.(*fakeConsumer)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var ids []string
			var f *feed
			err := q.Jobs()(ctx, func(j *Job) bool {
				ids, f = append(ids, j.ID), j.d.feed
				time.Sleep(time.Second)
				if len(ids) == 1 {
					return true
				}
				if f.average != time.Second {
					t.Errorf("an attempt takes %v, want 1s", f.average)
				}
				fresh.last().handler(job(q.backend, s, "3", first, 3, nil)) // more than was requested: it waits
				if test.stop == nil {
					return false
				}
				test.stop(cancel, q)
				synctest.Wait()
				return true
			})
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || err != nil && !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if got := strings.Join(ids, " "); got != "1 2" {
				t.Errorf("the jobs are %s, want 1 2", got)
			}
			synctest.Wait()
			if got := outcomesOf(s); got != "nak" && (got != "nak; nak; nak" || test.want != ErrClosed) { // Close hands back what is not settled
				t.Errorf("it did %q, want the third job handed back", got)
			}
			if len(q.feeds) != 0 || f.running != 0 {
				t.Errorf("the queue has %d feeds, %d run", len(q.feeds), f.running)
			}
			<-f.ended
			<-f.stopping
		})
	}
}

// The requests have ended before what was fetched ahead is handed back, in Jobs and in Work.
func TestJobs_RequestsEndFirst(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Queue, func(id string) (more bool)){
		"Jobs": func(ctx context.Context, q *Queue, do func(string) bool) {
			q.Jobs()(ctx, func(j *Job) bool { return do(j.ID) })
		},
		"Work": func(ctx context.Context, q *Queue, do func(string) bool) {
			ctx, cancel := context.WithCancel(ctx)
			q.Work(ctx, 1, func(_ context.Context, j *Job) error {
				if !do(j.ID) {
					cancel()
					time.Sleep(time.Second)
				}
				return nil
			})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, q := fakeWork(t, Config{Grace: time.Hour})
			fresh := q.first.(*fakeConsumer)
			run(t.Context(), q, func(id string) bool {
				if id == "1" {
					return true // so quick that more is fetched ahead
				}
				synctest.Wait()
				fresh.last().handler(job(q.backend, s, "3", first, 3, nil))
				s.took()
				return false
			})
			got := s.took()
			if last := max(strings.Index(got, "drain again"), strings.Index(got, "drain first")); strings.Count(got, "drain") != 2 || last > strings.Index(got, "nak") {
				t.Errorf("%s: it did %q, want that both requests end before the job is handed back", name, got)
			}
		})
	}
}

// A job whose lease has run out is not delivered.
func TestJobs_ALateJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fakeWork(t, Config{Lease: time.Second})
		var ids []string
		err := q.Jobs()(t.Context(), func(j *Job) bool {
			if ids = append(ids, j.ID); j.ID == "1" {
				f := j.d.feed
				f.receive(job(q.backend, s, "3", first, 3, nil))
				time.Sleep(time.Second)
				return true
			}
			return false
		})
		if got := strings.Join(ids, " "); err != nil || got != "1 2" {
			t.Errorf("got %s, %v, want 1 2", got, err)
		}
	})
}

// A job whose attempts have begun too often to run next to others is delivered too: a consumer has one job at a time.
func TestJobs_BegunTooOften(t *testing.T) {
	s, q := fake(t, Config{})
	_, fresh := addConsumers(q, s)
	m := job(q.backend, s, "x", first, 7, nil)
	m.meta.NumDelivered = 6
	fresh.serve(m)
	s.publish = func(m *nats.Msg) error {
		if get(m.Header, headerLastSequence) == "7" {
			return refused
		}
		return nil
	}
	s.last = func(string) (*jetstream.RawStreamMsg, error) {
		return message(q, mark, 9, nats.Header{headerBegun: {"4"}, headerDelivery: {"5"}}), nil
	}
	var got *Job
	if err := q.Jobs()(t.Context(), func(j *Job) bool { got = j; return false }); err != nil || !got.Redelivered {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := outcomesOf(s); got != "put mark; last *; put mark" || len(q.turns.door) == 0 {
		t.Errorf("it did %q, and runs alone: %t", got, len(q.turns.door) > 0)
	}
	if err := got.Done(); err != nil || len(q.turns.door) > 0 {
		t.Errorf("reported: %v, and it still runs alone: %t", err, len(q.turns.door) > 0)
	}
}

// A job that must run alone does not run next to one that a consumer of Jobs has and has not reported.
func TestJobs_Alone(t *testing.T) {
	for name, report := range map[string]func(*Job){
		"Done":     func(j *Job) { j.Done() },
		"Fail":     func(j *Job) { j.Fail(errNo) },
		"handBack": func(j *Job) { j.handBack(0) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s, q := fake(t, Config{MaxCrashes: 1, Policy: later1})
			_, fresh := addConsumers(q, s)
			fresh.serve(job(q.backend, s, "x", first, 7, nil))
			var got *Job
			must(t, q.Jobs()(t.Context(), func(j *Job) bool { got = j; return false }))
			d := deliver(q, s, first, func(d *delivery) { d.seq, d.deliveries = 8, 2 })
			outcomesOf(s)
			if j, _ := d.feed.begin(d); j != nil || outcomesOf(s) != "nak in 30s" {
				t.Errorf("%s: it runs next to another", name)
			}
			report(got)
			q.leases.add(d)
			if j, _ := d.feed.begin(d); j == nil {
				t.Errorf("%s: it does not run afterwards", name)
			}
		})
	}
}

// Jobs that does not begin.
func TestJobs_DoesNotBegin(t *testing.T) {
	s, q := fakeWork(t, Config{})
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := q.Jobs()(ctx, nil); !errors.Is(err, cause) || s.took() != "" {
		t.Errorf("ctx has ended: got %v, want its cause", err)
	}
	q.closed = true
	if err := q.Jobs()(t.Context(), nil); !errors.Is(err, ErrClosed) || err.Error() != "durable: jobs: the queue is closed" || s.took() != "" {
		t.Errorf("the queue is closed: got %v, want ErrClosed", err)
	}
}
