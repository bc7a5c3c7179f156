// Package outbox keeps jobs and their retries in a table of the program's own database, SQLite or Postgres: a job is
// put in the transaction that causes it, and a transaction of its effect may end it.
//
// A job whose worker dies is tried again when its lease has ended, so its handler must be idempotent, or its effect be
// in the transaction of Job.Done.
package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
)

// Schema is for both databases. Times are milliseconds of the database's clock. A dead row remains, with its last
// error. This revives it:
//
//	UPDATE outbox SET dead = FALSE, state = '', due = 0 WHERE id = $1
const Schema = `
	CREATE TABLE IF NOT EXISTS outbox (id TEXT PRIMARY KEY, body TEXT NOT NULL, due BIGINT NOT NULL, state TEXT NOT NULL DEFAULT '',
		lease BIGINT NOT NULL DEFAULT 0, claims BIGINT NOT NULL DEFAULT 0, abandoned BOOLEAN NOT NULL DEFAULT FALSE,
		dead BOOLEAN NOT NULL DEFAULT FALSE, error TEXT NOT NULL DEFAULT '');
	CREATE INDEX IF NOT EXISTS outbox_due ON outbox (due) WHERE NOT dead`

// Dialect is what the databases write differently. SQLite locks the whole table anyway; it must be 3.42 or newer.
type Dialect struct{ now, lock string }

// The two databases.
var (
	SQLite   = Dialect{"CAST(unixepoch('subsec') * 1000 AS INTEGER)", ""}
	Postgres = Dialect{"CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)", "FOR UPDATE SKIP LOCKED"}
)

// ErrAbandoned is the failure of an attempt whose worker has died or has lost its lease. The policy decides about it as
// about any other, so a job that kills its workers ends as a dead row.
var ErrAbandoned = errors.New("outbox: the attempt's worker did not end it")

// ErrLeaseLost is returned by Job.Done if another worker has the job.
var ErrLeaseLost = errors.New("outbox: the lease has ended, and another worker has the job")

// Table is the table of a program's jobs. All its processes use the same.
type Table struct {
	DB      *sql.DB
	Dialect Dialect
	Policy  retry.Policy
	Lease   time.Duration // an attempt's context ends when nine tenths of it are over
	Every   time.Duration // how often an idle worker looks for jobs that are due
}

