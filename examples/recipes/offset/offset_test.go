package offset_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/internal/ledger"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/debian"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/offset"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

const (
	n       = 3000
	effects = "; CREATE TABLE effects (n bigint)"
)

type marked = operators.Marked[int64, int64]

// each is a feed whose values have a position each.
func each(at int64) stream.Stream[marked] {
	return operators.Map(numbers(at), func(v int64) marked { return marked{Value: v, At: v} })
}

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

func insert(ctx context.Context, tx pgx.Tx, v int64) error {
	_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1)", v)
	return err
}

// seen returns how often each number has had its effect.
func seen(t *testing.T, server *debian.Postgres) ledger.Ledger {
	t.Helper()
	rows, _ := server.Connect(t, "").Query(t.Context(), "SELECT n FROM effects")
	effects, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	account := ledger.Ledger{}
	for _, v := range effects {
		account.Enter(v)
	}
	return account
}

// The connection to the database is cut, refused and silenced, the feed is cut, the server crashes, and the process
// begins again. Each value has its effect once.
func TestApply(t *testing.T) {
	const every = 250
	server := debian.StartPostgres(t)
	network := proxy.Start(t, server.Address)
	server.Connect(t, offset.Schema("bigint")+effects)
	var background sync.WaitGroup
	fault := network.Each()
	for stop := int64(n / 3); stop <= n; stop += n / 3 { // three processes in turn
		err := offset.Apply(server.URL(network.Address()), "numbers", 300*time.Millisecond, 0, each, insert, proxy.Policy).
			TakeWhile(func(at int64) bool { return at < stop }).
			ForEach(t.Context(), func(at int64) {
				switch {
				case at == n/2:
					background.Go(func() { server.Kill(t) })
				case at%every == 0:
					fault()
				}
			})
		if err != nil {
			t.Error(err)
		}
	}
	background.Wait()
	seen(t, server).Check(t, 1, n)
}

// groups is the feed of the numbers in groups that share a position, which is a text: group g has the numbers 7g+1 to
// 7g+7. After each group comes a Bookmark.
func groups(at string) stream.Stream[operators.Marked[int64, string]] {
	type marked = operators.Marked[int64, string]
	first, _ := strconv.ParseInt(at, 36, 64)
	return operators.ConcatMap(numbers(7*first), func(v int64) stream.Stream[marked] {
		if v%7 > 0 && v < n {
			return stream.Of(marked{Value: v, At: strconv.FormatInt((v-1)/7, 36)})
		}
		after := strconv.FormatInt((v-1)/7+1, 36)
		return stream.Of(marked{Value: v, At: after}, marked{Bookmark: true, At: after})
	})
}

// Groups are applied whole, each in one transaction with its position.
func TestApply_Groups(t *testing.T) {
	server := debian.StartPostgres(t)
	network := proxy.Start(t, server.Address)
	server.Connect(t, offset.Schema("text")+effects)
	fault, stored := network.Each(), 0
	err := offset.Apply(server.URL(network.Address()), "numbers", 300*time.Millisecond, "0", groups, insert, proxy.Policy).
		ForEach(t.Context(), func(string) {
			if stored++; stored%100 == 0 {
				fault()
			}
		})
	if err != nil {
		t.Error(err)
	}
	seen(t, server).Check(t, 1, n)
}

// A Bookmark's position is stored, without an effect, and begins the next run. Positions are bytes here.
func TestApply_Bookmarks(t *testing.T) {
	server := debian.StartPostgres(t)
	conn := server.Connect(t, offset.Schema("bytea")+effects)
	type marked = operators.Marked[int64, []byte]
	var opened []string
	feed := func(at []byte) stream.Stream[marked] {
		opened = append(opened, string(at))
		return stream.Of(marked{Value: 1, At: []byte("a")}, marked{Bookmark: true, At: []byte("b\x00")}, marked{Bookmark: true, At: []byte("c\xff")})
	}
	for range 2 {
		stored, err := offset.Apply(server.URL(server.Address), "bytes", time.Second, []byte("start"), feed, insert, proxy.Policy).Collect(t.Context())
		if err != nil || len(stored) != 1 || string(stored[0]) != "a" {
			t.Errorf("%q, %v", stored, err)
		}
	}
	var at []byte
	if err := conn.QueryRow(t.Context(), "SELECT at FROM positions").Scan(&at); err != nil || string(at) != "c\xff" || fmt.Sprint(opened) != "[start c\xff]" {
		t.Errorf("stored %q, opened %q, %v", at, opened, err)
	}
}

// A limit counts the connections once, whether the policy is Apply's or one inside open.
func TestApply_Limit(t *testing.T) {
	server := debian.StartPostgres(t)
	server.Connect(t, offset.Schema("bigint"))
	for _, limit := range []int{3, 6, 20} {
		policy := retry.New(backoff.Backoff{}, retry.Limit(limit), retry.ResetAfterItems(1))
		opened := 0
		fails := stream.Defer(func(context.Context) stream.Stream[marked] {
			opened++
			return stream.Fail[marked](errors.New("no connection"))
		})
		for _, feed := range []stream.Stream[marked]{fails, fails.RetryWhen(policy)} {
			opened = 0
			_, err := offset.Apply(server.URL(server.Address), "fails", time.Second, 0, func(int64) stream.Stream[marked] { return feed }, insert, policy).Collect(t.Context())
			if opened != limit+1 || !errors.Is(err, retry.ErrLimit) {
				t.Errorf("limit %d: %d connections, %v", limit, opened, err)
			}
		}
	}
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program applies the feed, and is killed after an effect whose transaction is committed, and among those of a group.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	effect := func(ctx context.Context, tx pgx.Tx, v int64) error {
		if err := insert(ctx, tx, v); err != nil {
			return err
		}
		if v%7 == 3 {
			e.Apply("amid a group")
		}
		return nil
	}
	return offset.Apply(args[0], "numbers", 5*time.Second, "0", groups, effect, proxy.Policy).ForEach(ctx, func(at string) { e.Apply(at) })
}

func TestApply_Killed(t *testing.T) {
	server := debian.StartPostgres(t)
	server.Connect(t, offset.Schema("text")+effects)
	killed.Again(t, filepath.Join(t.TempDir(), "effects"), 20, func(i int) int { return 30 + i }, server.URL(server.Address)) // odd and even: within a group, and after one
	lost, repeated := seen(t, server).Count(1, n)
	killed.Row(t, "Postgres, a feed applied once", "20, within and after groups", n, len(lost), strconv.Itoa(repeated))
}
