package outbox_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/outbox"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { killed.Main(m, work) }

var policy = retry.New(backoff.Exponential(5*time.Millisecond, 2).Jitter(jitter.Full), retry.Limit(8))

func openTable(driver, source string) (outbox.Table, error) {
	db, err := sql.Open(driver, source)
	dialect := outbox.SQLite
	if driver == "pgx" {
		dialect = outbox.Postgres
	}
	return outbox.Table{DB: db, Dialect: dialect, Policy: policy, Lease: 5 * time.Second, Every: 20 * time.Millisecond}, err
}

func sqliteSource(file string) string {
	return "file:" + file + "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(10000)"
}

// work is a worker in a process of its own. It tells the referee when a handler begins and ends. A fourth of the
// attempts fails. The bodies say what a job does: "tx" has its effect in the transaction of Done, "own" has it in a
// transaction before the job ends, "bad" always fails. The worker is killed right after the effects of the bodies that
// its last argument names.
func work(ctx context.Context, e *killed.Effects, args []string) error {
	t, err := openTable(args[0], args[1])
	if err != nil {
		return err
	}
	return t.Work(ctx, 8, func(ctx context.Context, j outbox.Job) error {
		referee, err := net.Dial("tcp", args[2])
		if err != nil {
			return err
		}
		defer referee.Close()
		if _, err := fmt.Fprintln(referee, j.ID, "begin"); err != nil {
			return err
		}
		if err = handle(ctx, t.DB, j); err == nil && j.Body == args[3] {
			e.Apply(nil)
		}
		if _, err := fmt.Fprintln(referee, j.ID, "end"); err != nil {
			return err
		}
		_, _ = referee.Read(make([]byte, 1)) // the referee has it
		return err
	})
}

