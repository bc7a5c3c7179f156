package durable

import (
	"sync/atomic"
	"time"
)

// turns lets the attempts of a process run side by side, or one of them alone.
type turns struct {
	door    chan struct{} // full while an attempt begins, and while one waits to run alone or does
	running atomic.Int64
	left    chan struct{} // signals that none is running
}

func newTurns() turns { return turns{door: make(chan struct{}, 1), left: make(chan struct{}, 1)} }

// enter begins an attempt next to others. It waits while one runs alone, and returns false if stopped is closed first.
func (t *turns) enter(stopped <-chan struct{}) bool {
	select {
	case t.door <- struct{}{}:
		t.running.Add(1)
		<-t.door
		return true
	case <-stopped:
		return false
	}
}

// leave ends an attempt that has entered.
func (t *turns) leave() {
	if t.running.Add(-1) == 0 {
		select {
		case t.left <- struct{}{}:
		default:
		}
	}
}

// enterAlone begins an attempt while no other runs. It waits at most for the given time, in which no other attempt
// begins, and returns false if others still run then.
func (t *turns) enterAlone(wait time.Duration) bool {
	timeout := time.After(wait)
	select {
	case t.door <- struct{}{}:
	case <-timeout: // another one runs alone
		return false
	}
	for t.running.Load() > 0 {
		select {
		case <-t.left:
		case <-timeout:
			<-t.door
			return false
		}
	}
	return true
}

// leaveAlone ends an attempt that ran alone.
func (t *turns) leaveAlone() { <-t.door }
