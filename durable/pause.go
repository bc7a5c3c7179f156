package durable

import (
	"context"
	"fmt"
	"time"
)

// Pause stops the delivery of the queue's jobs to all workers until the given time. Attempts that run, jobs that were
// fetched ahead, and retries of these after less than a second go on. Jobs can be put, and waits end, but other
// attempts begin after the pause. Another Pause changes the time. Pause returns an error if until is not in the future.
func (q *Queue) Pause(ctx context.Context, until time.Time) error {
	if !until.After(time.Now()) {
		return fmt.Errorf("durable: pause: until is %v, want a time in the future", until.Format(time.RFC3339))
	}
	return q.setPause(ctx, "pause", until)
}

// Unpause ends a pause. Workers get jobs within three seconds. It returns nil if there is no pause.
func (q *Queue) Unpause(ctx context.Context) error {
	return q.setPause(ctx, "unpause", time.Time{})
}

// Paused returns until when the queue is paused, the zero time if it is not.
func (q *Queue) Paused(ctx context.Context) (time.Time, error) {
	info, err := q.first.Info(ctx)
	if err != nil {
		return time.Time{}, explain("paused", err)
	}
	if !info.Paused || info.Config.PauseUntil == nil {
		return time.Time{}, nil
	}
	return *info.Config.PauseUntil, nil
}

// setPause pauses the queue until the given time, or ends a pause if that is zero.
func (q *Queue) setPause(ctx context.Context, what string, until time.Time) error {
	for _, s := range []stage{again, first} {
		name := string(s) + q.number
		err := q.ask(ctx, "CONSUMER.PAUSE."+q.config.streamName()+"."+name, func(ctx context.Context) error {
			_, err := q.jobs.PauseConsumer(ctx, name, until)
			return err
		})
		if err != nil {
			return explain(what, err)
		}
	}
	return nil
}
