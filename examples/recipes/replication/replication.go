// Package replication follows the tables of a Postgres publication by logical replication: a snapshot of their rows,
// and then each change, in the order of the commits. The server must have wal_level = logical.
//
// A slot keeps the WAL until it is read. One that nobody reads fills the server's disk: set max_slot_wal_keep_size, and
// drop the slots that are not needed. The server then invalidates a slot that is too far behind. That is a lost
// position, which begins with a new slot and a snapshot.
package replication

import (
	"bytes"
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

// Row is a change of a row, or a mark. A transaction is a Begin, its changes and a Commit. A snapshot is a Snapshot, an
// Insert for each row and a Commit: rows that have not come between them do not exist any more. After a Begin or a
// Snapshot, drop what you hold without its Commit: it was cut, and comes again.
type Row struct {
	Kind  string // Snapshot, Begin, Insert, Update, Delete, Truncate or Commit
	Table string
	// New has the columns as text, NULL as nil, without large values that an Update has not changed. Old is the replica
	// identity before an Update or Delete, if the server sends it.
	New, Old map[string][]byte
}

// The kinds of Row.
const Snapshot, Begin, Insert, Update, Delete, Truncate, Commit = "snapshot", "begin", "insert", "update", "delete", "truncate", "commit"

type marked = operators.Marked[Row, pglogrepl.LSN]

// Open returns one connection, for operators.ResumePositions, or for recipes/offset, which stores the position with
// each effect: the changes after at, or, if that is 0 or the slot does not have it any more, a snapshot and what
// follows it. The rows of a transaction are a group: all but its Commit bear the position before it. Store At with the
// effects of the whole group, and a Bookmark's too, before the consumer returns: the server is told then, at the latest
// when the stream ends, and removes the WAL before it.
//
// It fails if the server is silent for longer than silence, of which a third is the time between two signs of life. A
// consumer must return in less than the server's wal_sender_timeout, a minute by default. The policy needs
// retry.ResetAfter as well.
func Open(url, slot, publication string, silence time.Duration) func(at pglogrepl.LSN) stream.Stream[marked] {
	return func(at pglogrepl.LSN) stream.Stream[marked] {
		return stream.Stream[marked](func(ctx context.Context, yield func(marked) bool) error {
			conn, err := pgconn.Connect(ctx, url+"&replication=database")
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			there, err := conn.Exec(ctx, fmt.Sprintf("SELECT 1 FROM pg_replication_slots WHERE slot_name = '%s' "+
				"AND confirmed_flush_lsn <= '%s' AND wal_status <> 'lost'", slot, at)).ReadAll()
			more := true
			if err == nil && len(there[0].Rows) == 0 { // the server has removed what follows
				at, more, err = snapshot(ctx, conn, slot, publication, yield)
			}
			if err != nil || !more {
				return err
			}
			o := pglogrepl.StartReplicationOptions{PluginArgs: []string{"proto_version '1'", "publication_names '" + publication + "'"}}
			if err := pglogrepl.StartReplication(ctx, conn, slot, at, o); err != nil {
				return err
			}
			return changes(ctx, conn, at, silence/3, yield)
		}).Timeout(silence)
	}
}

// snapshot makes the slot anew, yields the rows as they are where it begins, and returns this position; more is false
// if the consumer has stopped. The rows bear the position 0: a snapshot that is cut is made again.
func snapshot(ctx context.Context, conn *pgconn.PgConn, slot, publication string, yield func(marked) bool) (at pglogrepl.LSN, more bool, err error) {
	// The slot is active for a while if its process was killed: then it is still there, and the next attempt tries again.
	dropped := pglogrepl.DropReplicationSlot(ctx, conn, slot, pglogrepl.DropReplicationSlotOptions{})
	_, begun := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ").ReadAll()
	created, err := pglogrepl.CreateReplicationSlot(ctx, conn, slot, "pgoutput", pglogrepl.CreateReplicationSlotOptions{SnapshotAction: "USE_SNAPSHOT"})
	if err != nil {
		return 0, false, errors.Join(dropped, begun, err)
	}
	selects, err := conn.Exec(ctx, "SELECT string_agg(format('SELECT %L, * FROM %I.%I;', schemaname || '.' || tablename, schemaname, "+
		"tablename), '') FROM pg_publication_tables WHERE pubname = '"+publication+"'").ReadAll()
	if err != nil || !yield(marked{Value: Row{Kind: Snapshot}}) {
		return 0, false, err
	}
	results := conn.Exec(ctx, string(selects[0].Rows[0][0])+"COMMIT") // before the mark: the locks are free
	for results.NextResult() {
		for r := results.ResultReader(); r.NextRow(); {
			row := Row{Kind: Insert, Table: string(r.Values()[0]), New: map[string][]byte{}}
			for i, field := range r.FieldDescriptions()[1:] {
				row.New[field.Name] = bytes.Clone(r.Values()[1+i])
			}
			if !yield(marked{Value: row}) {
				return 0, false, nil
			}
		}
	}
	at, invalid := pglogrepl.ParseLSN(created.ConsistentPoint)
	err = errors.Join(results.Close(), invalid)
	return at, err == nil && yield(marked{Value: Row{Kind: Commit}, At: at}), err
}

// changes yields what comes after at. The position moves when the consumer has returned, and then it is reported: every
// so often, when the server asks for it, and at the end.
func changes(ctx context.Context, conn *pgconn.PgConn, at pglogrepl.LSN, every time.Duration, yield func(marked) bool) error {
	report := func() { // a connection that is broken fails below
		_ = pglogrepl.SendStandbyStatusUpdate(ctx, conn, pglogrepl.StandbyStatusUpdate{WALWritePosition: at, ReplyRequested: true})
	}
	defer func() { // waits until the server has read it: a connection that is closed earlier may lose it
		_ = conn.Conn().SetDeadline(time.Now().Add(every))
		report()
		_, _ = pglogrepl.SendStandbyCopyDone(ctx, conn)
	}()
	var next time.Time // when to report
	within := false    // a transaction
	tables := map[uint32]*pglogrepl.RelationMessage{}
	for {
		if time.Now().After(next) {
			report()
			next = time.Now().Add(every)
		}
		_ = conn.Conn().SetReadDeadline(next)
		message, err := conn.ReceiveMessage(ctx)
		if pgconn.Timeout(err) && ctx.Err() == nil {
			continue
		}
		change, err := decode(message, err)
		if err != nil {
			return err
		}
		mark := marked{Bookmark: true, At: at} // also for what is no change: the server is alive
		switch c := change.(type) {
		case pglogrepl.PrimaryKeepaliveMessage:
			if !within { // else the server is ahead of what it has sent
				mark.At = max(at, c.ServerWALEnd)
			}
			if c.ReplyRequested {
				next = time.Time{}
			}
		case *pglogrepl.RelationMessage:
			tables[c.RelationID] = c
		case *pglogrepl.BeginMessage:
			within, mark = true, marked{Value: Row{Kind: Begin}, At: at}
		case *pglogrepl.InsertMessage:
			mark = marked{Value: row(Insert, tables[c.RelationID], nil, c.Tuple), At: at}
		case *pglogrepl.UpdateMessage:
			mark = marked{Value: row(Update, tables[c.RelationID], c.OldTuple, c.NewTuple), At: at}
		case *pglogrepl.DeleteMessage:
			mark = marked{Value: row(Delete, tables[c.RelationID], c.OldTuple, nil), At: at}
		case *pglogrepl.TruncateMessage:
			for _, id := range c.RelationIDs {
				if !yield(marked{Value: row(Truncate, tables[id], nil, nil), At: at}) {
					return nil
				}
			}
		case *pglogrepl.CommitMessage:
			within, mark = false, marked{Value: Row{Kind: Commit}, At: c.TransactionEndLSN}
		}
		if !yield(mark) {
			return nil
		}
		at = mark.At
	}
}

// decode returns a keepalive or a change.
func decode(message pgproto3.BackendMessage, err error) (any, error) {
	switch m := message.(type) {
	case *pgproto3.CopyData:
		if m.Data[0] == pglogrepl.PrimaryKeepaliveMessageByteID {
			return pglogrepl.ParsePrimaryKeepaliveMessage(m.Data[1:])
		}
		log, err := pglogrepl.ParseXLogData(m.Data[1:])
		if err != nil {
			return nil, err
		}
		return pglogrepl.Parse(log.WALData)
	case *pgproto3.ErrorResponse:
		return nil, pgconn.ErrorResponseToPgError(m)
	}
	return nil, errors.Join(errors.New("the replication has ended"), err)
}

func row(kind string, t *pglogrepl.RelationMessage, before, after *pglogrepl.TupleData) Row {
	return Row{Kind: kind, Table: t.Namespace + "." + t.RelationName, New: columns(t, after), Old: columns(t, before)}
}

// columns returns a tuple's columns, none of a nil one.
func columns(table *pglogrepl.RelationMessage, tuple *pglogrepl.TupleData) map[string][]byte {
	values := map[string][]byte{}
	for i := 0; tuple != nil && i < len(tuple.Columns); i++ {
		if c := tuple.Columns[i]; c.DataType != pglogrepl.TupleDataTypeToast {
			values[table.Columns[i].Name] = c.Data
		}
	}
	return values
}
