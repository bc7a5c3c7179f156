// Package offset applies a feed to a database exactly once. The position in the feed is stored with each effect, in the
// same Postgres transaction, and the next process begins at this position.
package offset

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Schema returns the statement that makes the table of the positions. kind is their type: bigint, text, bytea,
// bigint[].
func Schema(kind string) string {
	return "CREATE TABLE positions (feed text PRIMARY KEY, at " + kind + " NOT NULL)"
}

const (
	load = "INSERT INTO positions VALUES ($1, $2) ON CONFLICT (feed) DO UPDATE SET at = positions.at RETURNING at"
	move = "UPDATE positions SET at = $3 WHERE feed = $1 AND at = $2"
)

// Apply calls effect for each value of the feed, and returns the positions that are stored. open is one connection of
// the feed, as operators.ResumePositions takes it, without retries: the policy renews it and the database's connection
// alike, so a limit counts once. A *retry.Error of a policy inside open is not retried. Each attempt begins at the
// position in the database, or at start if there is none: so it does not matter whether a transaction that has failed
// was committed.
//
// The effects of a group, whose rows but the last bear the position before it, are one transaction; a group that is cut
// has none. A Bookmark's position is stored too, but not returned. A statement that takes longer than silence fails.
func Apply[T, P any](url, feed string, silence time.Duration, start P, open func(at P) stream.Stream[operators.Marked[T, P]],
	effect func(context.Context, pgx.Tx, T) error, policy stream.RetryHandler) stream.Stream[P] {
	return stream.Stream[P](func(ctx context.Context, yield func(P) bool) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx) // ends a transaction that is open
		within := func(f func(context.Context) error) error {
			ctx, cancel := context.WithTimeout(ctx, silence)
			defer cancel()
			return f(ctx)
		}
		w := writer[T, P]{conn: conn, feed: feed, effect: effect}
		if err := within(func(ctx context.Context) error { return conn.QueryRow(ctx, load, feed, start).Scan(&w.at) }); err != nil {
			return err
		}
		var failed error
		err = open(w.at)(ctx, func(m operators.Marked[T, P]) bool {
			moves := !reflect.DeepEqual(m.At, w.at)
			failed = within(func(ctx context.Context) error { return w.write(ctx, m, moves) })
			if m.Bookmark {
				stream.Works(ctx)
			}
			return failed == nil && (m.Bookmark || !moves || yield(w.at))
		})
		if _, ended := errors.AsType[*retry.Error](err); ended {
			err = retry.Permanent(err)
		}
		return errors.Join(failed, err)
	}).RetryWhen(policy)
}

// writer writes the values of a feed.
type writer[T, P any] struct {
	conn   *pgx.Conn
	feed   string
	effect func(context.Context, pgx.Tx, T) error
	at     P
	tx     pgx.Tx // of a value, or of the group that is not complete yet
}

// write has the effect of a value, and commits it if it moves the position.
func (w *writer[T, P]) write(ctx context.Context, m operators.Marked[T, P], moves bool) (err error) {
	if w.tx == nil && (moves || !m.Bookmark) {
		w.tx, err = w.conn.Begin(ctx)
	}
	if err == nil && !m.Bookmark {
		err = w.effect(ctx, w.tx, m.Value)
	}
	if err != nil || !moves {
		return err
	}
	if moved, err := w.tx.Exec(ctx, move, w.feed, w.at, m.At); err != nil {
		return err
	} else if moved.RowsAffected() != 1 {
		return fmt.Errorf("feed %s is not at %v: another process applies it", w.feed, w.at)
	}
	err, w.tx, w.at = w.tx.Commit(ctx), nil, m.At
	return err
}
