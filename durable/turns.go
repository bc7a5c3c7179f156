package durable

import (
	"sync"
	"time"
)

// turns lets the attempts of a process run side by side, or one of them alone.
type turns struct {
	mu      sync.Mutex
	changed sync.Cond
	running int
	alone   bool // one runs alone
	asking  bool // one waits to run alone: no other begins
}

func (t *turns) init() { t.changed.L = &t.mu }

// enter begins an attempt next to others. It waits while one runs alone, and returns false if stopped is closed first.
func (t *turns) enter(stopped <-chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.alone || t.asking {
		select {
		case <-stopped:
			return false
		default:
		}
		t.changed.Wait()
	}
	t.running++
	return true
}

// leave ends an attempt that has entered.
func (t *turns) leave() { t.change(func() { t.running-- }) }

// enterAlone begins an attempt while no other runs. It waits at most for the given time, in which no other attempt
// begins, and returns false if others still run then.
func (t *turns) enterAlone(wait time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alone || t.asking {
		return false
	}
	if t.running > 0 {
		over := false
		timer := time.AfterFunc(wait, func() { t.change(func() { over = true }) })
		t.asking = true
		for t.running > 0 && !over {
			t.changed.Wait()
		}
		timer.Stop()
		t.asking = false
		t.changed.Broadcast()
	}
	t.alone = t.running == 0
	return t.alone
}

// leaveAlone ends an attempt that ran alone.
func (t *turns) leaveAlone() { t.change(func() { t.alone = false }) }

// wake makes enter look whether it was stopped.
func (t *turns) wake() { t.change(func() {}) }

func (t *turns) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	t.changed.Broadcast()
}
