package main

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"sync"
	"time"
)

// child is the process of the current attempt, if there is one, and the signal that ended the run, if one came.
type child struct {
	mu           sync.Mutex
	process      *os.Process
	group        bool // the process leads its own group
	signal       os.Signal
	waiting      bool          // no process was running when the signal came
	killAfter    time.Duration // from a signal that ends the run to SIGKILL; 0 is never
	held         bool          // a forwarded signal has stopped the process
	announcement *func()       // called before the next process starts
}

// errEnded is the error when no process was started because a signal has ended the run.
var errEnded = errors.New("ended by a signal")

// start starts the command, unless a signal has ended the run.
func (c *child) start(cmd *exec.Cmd, foreground bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.signal != nil {
		return errEnded
	}
	c.flush()
	c.held = false
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
	reap(0)
	c.mu.Unlock()
}

// grace is the maximum time between the command's end and the arrival here of the signal that ended it, as after ^C in
// a terminal.
const grace = 100 * time.Millisecond

// announce calls f after grace, or before the next process starts if that is earlier. It does not call f if a signal
// has ended the run by then.
func (c *child) announce(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announcement = &f
	time.AfterFunc(grace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.announcement == &f { // no process has started since
			c.flush()
		}
	})
}

func (c *child) flush() {
	if c.announcement != nil && c.signal == nil {
		(*c.announcement)()
	}
	c.announcement = nil
}

// pass sends the signal to the process and reports whether it ends the run.
func (c *child) pass(s os.Signal) (ends bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.process; p != nil {
		sendSignal(p, s, c.group)
		c.held = isStop(s) || c.held && !endsRun(s) && !goesOn(s)
		if endsRun(s) {
			resume(p, c.group) // a process that is stopped cannot end
			if c.killAfter > 0 {
				time.AfterFunc(c.killAfter, func() { c.kill(p) })
			}
		}
	}
	if !endsRun(s) {
		return false
	}
	if c.signal == nil {
		c.signal, c.waiting = s, c.process == nil
	}
	return true
}

// kill kills the process unless it has ended.
func (c *child) kill(p *os.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == p {
		sendSignal(p, os.Kill, c.group)
	}
}

// noticed is called when a process has ended, stopped or gone on. It reports, once for each time, whether the command
// has been stopped, other than by ^Z or a signal that was forwarded.
func (c *child) noticed() (stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := 0
	if c.process != nil {
		own = c.process.Pid
	}
	reap(own)
	return c.process != nil && hasStopped(c.process.Pid) && !c.held
}

// endingSignal returns the signal that ended the run, nil if none did, and whether no process was running then.
func (c *child) endingSignal() (s os.Signal, waiting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.signal, c.waiting
}

// limit ends the process after d and kills it after another killAfter. The returned function must be called when the
// process has ended. It reports whether d was over.
func (c *child) limit(d, killAfter time.Duration) (tooLong func() bool) {
	if d <= 0 {
		return func() bool { return false }
	}
	reached := false
	send := func(s os.Signal) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.process != nil {
			reached = true
			sendSignal(c.process, s, c.group)
			resume(c.process, c.group) // a process that is stopped cannot end
		}
	}
	soft := time.AfterFunc(d, func() { send(softly) })
	hard := time.AfterFunc(d+min(killAfter, math.MaxInt64-d), func() { send(os.Kill) })
	return func() bool {
		soft.Stop()
		hard.Stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		return reached
	}
}