// Job is a job that this process alone has, until its lease ends.
type Job struct {
	ID, Body string
	claim    int64 // no two claims of a job have the same number
	state    retry.State
	failure  error     // of an attempt that is not made: the last one was abandoned, or the state is no text of a State
	end      time.Time // of the attempt's context
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// patient waits while the database is away.
var patient = retry.New(backoff.Exponential(50*time.Millisecond, 2).Cap(10*time.Second).Jitter(jitter.Equal), retry.Name("outbox"), retry.Log(nil))

// Put stores a job in the transaction; a job with an id that is in the table is not stored again.
func (t Table) Put(ctx context.Context, tx execer, id, body string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO outbox (id, body, due) VALUES ($1, $2, "+t.Dialect.now+") ON CONFLICT (id) DO NOTHING", id, body)
	return err
}

// Done ends the job in the transaction of its effect, which must be rolled back if Done fails. Without it a job ends
// after its handler has returned nil.
func (j Job) Done(ctx context.Context, tx execer) error {
	deleted, err := tx.ExecContext(ctx, "DELETE FROM outbox WHERE id = $1 AND claims = $2", j.ID, j.claim)
	if err != nil {
		return err
	}
	if n, err := deleted.RowsAffected(); err != nil || n != 1 {
		return errors.Join(ErrLeaseLost, err)
	}
	return nil
}

// Work makes attempts of jobs that are due, at most n at a time, until ctx ends; then it waits for those that run. The
// handler must return soon after its context has ended: it has the lease no longer.
func (t Table) Work(ctx context.Context, n int, handler func(context.Context, Job) error) error {
	free := make(chan struct{}, n)
	for range n {
		free <- struct{}{}
	}
	var running sync.WaitGroup
	defer running.Wait()
	// A page is what this worker has claimed. It has no position: a claim takes the jobs away.
	return operators.Poll(t.Every, 0, func(ctx context.Context, pages int) ([]Job, int, error) {
		select {
		case <-free:
		case <-ctx.Done():
			return nil, pages, ctx.Err()
		}
		most := 1 + len(free)
		for range most - 1 {
			<-free // only this goroutine takes
		}
		page, err := t.claim(context.WithoutCancel(ctx), most) // a claim that is cancelled may have taken jobs
		for range most - len(page) {
			free <- struct{}{}
		}
		for _, j := range page {
			running.Go(func() { t.attempt(ctx, j, handler); free <- struct{}{} })
		}
		return page, pages + 1, err
	}, patient).ForEach(ctx, func(Job) {})
}

// claim takes at most n jobs that are due. The rows are chosen once, before the update: Postgres may run a sub-select
// with a LIMIT several times.
func (t Table) claim(ctx context.Context, n int) (jobs []Job, err error) {
	end := time.Now().Add(t.Lease * 9 / 10)
	ctx, cancel := context.WithTimeout(ctx, t.Lease)
	defer cancel()
	rows, err := t.DB.QueryContext(ctx, fmt.Sprintf(`
		WITH due AS MATERIALIZED (SELECT id FROM outbox WHERE NOT dead AND due <= %[1]s AND lease <= %[1]s ORDER BY due LIMIT $2 %[2]s)
		UPDATE outbox SET lease = %[1]s + $1, claims = claims + 1, abandoned = lease > 0 WHERE id IN (SELECT id FROM due)
		RETURNING id, body, claims, abandoned, state`, t.Dialect.now, t.Dialect.lock), t.Lease.Milliseconds(), n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		j, state, abandoned := Job{end: end}, "", false
		if err := rows.Scan(&j.ID, &j.Body, &j.claim, &abandoned, &state); err != nil {
			return nil, err
		}
		if abandoned {
			j.failure = ErrAbandoned
		}
		if err := j.state.UnmarshalText([]byte(state)); err != nil {
			j.failure = retry.Permanent(err)
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}

// attempt runs the handler once and stores the policy's decision. If it cannot be stored, the attempt is abandoned.
func (t Table) attempt(ctx context.Context, j Job, handler func(context.Context, Job) error) {
	unending := context.WithoutCancel(ctx)
	storing, cancel := context.WithTimeout(unending, 2*t.Lease)
	defer cancel()
	op, failure := t.Policy.Continue(unending, j.state, nil), cmp.Or(j.failure, ctx.Err())
	if failure == nil {
		leased, release := context.WithDeadline(ctx, j.end)
		attempt, cancel := op.Attempt(leased)
		failure = handler(attempt, j)
		cancel()
		release()
		if failure == nil {
			_ = op.Done(retry.Outcome{})
			_ = retry.Run(storing, patient.With(retry.If(func(err error) bool { return !errors.Is(err, ErrLeaseLost) })), // the handler has called Done
				func(ctx context.Context) error { return j.Done(ctx, t.DB) })
			return
		}
	}
	var delay time.Duration
	var end error
	if j.failure != nil || ctx.Err() == nil { // otherwise Work was told to stop, which is no failure of the job
		delay, end = op.Failed(retry.Outcome{Err: failure})
	}
	state, err := op.State().MarshalText()
	if end = cmp.Or(end, err); end != nil {
		failure = op.Done(retry.Outcome{Err: end})
	}
	_ = retry.Run(storing, patient, func(ctx context.Context) error {
		_, err := t.DB.ExecContext(ctx, "UPDATE outbox SET lease = 0, due = "+t.Dialect.now+" + $3, state = $4, dead = $5, error = $6 WHERE id = $1 AND claims = $2",
			j.ID, j.claim, delay.Milliseconds()+1, string(state), end != nil, failure.Error())
		return err
	})
}
