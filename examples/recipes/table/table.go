// Package table polls a table, and follows its rows in the order of their last change: for databases that notify nobody
// of changes. Postgres does: see the recipe postgres.
package table

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Schema is a table and the index for its position. A row's time of change is set by each INSERT and UPDATE.
const Schema = `
	CREATE TABLE rows (id bigint PRIMARY KEY, changed timestamptz NOT NULL DEFAULT now(), body text NOT NULL);
	CREATE INDEX ON rows (changed, id)`

// Rows with one time of change are ordered by their id. The youngest are left out: a transaction that is still running
// has a time before that of rows that are visible already.
const query = `
	SELECT id, (extract(epoch FROM changed) * 1000000)::bigint, body FROM rows
	WHERE (changed, id) > (timestamptz 'epoch' + $1 * interval '1 microsecond', $2) AND changed < now() - make_interval(secs => $3)
	ORDER BY changed, id LIMIT 500`

// Position is a row's last change, in microseconds, as the database has it, and its id, which makes it unique. For a
// table whose rows do not change it is the id alone.
type Position struct{ Changed, ID int64 }

// Row is a row in its present state. Of several changes within a poll only the last one is seen, and no deletion: for
// these the application must mark the row as deleted.
type Row struct {
	Position
	Body string
}

// Rows returns the rows that change after start, each after its transaction has ended: lag must be longer than a
// transaction may run. After a poll without rows it waits for every. A poll may take as long as silence.
func Rows(url string, start Position, every, lag, silence time.Duration, policy stream.RetryHandler) stream.Stream[Row] {
	return operators.Poll(every, start, func(ctx context.Context, at Position) ([]Row, Position, error) {
		ctx, cancel := context.WithTimeout(ctx, silence)
		defer cancel()
		conn, err := pgx.Connect(ctx, url) // or a pool
		if err != nil {
			return nil, at, err
		}
		defer conn.Close(ctx)
		found, _ := conn.Query(ctx, query, at.Changed, at.ID, lag.Seconds()) // its error is that of CollectRows
		rows, err := pgx.CollectRows(found, func(r pgx.CollectableRow) (row Row, err error) {
			return row, r.Scan(&row.ID, &row.Changed, &row.Body)
		})
		if err != nil || len(rows) == 0 {
			return nil, at, err
		}
		return rows, rows[len(rows)-1].Position, nil
	}, policy)
}
