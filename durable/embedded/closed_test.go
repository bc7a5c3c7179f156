package embedded_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/durable"
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
