// Package offset applies a feed to a database exactly once. The position in the feed is stored with each effect, in the
// same Postgres transaction, and the next process begins at this position.
package offset

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Schema is the table of the positions.
const Schema = "CREATE TABLE positions (feed text PRIMARY KEY, at bigint NOT NULL)"

const (
	load = "INSERT INTO positions VALUES ($1, 0) ON CONFLICT (feed) DO UPDATE SET at = positions.at RETURNING at"
	move = "UPDATE positions SET at = $3 WHERE feed = $1 AND at = $2"
)

// Apply calls effect for each value of the feed given by open and after, and returns the positions that are stored. A
// transaction that takes longer than silence fails. Whether it was committed or not, the next attempt loads the
// position from the database.
//
// T may be a slice, whose values are applied with one position in one transaction: a batch, or the group of values that
// shares a position. Then open yields whole groups, and after returns the position after the group; a group that is cut
// is not yielded, and comes again.
func Apply[T any](url, feed string, silence time.Duration, open func(at int64) stream.Stream[T], after func(at int64, v T) int64,
	effect func(context.Context, pgx.Tx, T) error, policy stream.RetryHandler) stream.Stream[int64] {
	var attempt stream.Stream[int64] = func(ctx context.Context, yield func(int64) bool) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		within := func(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
			ctx, cancel := context.WithTimeout(ctx, silence)
			defer cancel()
			return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return f(ctx, tx) })
		}
		var at int64
		if err := within(ctx, func(ctx context.Context, tx pgx.Tx) error { return tx.QueryRow(ctx, load, feed).Scan(&at) }); err != nil {
			return err
		}
		apply := func(ctx context.Context, v T) (int64, error) {
			before := at
			at = after(before, v)
			return at, within(ctx, func(ctx context.Context, tx pgx.Tx) error {
				if moved, err := tx.Exec(ctx, move, feed, before, at); err != nil {
					return err
				} else if moved.RowsAffected() != 1 {
					return fmt.Errorf("feed %s is not at %d: another process applies it", feed, before)
				}
				return effect(ctx, tx, v)
			})
		}
		return operators.TryMap(operators.Resume(at, open, after, policy), apply)(ctx, yield)
	}
	return attempt.RetryWhen(policy)
}
