package durable_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// A worker of a queue in a cluster. It stops gracefully: jobs are finished or handed back.
func Example() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	nc, err := nats.Connect("nats://n1:4222,nats://n2:4222,nats://n3:4222", nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	q, err := durable.Open(ctx, nc, durable.Config{
		Name:   "mail",
		Policy: retry.New(backoff.Exponential(time.Second, 2).Cap(time.Hour).Jitter(jitter.Equal), retry.Within(24*time.Hour)),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	err = q.Work(ctx, 16, func(ctx context.Context, job *durable.Job) error {
		if len(job.Data) == 0 {
			return retry.Permanent(errors.New("an empty letter")) // a dead letter at once
		}
		return send(ctx, job.ID, job.Data)
	})
	if err != nil {
		log.Print(err)
	}
}

func send(ctx context.Context, id string, letter []byte) error { return nil }

// After a fault has been repaired, the dead letters that it caused are attempted again.
func ExampleQueue_ReviveAll() {
	var q *durable.Queue // returned by Open
	n, err := q.ReviveAll(context.Background(), func(letter *durable.DeadLetter) bool { return letter.Cause != "permanent" })
	if err != nil {
		log.Fatal(err)
	}
	log.Print(n, " jobs are attempted again")
}

// A job waits for the morning. That is not a failure, so the policy is not consulted.
func ExampleSnooze() {
	handler := func(ctx context.Context, job *durable.Job) error {
		if night(time.Now()) {
			return durable.Snooze(time.Hour)
		}
		return send(ctx, job.ID, job.Data)
	}
	_ = handler
}

// A job polls, in rounds without an end. The next round begins a minute after one that has succeeded.
func ExampleJob_Again() {
	poll := func(_ context.Context, job *durable.Job) error {
		fmt.Println("polled by", job.ID)
		return job.Again(time.Minute)
	}
	fmt.Println(poll(context.Background(), &durable.Job{ID: "feed"})) // as in a test of the handler
	// Output:
	// polled by feed
	// <nil>
}

func night(now time.Time) bool { return now.Hour() < 6 }

func ExampleResume() {
	rowsAfter := func(id int) stream.Stream[int] { return stream.Range(id+1, 3) } // of a table, say
	job := &durable.Job{ID: "import"}                                             // Work passes it to the handler
	err := durable.Resume(job, 0, rowsAfter, func(_, id int) int { return id }).TryForEach(context.Background(), func(_ context.Context, id int) error {
		fmt.Println("row", id)
		if id == 2 {
			return errors.New("the target is down")
		}
		return nil
	})
	fmt.Println(err)
	// In Work, the position 1 is stored with this failure, and the next attempt begins with row 2. Here the same attempt
	// goes on.
	rows, _ := durable.Resume(job, 0, rowsAfter, func(_, id int) int { return id }).Collect(context.Background())
	fmt.Println(rows)
	// Output:
	// row 1
	// row 2
	// the target is down
	// [2 3 4]
}
