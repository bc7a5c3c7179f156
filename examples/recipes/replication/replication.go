// Package replication follows the tables of a Postgres publication by logical replication: a snapshot of their rows, and
// then each change, in the order of the commits. The server must have wal_level = logical.
//
// A slot keeps the WAL until it is read. One that nobody reads fills the server's disk: set max_slot_wal_keep_size, and drop
// the slots that are not needed. The server then invalidates a slot that is too far behind. That is a lost position, which
// begins with a new slot and a snapshot.
package replication

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Row is a change of a row, or a mark. A snapshot is a Begin, an Insert for each row, and an End: rows that have not come
// between them do not exist any more. A snapshot that is cut begins again with Begin.
type Row struct {
	Kind  string // Begin, End, Insert, Update, Delete or Truncate
	First bool   // of its transaction: drop what you hold of one that was cut
	Table string
	New   map[string]*string // the columns as text; without large values that an Update has not changed
	Old   map[string]*string // of an Update or Delete: the replica identity, if the server sends it
}

// The kinds of Row.
const Begin, End, Insert, Update, Delete, Truncate = "begin", "end", "insert", "update", "delete", "truncate"

type marked = operators.Marked[Row, pglogrepl.LSN]

// Follow returns the changes after start, or, if that is 0 or the slot does not have it any more, a snapshot and what
// follows it. The rows of a transaction are a group: all but the last bear the position before it. Store At with the
// effects of the whole group, and a Bookmark's too, before the consumer returns: the server is told then, at the latest when
// Follow ends, and removes the WAL before it.
//
// An attempt fails if the server is silent for longer than silence, of which a third is the time between two signs of life.
// A consumer must return in less than the server's wal_sender_timeout, a minute by default. The policy needs
// retry.ResetAfter as well.
func Follow(url, slot, publication string, start pglogrepl.LSN, silence time.Duration, policy stream.RetryHandler) stream.Stream[marked] {
	return operators.ResumePositions(start, Open(url, slot, publication, silence), policy)
}

// Open returns one connection of Follow, for recipes/offset, which stores the position with each effect.
func Open(url, slot, publication string, silence time.Duration) func(at pglogrepl.LSN) stream.Stream[marked] {
	return func(at pglogrepl.LSN) stream.Stream[marked] {
		return stream.Stream[marked](func(ctx context.Context, yield func(marked) bool) error {
			conn, err := pgconn.Connect(ctx, url+"&replication=database")
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			there, err := column(conn.Exec(ctx, fmt.Sprintf("SELECT slot_name FROM pg_replication_slots WHERE slot_name = '%s' "+
				"AND confirmed_flush_lsn <= '%s' AND wal_status <> 'lost'", slot, at)))
			more := true
			if err == nil && len(there) == 0 { // the server has removed what follows
				at, more, err = snapshot(ctx, url, conn, slot, publication, yield)
				more = more && yield(marked{Value: Row{Kind: End}, At: at}) // its transaction is over: locks are free
			}
			if err != nil || !more {
				return err
			}
			o := pglogrepl.StartReplicationOptions{PluginArgs: []string{"proto_version '1'", "publication_names '" + publication + "'"}}
			if err := pglogrepl.StartReplication(ctx, conn, slot, at, o); err != nil {
				return err
			}
			stream.Works(ctx)
			return changes(ctx, conn, at, silence/3, yield)
		}).Timeout(silence)
	}
}

// column returns the first column of a result.
func column(r *pgconn.MultiResultReader) (values []string, err error) {
	results, err := r.ReadAll()
	for _, result := range results {
		for _, row := range result.Rows {
			values = append(values, string(row[0]))
		}
	}
	return values, err
}

