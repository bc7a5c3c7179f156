package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/retrywhen/retrywhen/examples/recipes/outbox"
)

func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// A job is put into the table in a transaction, and its first attempt fails.
func Example() {
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(outbox.Schema); err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	tries := 0
	err = mail(ctx, db, func(_ context.Context, id, body string) error {
		if tries++; tries == 1 {
			fmt.Println(id, "fails")
			return errors.New("no connection")
		}
		fmt.Println(id, body)
		stop()
		return nil
	})
	fmt.Println(err)
	// Output:
	// mail-4711 fails
	// mail-4711 Dear customer
	// context canceled
}

func mail(ctx context.Context, db *sql.DB, send func(ctx context.Context, id, body string) error) error {
	jobs := outbox.Table{DB: db, Dialect: outbox.SQLite, Policy: policy, Lease: time.Minute, Every: time.Second}
	err := inTx(ctx, db, func(tx *sql.Tx) error { // the transaction that causes the job
		return jobs.Put(ctx, tx, "mail-4711", "Dear customer")
	})
	if err != nil {
		return err
	}
	// In any number of processes, until ctx ends. A job whose worker dies is tried again when its lease has ended: send
	// must be idempotent. Or the effect is in this database, and j.Done(ctx, tx) in its transaction: then it is had
	// once.
	return jobs.Work(ctx, 8, func(ctx context.Context, j outbox.Job) error { return send(ctx, j.ID, j.Body) })
}
