// Package postgres follows a table of events with LISTEN and NOTIFY, and re-reads it by (xid, id) after each reconnect.
package postgres

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Schema is the table, with its trigger.
//
//go:embed schema.sql
var Schema string

// Event is a row of the table.
type Event struct {
	Xid, ID int64
	Body    string
}

// Events returns the events behind start, each once and in the order of their positions. It looks at least once in the
// time of poll, for events that were committed while an older transaction was still under way; the server has failed
// when it does not answer within that time.
func Events(url string, start Event, poll time.Duration, policy stream.RetryHandler) stream.Stream[Event] {
	return operators.Resume(start, func(at Event) stream.Stream[Event] {
		return func(ctx context.Context, yield func(Event) bool) error {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			for {
				events, err := behind(ctx, conn, at, poll)
				if err != nil {
					return err
				}
				for _, at = range events {
					if !yield(at) {
						return nil
					}
				}
				if len(events) == 0 {
					wait, cancel := context.WithTimeout(ctx, poll)
					_, _ = conn.WaitForNotification(wait) // an error of the connection comes with the next query
					cancel()
				}
			}
		}
	}, func(_, e Event) Event { return e }, policy)
}

// behind returns the next events. LISTEN comes first: what is committed after the query is notified.
func behind(ctx context.Context, conn *pgx.Conn, at Event, poll time.Duration) ([]Event, error) {
	ctx, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	_, _ = conn.Exec(ctx, "LISTEN events")
	rows, _ := conn.Query(ctx, "SELECT * FROM settled_events WHERE (xid, id) > ($1, $2) ORDER BY xid, id LIMIT 1000", at.Xid, at.ID)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Event]) // with the errors of both
}
