package durable_test

import (
	"context"
	"errors"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// A worker of a queue in a cluster. It stops gracefully: jobs are finished or handed back.
func Example() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	q, err := durable.Open(ctx, durable.Config{
		URL:      "nats://n1:4222,nats://n2:4222,nats://n3:4222",
		Name:     "mail",
		Replicas: 3,
		Policy:   retry.New(backoff.Exponential(time.Second, 2).Cap(time.Hour).Jitter(jitter.Equal), retry.Within(24*time.Hour)),
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

// What has died of a fault that is mended by now gets another chance.
func ExampleQueue_Revive() {
	var q *durable.Queue // as opened
	ctx := context.Background()
	for letter, err := range q.Dead().All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if letter.Cause != "permanent" {
			if err := q.Revive(ctx, letter.ID); err != nil {
				log.Fatal(err)
			}
		}
	}
}
