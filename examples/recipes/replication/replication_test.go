package replication_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/offset"
	"github.com/retrywhen/retrywhen/examples/recipes/replication"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

var policy = retry.New(backoff.Exponential(20*time.Millisecond, 2).Cap(200*time.Millisecond).Jitter(jitter.Full), retry.ResetAfterItems(1))

const schema = "CREATE TABLE events (n int PRIMARY KEY, body text); CREATE PUBLICATION feed FOR TABLE events;"

type marked = operators.Marked[replication.Row, pglogrepl.LSN]

func follow(url string, start pglogrepl.LSN) stream.Stream[marked] {
	return operators.ResumePositions(start, replication.Open(url, "feed", "feed", 3*time.Second), policy)
}

// program stores the effects of each group with its position, in one write. A Snapshot is the event 0. It ends after
// the event that its second argument names.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	var start pglogrepl.LSN
	e.Start(&start)
	var group []int
	at := start
	return follow(args[0], start).TakeWhile(func(m marked) bool {
		switch m.Value.Kind {
		case replication.Begin:
			group = nil // of a group that was cut
		case replication.Snapshot:
			group = []int{0}
		case replication.Insert:
			n, _ := strconv.Atoi(string(m.Value.New["n"]))
			group = append(group, n)
		}
		if m.At == at {
			return true
		}
		at = m.At
		e.Apply(at, group...)
		last := slices.Contains(group, 9999)
		group = nil
		return !last
	}).ForEach(ctx, func(marked) {})
}