func handle(ctx context.Context, db *sql.DB, j outbox.Job) error {
	time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	if j.Body == "bad" || rand.IntN(4) == 0 && stream.AttemptFrom(ctx) < 4 {
		return errors.New("a failure")
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES ($1)", j.ID); err != nil {
		return err
	}
	if j.Body == "tx" {
		if err := j.Done(ctx, tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// referee counts the handlers that run for a job that another process runs too. A process that is killed closes its
// connections, so its handlers have ended.
type referee struct {
	mu      sync.Mutex
	running map[string]bool
	twice   []string
}

func (r *referee) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	if !lines.Scan() {
		return
	}
	id, _, _ := strings.Cut(lines.Text(), " ")
	r.mu.Lock()
	if r.running[id] {
		r.twice = append(r.twice, id)
	}
	r.running[id] = true
	r.mu.Unlock()
	ended := lines.Scan()
	r.mu.Lock()
	delete(r.running, id)
	r.mu.Unlock()
	if ended {
		_, _ = conn.Write([]byte("."))
	}
}

func startReferee(t *testing.T) (*referee, string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	r := &referee{running: map[string]bool{}}
	wait := check.Accept(l, r.serve)
	t.Cleanup(func() { _ = l.Close(); wait() })
	return r, l.Addr().String()
}

func TestKilled_SQLite(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	testKills(t, "SQLite, a table of jobs", "sqlite", sqliteSource(filepath.Join(t.TempDir(), "app.db")))
}

func TestKilled_Postgres(t *testing.T) {
	server := debian.StartPostgres(t)
	testKills(t, "Postgres, a table of jobs", "pgx", server.URL(server.Address))
}

// Two workers at once kill themselves in turn, the one right after effects in Done's transaction, the other between an
// effect and the end of its job: each job is done or dead, none both, and none runs in two processes at one time.
func testKills(t *testing.T, system, driver, source string) {
	const n, kills = 1000, 20
	table, err := openTable(driver, source)
	check.Must(t, err)
	defer table.DB.Close()
	ctx := t.Context()
	for _, statement := range append(strings.Split(outbox.Schema, ";"), "CREATE TABLE effects (id TEXT NOT NULL)") {
		_, err := table.DB.ExecContext(ctx, statement)
		check.Must(t, err)
	}
	err = inTx(ctx, table.DB, func(tx *sql.Tx) (err error) {
		for i := range n {
			body := []string{"tx", "own"}[i%2]
			if i%25 == 0 {
				body = "bad"
			}
			err = errors.Join(err, table.Put(ctx, tx, fmt.Sprint(i), body))
		}
		return err
	})
	check.Must(t, err)
	referee, address := startReferee(t)
	start := func(i, kill int) *exec.Cmd {
		return killed.Start(t, filepath.Join(t.TempDir(), "effects"), kill, driver, source, address, []string{"tx", "own"}[i%2])
	}
	var workers [2]*exec.Cmd
	for i := range kills + 2 { // the last two are not killed
		if i >= 2 {
			killed.End(t, workers[i%2], true)
		}
		kill := 20
		if i >= kills {
			kill = 0
		}
		workers[i%2] = start(i, kill)
	}
	for waiting := 1; waiting > 0; time.Sleep(10 * time.Millisecond) {
		check.Must(t, table.DB.QueryRowContext(ctx, "SELECT count(*) FROM outbox WHERE NOT dead").Scan(&waiting))
	}
	for _, worker := range workers {
		_ = worker.Process.Kill()
		_ = worker.Wait()
	}

	var dead, both, exhausted int
	var effects, distinct, txTwice int
	for query, into := range map[string]*int{
		"SELECT count(*) FROM outbox":                                      &dead,
		"SELECT count(*) FROM outbox WHERE id IN (SELECT id FROM effects)": &both,
		"SELECT count(*) FROM outbox WHERE state LIKE 'attempts=9 %' AND error LIKE '%limit of 8 retries%' AND body = 'bad'": &exhausted,
		"SELECT count(*) FROM effects":           &effects,
		"SELECT count(DISTINCT id) FROM effects": &distinct,
		"SELECT count(*) FROM (SELECT id FROM effects WHERE CAST(id AS INTEGER) % 2 = 0 GROUP BY id HAVING count(*) > 1) twice": &txTwice,
	} {
		if err := table.DB.QueryRowContext(ctx, query).Scan(into); err != nil {
			t.Fatal(query, err)
		}
	}
	lost := n - distinct - dead + both
	repeated := fmt.Sprintf("%d with `Done`, else %s", txTwice, killed.Range(effects-distinct-txTwice, "10 or more"))
	killed.Row(t, system, "20, one of two workers", n, lost, repeated)
	if both != 0 || dead != n/25 || exhausted != n/25 || len(referee.twice) > 0 {
		t.Errorf("done and dead %d, dead %d, with the policy's error %d, want %d, at one time in two processes %v",
			both, dead, exhausted, n/25, referee.twice)
	}
}

// A job whose worker has died counts a failure, and one whose worker was told to stop does not. A job whose lease is
// lost has no effect.
func TestEnds(t *testing.T) {
	table, err := openTable("sqlite", sqliteSource(filepath.Join(t.TempDir(), "app.db")))
	check.Must(t, err)
	defer table.DB.Close()
	table.Policy = retry.New(backoff.Constant(0), retry.Limit(0))
	ctx := t.Context()
	execute := func(statement string) {
		t.Helper()
		_, err := table.DB.ExecContext(ctx, statement)
		check.Must(t, err)
	}
	row := func(id string) (claims int, lease int64, state string, dead bool, failure string) {
		t.Helper()
		err := table.DB.QueryRowContext(ctx, "SELECT claims, lease, state, dead, error FROM outbox WHERE id = $1", id).Scan(&claims, &lease, &state, &dead, &failure)
		check.Must(t, err)
		return claims, lease, state, dead, failure
	}
	execute(outbox.Schema)
	for _, id := range []string{"abandoned", "unreadable", "stolen", "stopped"} {
		check.Must(t, errors.Join(table.Put(ctx, table.DB, id, ""), table.Put(ctx, table.DB, id, "again")))
	}
	execute("UPDATE outbox SET lease = 1 WHERE id = 'abandoned'; UPDATE outbox SET state = 'no state' WHERE id = 'unreadable'")
	working, stop := context.WithCancel(ctx)
	stolen := make(chan struct{})
	err = table.Work(working, 4, func(attempt context.Context, j outbox.Job) error {
		if j.ID == "stolen" {
			defer close(stolen)
			execute("UPDATE outbox SET claims = claims + 1 WHERE id = 'stolen'")
			if err := j.Done(ctx, table.DB); !errors.Is(err, outbox.ErrLeaseLost) {
				t.Errorf("Done of a lost lease: got %v", err)
			}
			return nil
		}
		if j.ID != "stopped" || working.Err() != nil { // a claim that was under way may take it a second time
			t.Errorf("%s was run", j.ID)
		}
		<-stolen
		stop()
		<-attempt.Done()
		return attempt.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Work: got %v", err)
	}
	if _, lease, _, dead, failure := row("abandoned"); lease != 0 || !dead || !strings.Contains(failure, outbox.ErrAbandoned.Error()) {
		t.Errorf("abandoned: lease %d, dead %t, %q", lease, dead, failure)
	}
	if _, _, _, dead, failure := row("unreadable"); !dead || !strings.Contains(failure, "retry: State:") {
		t.Errorf("unreadable: dead %t, %q", dead, failure)
	}
	if claims, lease, _, dead, _ := row("stolen"); claims != 2 || lease == 0 || dead {
		t.Errorf("stolen: %d claims, lease %d, dead %t", claims, lease, dead)
	}
	if _, lease, state, dead, _ := row("stopped"); lease != 0 || state != "attempts=0" || dead {
		t.Errorf("stopped: lease %d, %q, dead %t", lease, state, dead)
	}
}
