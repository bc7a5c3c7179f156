// Package postgres follows a table of events with LISTEN and NOTIFY. After each reconnect it continues from the last
// (xid, id).
package postgres

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Schema creates the table and its trigger.
//
//go:embed schema.sql
var Schema string

// Event is a row of the table.
type Event struct {
	Xid, ID int64
	Body    string
}

// Events returns the events after start, each once and in the order of their positions. It queries at least once per
// poll, because events may be committed while an older transaction is still running. An attempt fails if the server
// does not respond to a query within poll.
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
				stream.Works(ctx) // also without an event
				for _, at = range events {
					if !yield(at) {
						return nil
					}
				}
				if len(events) == 0 {
					wait, cancel := context.WithTimeout(ctx, poll)
					_, _ = conn.WaitForNotification(wait) // the next query returns an error of the connection
					cancel()
				}
			}
		}
	}, func(_, e Event) Event { return e }, policy)
}

// behind returns the next events. LISTEN comes first, so that events committed after the query are notified.
func behind(ctx context.Context, conn *pgx.Conn, at Event, poll time.Duration) ([]Event, error) {
	ctx, cancel := context.WithTimeout(ctx, poll)
	defer cancel()
	_, _ = conn.Exec(ctx, "LISTEN events")
	rows, _ := conn.Query(ctx, "SELECT * FROM settled_events WHERE (xid, id) > ($1, $2) ORDER BY xid, id LIMIT 1000", at.Xid, at.ID)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Event]) // with the errors of both statements
}
