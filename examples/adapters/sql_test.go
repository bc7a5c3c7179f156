package adapters

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// inTx runs f in a new transaction for each attempt, so that nothing of a failed attempt is left.
func inTx(ctx context.Context, db *sql.DB, p retry.Policy, f func(*sql.Tx) error) error {
	return retry.Run(ctx, p, func(ctx context.Context) error {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			return err
		}
		defer tx.Rollback() // after Commit it does nothing
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// conflict reports whether the transaction failed because of a conflict with another one. The standard's code for this
// is 40001, which pgconn.PgError returns, for example.
func conflict(err error) bool {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return ok && e.SQLState() == "40001"
}

func Example_databaseSQL() {
	db := sql.OpenDB(bank{conflicts: 2})
	defer db.Close()

	policy := retry.New(backoff.Exponential(time.Millisecond, 2).Cap(time.Second).Jitter(jitter.Full),
		retry.Limit(10), retry.If(conflict), retry.OnRetry(func(_ context.Context, e retry.Event) { fmt.Println(e.Err) }))
	err := inTx(context.Background(), db, policy, func(tx *sql.Tx) error {
		if _, err := tx.Exec("UPDATE account SET balance = balance - 10 WHERE id = 1"); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE account SET balance = balance + 10 WHERE id = 2")
		return err
	})
	fmt.Println(err)
	// Output:
	// could not serialize access
	// could not serialize access
	// <nil>
}

// bank is a database whose first transactions fail because of conflicts.
type bank struct{ conflicts int }

type lost struct{}

func (lost) Error() string    { return "could not serialize access" }
func (lost) SQLState() string { return "40001" }

func (b bank) Connect(context.Context) (driver.Conn, error) { return &bankConn{&b}, nil }
func (b bank) Driver() driver.Driver                        { return nil }

type bankConn struct{ bank *bank }

func (c *bankConn) Prepare(string) (driver.Stmt, error) { return bankStmt{}, nil }
func (c *bankConn) Close() error                        { return nil }
func (c *bankConn) Begin() (driver.Tx, error)           { return c, nil }
func (c *bankConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return c, nil
}
func (c *bankConn) Rollback() error { return nil }
func (c *bankConn) Commit() error {
	if c.bank.conflicts--; c.bank.conflicts >= 0 {
		return lost{}
	}
	return nil
}

type bankStmt struct{}

func (bankStmt) Close() error                               { return nil }
func (bankStmt) NumInput() int                              { return -1 }
func (bankStmt) Exec([]driver.Value) (driver.Result, error) { return driver.RowsAffected(1), nil }
func (bankStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, io.EOF }
