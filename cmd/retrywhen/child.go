package main

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"sync"
	"time"
)

// child is the process of the present attempt, if there is one, and the signal that ends it all, once it came.
type child struct {
	mu      sync.Mutex
	process *os.Process
	caught  os.Signal
	waiting bool // no process was running when it came
	group   bool // the process leads a group of its own
}

// errEnded is why no process was started: a signal has ended it all.
var errEnded = errors.New("ended by a signal")

// start starts the command, unless a signal has ended it all.
func (c *child) start(cmd *exec.Cmd, foreground bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.caught != nil {
		return errEnded
	}
	c.group = !foreground && ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	c.process = cmd.Process
	return nil
}

func (c *child) ended() {
	c.mu.Lock()
	c.process = nil
	c.mu.Unlock()
}

// pass passes the signal on to the process, and reports whether it ends it all.
func (c *child) pass(s os.Signal) (ends bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		sendSignal(c.process, s, c.group)
	}
	if !endsAll(s) {
		return false
	}
	if c.caught == nil {
		c.caught, c.waiting = s, c.process == nil
	}
	return true
}

// caughtSignal returns the signal that ended it all, and whether no process was running then.
func (c *child) caughtSignal() (s os.Signal, waiting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caught, c.waiting
}

// limit has the process end after d, and be killed some time later. The function it returns is called when the process
// has ended, and reports whether it was told to.
func (c *child) limit(d, killAfter time.Duration) (tooLong func() bool) {
	if d <= 0 {
		return func() bool { return false }
	}
	var mu sync.Mutex
	told := false
	end := func(s os.Signal) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.process != nil {
			mu.Lock()
			told = true
			mu.Unlock()
			sendSignal(c.process, s, c.group)
		}
	}
	soft := time.AfterFunc(d, func() { end(softly) })
	hard := time.AfterFunc(d+min(killAfter, math.MaxInt64-d), func() { end(os.Kill) })
	return func() bool {
		soft.Stop()
		hard.Stop()
		mu.Lock()
		defer mu.Unlock()
		return told
	}
}
