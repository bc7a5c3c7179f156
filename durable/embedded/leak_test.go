package embedded_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/durable"
)

func TestNothingIsLeftRunning(t *testing.T) {
	srv := start(t)
	nc := connect(t, srv)
	q := open(t, nc, durable.Config{Policy: crashPolicy})
	for range 100 {
		put(t, q, "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	if err := q.Work(ctx, 1, func(context.Context, *durable.Job) error {
		if n++; n == 50 {
			cancel()
		}
		return errors.New("no")
	}); err != nil {
		t.Error(err)
	}
	if _, err := q.Jobs().Take(10).Collect(t.Context()); err != nil {
		t.Error(err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	nc.Close()
	// The server continues, with its goroutines.
	eventually(t, "no goroutine of the queue or its connection is left", func() bool {
		stacks := make([]byte, 4<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !strings.Contains(string(stacks), "retrywhen/durable.") && !strings.Contains(string(stacks), "nats-io/nats.go")
	})
}