// snapshot makes the slot anew, yields the rows as they are where it begins, and returns this position; more is false if
// the consumer has stopped. The rows bear the position 0: a snapshot that is cut is made again.
func snapshot(ctx context.Context, url string, conn *pgconn.PgConn, slot, publication string, yield func(marked) bool) (at pglogrepl.LSN, more bool, err error) {
	// The slot is active for a while if its process was killed: then this fails, and the next attempt tries again.
	_, err = column(conn.Exec(ctx, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '"+slot+"'"))
	var created pglogrepl.CreateReplicationSlotResult
	if err == nil {
		o := pglogrepl.CreateReplicationSlotOptions{Mode: pglogrepl.LogicalReplication, SnapshotAction: "EXPORT_SNAPSHOT"}
		created, err = pglogrepl.CreateReplicationSlot(ctx, conn, slot, "pgoutput", o)
	}
	if err != nil {
		return 0, false, err
	}
	reader, err := pgconn.Connect(ctx, url)
	if err != nil {
		return 0, false, err
	}
	defer reader.Close(ctx)
	tables, err := column(reader.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '"+created.SnapshotName+"';"+
		"SELECT format('%I.%I', schemaname, tablename) FROM pg_publication_tables WHERE pubname = '"+publication+"'"))
	if err != nil || !yield(marked{Value: Row{Kind: Begin, First: true}}) {
		return 0, false, err
	}
	for _, table := range tables {
		rows := reader.Exec(ctx, "SELECT * FROM "+table)
		for rows.NextResult() {
			for r := rows.ResultReader(); r.NextRow(); {
				row := Row{Kind: Insert, Table: table, New: map[string]*string{}}
				for i, value := range r.Values() {
					if row.New[r.FieldDescriptions()[i].Name] = nil; value != nil {
						row.New[r.FieldDescriptions()[i].Name] = new(string(value))
					}
				}
				if !yield(marked{Value: row}) {
					return 0, false, nil
				}
			}
		}
		if err := rows.Close(); err != nil {
			return 0, false, err
		}
	}
	at, err = pglogrepl.ParseLSN(created.ConsistentPoint)
	return at, err == nil, err
}

// changes yields what comes after at. The position moves when the consumer has returned, and then it is reported: every so
// often, when the server asks for it, and at the end.
func changes(ctx context.Context, conn *pgconn.PgConn, at pglogrepl.LSN, every time.Duration, yield func(marked) bool) error {
	report := func() error {
		return pglogrepl.SendStandbyStatusUpdate(ctx, conn, pglogrepl.StandbyStatusUpdate{WALWritePosition: at, ReplyRequested: true})
	}
	defer func() { // waits until the server has read it: a connection that is closed earlier may lose it
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), every)
		defer cancel()
		_ = report()
		conn.Frontend().Send(&pgproto3.CopyDone{})
		err := conn.Frontend().Flush()
		for done := false; err == nil && !done; {
			var m pgproto3.BackendMessage
			m, err = conn.ReceiveMessage(ctx)
			_, done = m.(*pgproto3.CopyDone)
		}
	}()
	var next time.Time       // when to report
	var ready, held []marked // held is the last row of a transaction, until its commit
	within := false          // a transaction
	tables := map[uint32]*pglogrepl.RelationMessage{}
	hold := func(kind string, id uint32, before, after *pglogrepl.TupleData) {
		t := tables[id]
		row := Row{Kind: kind, First: held == nil, Table: t.Namespace + "." + t.RelationName, New: columns(t, after), Old: columns(t, before)}
		ready, held = append(ready, held...), []marked{{Value: row, At: at}}
	}
	for {
		if time.Now().After(next) {
			if err := report(); err != nil {
				return err
			}
			next = time.Now().Add(every)
		}
		wait, cancel := context.WithDeadline(ctx, next)
		message, err := conn.ReceiveMessage(wait)
		cancel()
		if pgconn.Timeout(err) && ctx.Err() == nil {
			continue
		}
		data, is := message.(*pgproto3.CopyData)
		if failure, failed := message.(*pgproto3.ErrorResponse); failed {
			return pgconn.ErrorResponseToPgError(failure)
		} else if !is {
			return errors.Join(errors.New("the replication has ended"), err)
		}
		if ready = nil; data.Data[0] == pglogrepl.PrimaryKeepaliveMessageByteID {
			alive, err := pglogrepl.ParsePrimaryKeepaliveMessage(data.Data[1:])
			if err != nil {
				return err
			}
			if alive.ReplyRequested {
				next = time.Time{}
			}
			if ready = []marked{{Bookmark: true, At: at}}; !within { // else the server is ahead of what it has sent
				ready[0].At = max(at, alive.ServerWALEnd)
			}
		} else if log, err := pglogrepl.ParseXLogData(data.Data[1:]); err != nil {
			return err
		} else if change, err := pglogrepl.Parse(log.WALData); err != nil {
			return err
		} else {
			switch c := change.(type) {
			case *pglogrepl.RelationMessage:
				tables[c.RelationID] = c
			case *pglogrepl.BeginMessage:
				within = true
			case *pglogrepl.InsertMessage:
				hold(Insert, c.RelationID, nil, c.Tuple)
			case *pglogrepl.UpdateMessage:
				hold(Update, c.RelationID, c.OldTuple, c.NewTuple)
			case *pglogrepl.DeleteMessage:
				hold(Delete, c.RelationID, c.OldTuple, nil)
			case *pglogrepl.TruncateMessage:
				for _, id := range c.RelationIDs {
					hold(Truncate, id, nil, nil)
				}
			case *pglogrepl.CommitMessage:
				ready, held, within = append(held, marked{Bookmark: true})[:1], nil, false
				ready[0].At = c.TransactionEndLSN
			}
		}
		for _, m := range ready {
			if !yield(m) {
				return nil
			}
			at = m.At
		}
	}
}

// columns returns a tuple's columns, none of a nil one.
func columns(table *pglogrepl.RelationMessage, tuple *pglogrepl.TupleData) map[string]*string {
	values := map[string]*string{}
	for i := 0; tuple != nil && i < len(tuple.Columns); i++ {
		switch c := tuple.Columns[i]; c.DataType {
		case pglogrepl.TupleDataTypeNull:
			values[table.Columns[i].Name] = nil
		case pglogrepl.TupleDataTypeText:
			values[table.Columns[i].Name] = new(string(c.Data))
		}
	}
	return values
}
