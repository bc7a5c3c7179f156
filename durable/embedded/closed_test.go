package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/retry"
)

// All calls of a queue whose connection was closed for good return an error that says so.
func TestEveryCallOnAClosedConnection(t *testing.T) {
	t.Parallel()
	nc := connect(t, start(t))
	q := open(t, nc, durable.Config{})
	put(t, q, "", durable.PutID("7"))
	nc.Close()
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Put":       func() error { _, err := q.Put(ctx, nil); return err },
		"PutAt":     func() error { _, err := q.PutAt(ctx, time.Now().Add(time.Hour), nil); return err },
		"PutAll":    func() error { return q.PutAll(ctx, []durable.NewJob{{}})[0].Err },
		"Stats":     func() error { _, err := q.Stats(ctx); return err },
		"Dead":      func() error { _, err := q.Dead().Collect(ctx); return err },
		"Revive":    func() error { return q.Revive(ctx, "7") },
		"ReviveAll": func() error { _, err := q.ReviveAll(ctx, nil); return err },
		"Forget":    func() error { return q.Forget(ctx, "7") },
		"Work":      func() error { return q.Work(ctx, 1, func(context.Context, *durable.Job) error { return nil }) },
		"Jobs":      func() error { _, err := q.Jobs().Collect(ctx); return err },
		"Delete":    func() error { return q.Delete(ctx) },
	} {
		err := call()
		if !errors.Is(err, durable.ErrClosed) || !strings.HasPrefix(err.Error(), "durable: ") {
			t.Errorf("%s: got %v, want ErrClosed", name, err)
		}
	}
}

// Fail without an error is Done.
func TestFail_Nil(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{})
	put(t, q, "")
	for job, err := range q.Jobs().Take(1).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := job.Fail(nil); err != nil {
			t.Error(err)
		}
		if err := job.Done(); !errors.Is(err, durable.ErrSettled) {
			t.Errorf("got %v, want ErrSettled", err)
		}
	}
	untilEmpty(t, q)
	if c := q.Counts(); c.Done != 1 || c.Died+c.Retried != 0 {
		t.Errorf("got %v, want one job done", c)
	}
}

// The dead letters are read one by one, until the consumer stops or its context ends.
func TestDead_StoppedAndCancelled(t *testing.T) {
	t.Parallel()
	q := open(t, start(t), durable.Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0))})
	for i := range 3 {
		put(t, q, "", durable.PutID(fmt.Sprint(i)))
	}
	work(t, q, 1, func(context.Context, *durable.Job) error { return errors.New("no") })
	eventually(t, "all are dead", func() bool { return q.Counts().Died == 3 })
	letters, err := q.Dead().Take(2).Collect(t.Context())
	if len(letters) != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", len(letters), err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("cause")
	n := 0
	err = q.Dead().ForEach(ctx, func(*durable.DeadLetter) { n++; cancel(cause) })
	if n != 1 || !errors.Is(err, cause) {
		t.Errorf("got %d, %v, want 1 and the cause", n, err)
	}
	if n, err := q.ReviveAll(ctx, nil); n != 0 || !errors.Is(err, cause) {
		t.Errorf("revived %d, %v, want none and the cause", n, err)
	}
}

func TestSnooze_Negative(t *testing.T) {
	defer func() {
		if v := recover(); v != "durable: Snooze: d is -1s, want at least 0" {
			t.Errorf("got %v", v)
		}
	}()
	durable.Snooze(-time.Second)
}