// write inserts the rows, in transactions of up to seven, over the server's kills. An insert whose response was lost is
// not repeated.
func write(ctx context.Context, url string, first, last int) error {
	for n := first; n <= last; n += 1 + n%7 {
		err := retry.Run(ctx, policy, func(ctx context.Context) error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, "INSERT INTO events SELECT n, 'x' FROM generate_series($1::int, $2) n ON CONFLICT DO NOTHING", n, min(last, n+n%7))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Both sides are killed with SIGKILL while rows are written, the program right after an effect: each row comes once, in
// a snapshot or a transaction. Then the slot is invalidated, and a snapshot begins again.
func TestFollow_Killed(t *testing.T) {
	server := debian.StartPostgres(t, "wal_level=logical", "max_slot_wal_keep_size=1MB", "wal_sender_timeout=5s")
	url, name := server.URL(server.Address), filepath.Join(t.TempDir(), "effects")
	server.Connect(t, schema+"INSERT INTO events SELECT n, 'x' FROM generate_series(1, 100) n")
	written := make(chan error, 1)
	go func() {
		written <- errors.Join(write(t.Context(), url, 101, 2000), write(t.Context(), url, 9999, 9999))
	}()
	servers := 0
	for i := range 20 {
		program := killed.Start(t, name, 10+i, url)
		if i%7 == 3 {
			server.Kill(t)
			servers++
		}
		killed.End(t, program, true)
	}
	killed.End(t, killed.Start(t, name, 0, url), false)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	counts := killed.Seen(t, name)
	lost, repeated := counts.Count(1, 2000)
	if counts[0] != 1 || len(counts)+len(lost) != 2002 {
		t.Errorf("%d snapshots, want 1; %d different events", counts[0], len(counts))
	}
	killed.Row(t, "Postgres, logical replication", fmt.Sprintf("20, and the server %d times", servers), 2000, len(lost), strconv.Itoa(repeated))

	conn := server.Connect(t, "")
	for i := range 40 { // 16 MB each
		if _, err := conn.Exec(t.Context(), "SELECT pg_switch_wal(); CREATE TABLE fill"+strconv.Itoa(i)+" (x int); CHECKPOINT"); err != nil {
			t.Fatal(err)
		}
	}
	var status string
	if err := conn.QueryRow(t.Context(), "SELECT wal_status FROM pg_replication_slots").Scan(&status); err != nil || status != "lost" {
		t.Fatalf("the slot is %s, %v", status, err)
	}
	killed.End(t, killed.Start(t, name, 0, url), false)
	if counts := killed.Seen(t, name); counts[0] != 2 || counts[2000] != 2 {
		t.Errorf("after the slot was lost: %d snapshots", counts[0])
	}
}

// The kinds of changes, and what the server knows after a shutdown right behind the last effect: its position.
func TestFollow_Changes(t *testing.T) {
	server := debian.StartPostgres(t, "wal_level=logical")
	url := server.URL(server.Address)
	conn := server.Connect(t, schema+"ALTER TABLE events REPLICA IDENTITY FULL; CREATE TABLE other (x int); INSERT INTO events VALUES (1, NULL)")
	show := func(columns map[string][]byte) (text string) {
		for _, name := range []string{"n", "body"} {
			if value, is := columns[name]; !is {
				continue
			} else if value == nil {
				text += " NULL"
			} else {
				text += " " + string(value)
			}
		}
		return text
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var got []string
	var at pglogrepl.LSN
	err := follow(url, 0)(ctx, func(m marked) bool {
		if m.Bookmark {
			if strings.HasSuffix(strings.Join(got, "\n"), "truncate :\ncommit :") {
				stop()
			}
			return true
		}
		at = m.At
		got = append(got, fmt.Sprint(m.Value.Kind, show(m.Value.Old), " :", show(m.Value.New)))
		if len(got) == 3 { // the snapshot is complete
			_, err := conn.Exec(t.Context(), `
				BEGIN; INSERT INTO events VALUES (2, 'two'), (3, 'three'); UPDATE events SET body = 'TWO' WHERE n = 2; COMMIT;
				INSERT INTO other VALUES (1);
				BEGIN; INSERT INTO events VALUES (4, 'rolled back'); ROLLBACK;
				DELETE FROM events WHERE n = 3; TRUNCATE events;
				INSERT INTO other VALUES (2);`)
			if err != nil {
				t.Error(err)
			}
		}
		return true
	})
	want := strings.Split(`snapshot :
insert : 1 NULL
commit :
begin :
insert : 2 two
insert : 3 three
update 2 two : 2 TWO
commit :
begin :
delete 3 three :
truncate :
commit :`, "\n")
	if !errors.Is(err, context.Canceled) || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	var confirmed pglogrepl.LSN
	if err := conn.QueryRow(t.Context(), "SELECT confirmed_flush_lsn::text FROM pg_replication_slots").Scan(&confirmed); err != nil || confirmed < at {
		t.Errorf("confirmed %s, want at least %s: %v", confirmed, at, err)
	}
}

func apply(ctx context.Context, source, target string, effect func(context.Context, pgx.Tx, replication.Row) error) error {
	// source: wal_level = logical, max_slot_wal_keep_size, and CREATE PUBLICATION feed FOR TABLE …
	// target: offset.Schema("pg_lsn"). The slot is made at the first start, and anew, with a snapshot, when it is lost.
	changes := replication.Open(source, "feed", "feed", time.Minute)
	stored := offset.Apply(target, "feed", 10*time.Second, 0, changes, effect, policy)
	return stored.ForEach(ctx, func(pglogrepl.LSN) {})
}

// The rows of one database are applied to another, those of a transaction in one, with the position.
func TestApply(t *testing.T) {
	source, target := debian.StartPostgres(t, "wal_level=logical"), debian.StartPostgres(t)
	from := source.Connect(t, schema+"INSERT INTO events VALUES (1, 'one')")
	to := target.Connect(t, offset.Schema("pg_lsn")+"; CREATE TABLE copies (n int PRIMARY KEY)")
	snapshots := 0
	for last := 2; last <= 4; last++ { // three processes
		insert := "INSERT INTO events VALUES (" + strconv.Itoa(last) + ", 'x')"
		if _, err := from.Exec(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			defer stop()
			for count := 0; count < last && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
				_ = to.QueryRow(ctx, "SELECT count(*) FROM copies").Scan(&count)
			}
		}()
		err := apply(ctx, source.URL(source.Address), target.URL(target.Address), func(ctx context.Context, tx pgx.Tx, r replication.Row) (err error) {
			switch r.Kind {
			case replication.Snapshot:
				snapshots++
				_, err = tx.Exec(ctx, "DELETE FROM copies")
			case replication.Insert:
				_, err = tx.Exec(ctx, "INSERT INTO copies VALUES ($1::text::int)", string(r.New["n"]))
			}
			return err
		})
		if <-ctx.Done(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if snapshots != 1 {
		t.Errorf("%d snapshots, want 1", snapshots)
	}
}
