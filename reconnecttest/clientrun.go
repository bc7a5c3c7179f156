package reconnecttest

import (
	"context"
	"fmt"
	"runtime/debug"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
)

// runFunc runs a client until ctx ends, or until got returns false.
type runFunc func(ctx context.Context, got func(v any) bool) error

// clientRun is a client that runs on its own goroutine.
type clientRun struct {
	done     chan struct{}
	id       int
	err      error
	panicked string
}

// start starts the client.
func (c runFunc) start(ctx context.Context, got func(v any) bool) *clientRun {
	r := &clientRun{done: make(chan struct{})}
	started := make(chan struct{})
	go func() {
		defer close(r.done)
		defer func() {
			if v := recover(); v != nil {
				r.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
		}()
		r.id = goroutine.Current().ID
		close(started)
		r.err = c(ctx, got)
	}()
	<-started
	return r
}

// within reports whether the client returns within d.
func (r *clientRun) within(d time.Duration) bool {
	select {
	case <-r.done:
		return true
	case <-time.After(d):
	}
	synctest.Wait()
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
