package table_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/internal/ledger"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/table"
	"github.com/retrywhen/retrywhen/retry"
)

const lag = 2 * time.Second

// Four writers insert rows, in transactions of up to 100 ms with many rows of one time, while the network cuts, falls
// silent and refuses, and the program stops and starts again at the position that it has stored. Each row comes once.
func TestRows(t *testing.T) {
	const n, writers, each = 4000, 4, 30 // pages of 500, and the program's stops, cut rows of one time
	server := debian.StartPostgres(t)
	url := server.URL(server.Address)
	conn := server.Connect(t, table.Schema)
	var late atomic.Bool
	var writing sync.WaitGroup
	written := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			longest, err := write(t.Context(), url, w*n/writers, (w+1)*n/writers, each)
			if err != nil {
				t.Error(err)
			}
			if longest >= lag {
				late.Store(true)
			}
		})
	}

	go func() { // a last row, so that the feed ends also if it has lost one
		defer close(written)
		writing.Wait()
		if _, err := conn.Exec(t.Context(), "INSERT INTO rows (id, body) VALUES ($1, 'the last')", n); err != nil {
			t.Error(err)
		}
	}()

	network := proxy.Start(t, server.Address)
	var breaking sync.WaitGroup
	breaking.Go(func() { // a page takes some milliseconds, so some breaks are amid one
		fault := network.Each()
		for range 40 {
			time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
			fault()
		}
	})
	defer breaking.Wait()
	failures, starts := 0, 0
	policy := proxy.Policy.With(retry.OnRetry(func(context.Context, retry.Event) { failures++ }))
	rows := ledger.Ledger{}
	stored := table.Position{}
	for have := 0; stored.ID != n; starts++ {
		until := have + 1490
		feed := table.Rows(server.URL(network.Address()), stored, 5*time.Millisecond, lag, 2*time.Second, policy)
		err := feed(t.Context(), func(r table.Row) bool {
			have, stored = rows.Enter(int(r.ID)), r.Position
			return have < until && r.ID != n
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	<-written
	if late.Load() {
		t.Skip("a transaction took longer than lag, so a row may be lost")
	}
	rows.Check(t, 0, n)
	if starts < 3 || failures == 0 {
		t.Errorf("%d starts, %d failures, want more", starts, failures)
	}
	t.Logf("%d failures", failures)
}

// write inserts the rows from first on, each of them in one transaction, whose rows have one time. It returns the
// longest time from that one until the rows were visible.
func write(ctx context.Context, url string, first, end, each int) (longest time.Duration, _ error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for at := first; at < end; at += each {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO rows (id, body) SELECT id, 'x' FROM generate_series($1::bigint, $2) id", at, min(at+each, end)-1)
			time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
			return err
		})
		if err != nil {
			return 0, err
		}
		var took time.Duration
		if err := conn.QueryRow(ctx, "SELECT clock_timestamp() - changed FROM rows WHERE id = $1", at).Scan(&took); err != nil {
			return 0, err
		}
		longest = max(longest, took)
	}
	return longest, nil
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the position with each row.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	var at table.Position
	e.Start(&at)
	rows := table.Rows(args[0], at, 5*time.Millisecond, 100*time.Millisecond, 2*time.Second, proxy.Policy)
	return killed.Follow(ctx, e, 500, rows, func(r table.Row) (int, any) { return int(r.ID), r.Position })
}

func TestRows_Killed(t *testing.T) {
	server := debian.StartPostgres(t)
	server.Connect(t, table.Schema+"; INSERT INTO rows (id, body) SELECT id, 'x' FROM generate_series(1, 500) id")
	killed.Check(t, "Postgres, a table", 10, 40, 500, "0", server.URL(server.Address)) // all have one time
}
