package operators

import (
	"fmt"
	"runtime/debug"

	"github.com/retrywhen/retrywhen/internal/handoff"
)

// runSource runs the source on a goroutine of its own.
func (r *mapRun[T, U]) runSource() {
	defer r.all.Done()
	returned := false
	defer func() {
		if !returned {
			r.crashed(recover(), nil)
		}
	}()
	err := r.src(r.ctx, r.intake)
	returned = true
	r.mu.Lock()
	r.sourceEnd, r.sourceErr = true, err
	r.tell()
	r.mu.Unlock()
}

// intake is the source's yield: it returns when the item has a place.
func (r *mapRun[T, U]) intake(item T) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.closed && !r.admits() {
		r.sourceWaits = true
		r.mu.Unlock()
		<-r.room
		r.mu.Lock()
	}
	if r.closed {
		r.left = append(r.left, outcome[T, U]{item: item})
		return false
	}
	r.fresh.push(item)
	r.delegate(noTime)
	return true
}

// admits reports whether there is a place for an item of the source.
func (r *mapRun[T, U]) admits() bool {
	fresh := r.fresh.len()
	return fresh < r.slack && fresh+r.calls+r.waiting.len()+r.out.held < r.MaxPending
}

// admit wakes the source if there is a place again.
func (r *mapRun[T, U]) admit() {
	if r.sourceWaits && !r.closed && r.fresh.len() <= r.slack/2 && r.admits() {
		r.sourceWaits = false
		r.room <- struct{}{}
	}
}

// withSourceErr returns the error that ends the stream, with the source's if that has failed before.
func (r *mapRun[T, U]) withSourceErr(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sourceErr == nil {
		return err
	}
	return fmt.Errorf("%w: after the source had failed: %w", err, r.sourceErr)
}

// crashed is called on a goroutine that ends without returning, with what it recovered and the item it had in hand.
func (r *mapRun[T, U]) crashed(v any, left *outcome[T, U]) {
	c := new(crash)
	switch v := v.(type) {
	case nil: // runtime.Goexit
	case *handoff.Panic: // keeps its first stack
		c.panic = v
	default:
		c.panic = &handoff.Panic{Value: v, Stack: debug.Stack()}
	}
	r.mu.Lock()
	if left != nil {
		r.left = append(r.left, *left)
	}
	if r.crash == nil {
		r.crash = c
	}
	r.tell()
	r.mu.Unlock()
}
