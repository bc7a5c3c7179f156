package postgres_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/internal/ledger"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/postgres"
	"github.com/retrywhen/retrywhen/retry"
)

const poll = 300 * time.Millisecond

// write inserts the events first to last, each in a transaction that takes a moment. It retries when the server
// crashes.
func write(ctx context.Context, url string, first, last int) error {
	for n := first; n <= last; n++ {
		err := retry.Run(ctx, proxy.Policy, func(ctx context.Context) error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			for ; n <= last; n++ {
				// An insert whose response was lost is not repeated.
				err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
					_, err := tx.Exec(ctx, "INSERT INTO events (body) SELECT $1 WHERE NOT EXISTS (SELECT FROM events WHERE body = $1)", strconv.Itoa(n))
					time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func TestEvents(t *testing.T) {
	const n, writers, every = 4000, 4, 400
	server := debian.StartPostgres(t)
	network := proxy.Start(t, server.Address)
	server.Connect(t, postgres.Schema+"CREATE INDEX ON events (body);")
	var background sync.WaitGroup
	for w := range writers {
		background.Go(func() {
			if err := write(t.Context(), server.URL(server.Address), w*n/writers+1, (w+1)*n/writers); err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	fault := network.Each()
	account := ledger.Ledger{}
	outOfOrder := 0
	last := postgres.Event{}
	err := postgres.Events(server.URL(network.Address()), last, poll, proxy.Policy).Take(n).ForEach(t.Context(), func(e postgres.Event) {
		if e.ID < last.ID {
			outOfOrder++
		}
		last = e
		number, err := strconv.Atoi(e.Body)
		if err != nil {
			t.Error(err)
		}
		switch seen := account.Enter(number); {
		case seen == n/2:
			background.Go(func() { server.Kill(t) })
		case seen%every == 0:
			fault()
		}
	})
	if err != nil {
		t.Error(err)
	}
	background.Wait()
	account.Check(t, 1, n)
	t.Logf("%d events came after one with a higher id", outOfOrder)
}

// A second reader with a stored position gets the events after it.
func TestEvents_FromAPosition(t *testing.T) {
	server := debian.StartPostgres(t)
	url := server.URL(server.Address)
	server.Connect(t, postgres.Schema)
	if err := write(t.Context(), url, 1, 20); err != nil {
		t.Fatal(err)
	}
	first, err := postgres.Events(url, postgres.Event{}, poll, proxy.Policy).Take(12).Collect(t.Context())
	if err != nil || len(first) != 12 {
		t.Fatal(first, err)
	}
	second, err := postgres.Events(url, first[11], poll, proxy.Policy).Take(8).Collect(t.Context())
	if err != nil || second[0].Body != "13" || second[7].Body != "20" {
		t.Error(second, err)
	}
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the position with each event.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	var at postgres.Event
	e.Start(&at)
	return killed.Follow(ctx, e, 500, postgres.Events(args[0], at, poll, proxy.Policy), func(v postgres.Event) (int, any) {
		n, _ := strconv.Atoi(v.Body)
		return n, v
	})
}

func TestEvents_Killed(t *testing.T) {
	server := debian.StartPostgres(t)
	server.Connect(t, postgres.Schema)
	url := server.URL(server.Address)
	written := make(chan error, 1)
	go func() { written <- write(t.Context(), url, 1, 500) }()
	killed.Check(t, "Postgres, LISTEN/NOTIFY", 10, 40, 500, "0", url)
	if err := <-written; err != nil {
		t.Error(err)
	}
}
