package offset_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/ledger"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/offset"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { check.Main(m) }

const (
	n      = 3000
	schema = offset.Schema + "; CREATE TABLE effects (n bigint)"
)

// numbers is a feed of the numbers 1 to n that is cut at random.
func numbers(at int64) stream.Stream[int64] {
	all := stream.Range(int(at)+1, n-int(at))
	stop := int(at) + 1 + rand.IntN(300)
	return func(ctx context.Context, yield func(int64) bool) error {
		cut := false
		err := all(ctx, func(v int) bool {
			cut = v > stop
			return !cut && yield(int64(v))
		})
		if cut {
			return errors.New("the feed was cut")
		}
		return err
	}
}

func latest(_, v int64) int64 { return v }

func insert(ctx context.Context, tx pgx.Tx, v int64) error {
	_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1)", v)
	return err
}

// checkEffects fails the test unless each number has had its effect once.
func checkEffects(t *testing.T, server *debian.Postgres) {
	t.Helper()
	rows, _ := server.Connect(t, "").Query(t.Context(), "SELECT n FROM effects")
	effects, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	var account ledger.Ledger
	for _, v := range effects {
		account.Enter(v)
	}
	account.Check(t, 1, n)
}

// The connection to the database is cut, refused and silenced, the feed is cut, the server crashes, and the process
// begins again. Each value has its effect once.
func TestApply(t *testing.T) {
	const every = 250
	server := debian.StartPostgres(t)
	network := proxy.Start(t, server.Address)
	server.Connect(t, schema)
	var background sync.WaitGroup
	fault := network.Each()
	for stop := int64(n / 3); stop <= n; stop += n / 3 { // three processes in turn
		err := offset.Apply(server.URL(network.Address()), "numbers", 300*time.Millisecond, numbers, latest, insert, proxy.Policy).
			TakeWhile(func(at int64) bool { return at < stop }).
			ForEach(t.Context(), func(at int64) {
				switch {
				case at == n/2:
					background.Go(server.Restart)
				case at%every == 0:
					fault()
				}
			})
		if err != nil {
			t.Error(err)
		}
	}
	background.Wait()
	checkEffects(t, server)
}

// groups is the feed of the numbers in groups that share a position: group g has the numbers 7g+1 to 7g+7. A group that
// is cut is not yielded.
func groups(at int64) stream.Stream[[]int64] {
	return func(ctx context.Context, yield func([]int64) bool) error {
		var group []int64
		stopped := false
		err := numbers(7*at)(ctx, func(v int64) bool {
			if group = append(group, v); v%7 == 0 || v == n {
				stopped = !yield(group)
				group = nil
			}
			return !stopped
		})
		if stopped {
			return nil
		}
		return err
	}
}

// Groups are applied whole, each in one transaction with its position.
func TestApply_Groups(t *testing.T) {
	server := debian.StartPostgres(t)
	network := proxy.Start(t, server.Address)
	server.Connect(t, schema)
	next := func(at int64, _ []int64) int64 { return at + 1 }
	effect := func(ctx context.Context, tx pgx.Tx, group []int64) error {
		for _, v := range group {
			if err := insert(ctx, tx, v); err != nil {
				return err
			}
		}
		return nil
	}
	fault := network.Each()
	err := offset.Apply(server.URL(network.Address()), "numbers", 300*time.Millisecond, groups, next, effect, proxy.Policy).
		ForEach(t.Context(), func(at int64) {
			if at%100 == 0 {
				fault()
			}
		})
	if err != nil {
		t.Error(err)
	}
	checkEffects(t, server)
}
