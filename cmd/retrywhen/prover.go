package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/prove"
)

// prover runs the commands of prove.
type prover struct {
	args          []string
	before, event string
	values        *regexp.Regexp // nil: each line that is not empty
	stop          time.Duration
	runs, lines   atomic.Int64 // the lines are those of the first run
	valued        atomic.Bool  // a line of any run was a value
}

// kindness is how long after --stop a command is killed, so that it is seen that it is late.
const kindness = 300 * time.Millisecond

// outputGrace is how long the output of a command that has ended is awaited, if a process that it has started has it.
const outputGrace = time.Second

// client runs the command once. It is prove.Target.Client.
func (p *prover) client(ctx context.Context, r prove.Run, got func(string)) error {
	replace, env := words(r, 0)
	var args []string
	for _, a := range p.args {
		args = append(args, replace(a))
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	first := p.runs.Add(1) == 1
	return p.run(ctx, cmd, p.stop+kindness, func(text string, whole bool) {
		if !whole && ctx.Err() != nil { // cut off by its end
			return
		}
		if first {
			p.lines.Add(1)
		}
		if value := p.value(text); value != "" {
			p.valued.Store(true)
			got(value)
		}
	})
}

// value returns the value of a line, "" if it is none.
func (p *prover) value(text string) string {
	if p.values == nil {
		return text
	}
	switch match := p.values.FindStringSubmatch(text); {
	case match == nil:
		return ""
	case len(match) > 1:
		return match[1]
	default:
		return text
	}
}

// prepare runs --before. It is prove.Target.Before.
func (p *prover) prepare(ctx context.Context, r prove.Run) error { return p.shell(ctx, r, 0, p.before) }

// makeEvent runs --event. It is prove.Target.Event.
func (p *prover) makeEvent(ctx context.Context, r prove.Run, n int) error {
	return p.shell(ctx, r, n, p.event)
}

func (p *prover) shell(ctx context.Context, r prove.Run, n int, command string) error {
	replace, env := words(r, n)
	cmd := inShell(replace(command))
	cmd.Env = env
	return p.run(ctx, cmd, kindness, func(string, bool) {})
}

// run runs a command in a group of its own until it ends or ctx does, and waits for all of the group. It calls line for
// each line of its output.
func (p *prover) run(ctx context.Context, cmd *exec.Cmd, stop time.Duration, line func(text string, whole bool)) error {
	outRead, out := io.Pipe()
	errRead, errs := io.Pipe()
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, errs, outputGrace
	var reading sync.WaitGroup
	var said complaint
	reading.Go(func() { eachLine(outRead, line) })
	reading.Go(func() { eachLine(errRead, func(text string, _ bool) { said.hear(text) }) })
	closeAll := func() {
		_ = out.Close()
		_ = errs.Close()
		reading.Wait()
	}
	g, err := startGroup(cmd)
	if err != nil {
		closeAll()
		return err
	}
	defer g.release()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	told := false
	select {
	case err = <-ended:
	case <-ctx.Done():
		told = true
		g.terminate()
		select {
		case err = <-ended:
		case <-time.After(stop):
			g.kill()
			err = <-ended
		}
	}
	g.end(stop)
	closeAll()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case told || err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case failed && said.text() != "":
		return fmt.Errorf("%v: %s", exit, said.text())
	}
	return err
}

// eachLine calls f for each line that is not empty. The last one may have no end.
func eachLine(r io.Reader, f func(text string, whole bool)) {
	lines := bufio.NewReader(r)
	for {
		text, err := lines.ReadString('\n')
		if trimmed := strings.TrimRight(text, "\r\n"); strings.TrimSpace(trimmed) != "" {
			f(trimmed, err == nil)
		}
		if err != nil {
			return
		}
	}
}
