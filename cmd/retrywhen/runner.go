package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// runner runs one command under a policy.
type runner struct {
	args      []string
	policy    retry.Policy
	until     condition
	onExit    exitCodes // retry these
	attempts  int       // so far
	lastExit  int       // the exit code of the last attempt
	timeout   time.Duration
	killAfter time.Duration
	quiet     bool
	stdin     *os.File
	from      int64       // the initial position of stdin if it is a regular file, else -1
	input     *pipedInput // stdin if it is a pipe of which input is kept
	writes    choice      // whose output goes to stdout: all attempts, or the last one
	last      *lastOutput // of --stdout last
	stdout    io.Writer
	stderr    io.Writer
	signals   <-chan os.Signal
	child     child

	foreground bool // the command stays in our own process group
}

// received returns the signals that run needs: those that are passed on, and those about the command. SIGHUP and SIGINT
// are not passed on if they were ignored when run started, as with nohup. Of others signal.Ignored does not know.
func received() []os.Signal {
	return slices.DeleteFunc(slices.Concat(passedOn, noticed), signal.Ignored)
}

// endings returns those of them that end a run.
func endings() []os.Signal {
	return slices.DeleteFunc(received(), func(s os.Signal) bool { return !endsRun(s) || isChildNotice(s) })
}

// endedBySignal returns a context that ends with the cause diedBy at one of the signals.
func endedBySignal(ctx context.Context, signals ...os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	came := make(chan os.Signal, 8)
	signal.Notify(came, signals...)
	go func() {
		select {
		case s := <-came:
			cancel(diedBy{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		cancel(nil)
	}
}

// beginning returns the position in a regular file, -1 for anything else.
func beginning(f *os.File) int64 {
	if f == nil {
		return -1
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return -1
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return -1
	}
	return at
}

// runs makes the attempts, and writes the output of the last one if only that is wanted.
func (r *runner) runs(ctx context.Context) (err error) {
	if r.writes.text == "last" {
		if r.last, err = newLastOutput(); err != nil {
			return ownFailure{fmt.Errorf("run: --stdout last: %w", err)}
		}
		defer func() {
			if failed := r.last.copyTo(r.stdout); failed != nil && err == nil {
				err = ownFailure{fmt.Errorf("run: --stdout last: %w", failed)}
			}
		}()
	}
	return r.run(ctx)
}

// run makes the attempts. It returns nil, an exitCode, a diedBy or an ownFailure.
func (r *runner) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var passing sync.WaitGroup
	defer passing.Wait()
	defer cancel()
	finished := make(chan struct{})
	defer close(finished)
	passing.Go(func() {
		for {
			select {
			case s := <-r.signals:
				switch {
				case isChildNotice(s):
					if r.child.noticed() {
						r.print("the command was stopped; if it waits for the terminal, use --foreground")
					}
				case r.child.pass(s):
					cancel() // this ends a wait; the signal ends the command
				case isStop(s):
					stopSelf()
				}
			case <-finished:
				return
			}
		}
	})

	policy := r.policy.With(retry.If(r.retryable), retry.OnRetry(func(_ context.Context, e retry.Event) {
		of := ""
		if limit, ok := r.policy.Limit(); ok {
			of = fmt.Sprintf(" of %d", limit)
		}
		r.child.announce(func() { r.print("%v; retry %d%s in %v", e.Err, e.N, of, e.Delay.Round(time.Millisecond)) })
	}))
	for a, err := range policy.Attempts(ctx) {
		if err != nil {
			return r.giveUp(err)
		}
		a.Fail(r.outcome(r.attempt()))
	}
	if r.until != untilSuccess {
		r.print("exit code %d after %s", r.lastExit, counted(r.attempts, "attempt"))
	}
	if n := r.input.unread(); n > 0 { // also with --quiet: something is lost
		fmt.Fprintf(r.stderr, "retrywhen: run has taken %s that the command did not read from the pipe; for a loop that reads it "+
			"use --keep-input 0, or </dev/null\n", counted(n, "byte"))
	}
	return nil
}

// counted returns a number with its unit.
func counted[N int | int64](n N, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// outcome returns nil if the attempt met the condition of --until, else its failure.
func (r *runner) outcome(err error) error {
	failed, ran := errors.AsType[*failedAttempt](err)
	if s, _ := r.child.endingSignal(); err != nil && (!ran || failed.final || s != nil) {
		return err
	}
	r.lastExit = 0
	if ran {
		r.lastExit = failed.code
	}
	switch {
	case r.until.met(r.lastExit):
		return nil
	case ran:
		return failed
	default:
		return &failedAttempt{text: "exit code 0"}
	}
}

// giveUp prints why there is no further attempt and returns the end of run: a diedBy with the signal that came, unless
// the command handled it, else the command's exit code.
func (r *runner) giveUp(err error) error {
	failed, ran := errors.AsType[*failedAttempt](err)
	gaveUp, exhausted := errors.AsType[*retry.Error](err)
	switch s, waiting := r.child.endingSignal(); {
	case s != nil && (waiting || !ran || failed.killed || failed.code == codeSignal+signalNumber(s)):
		return diedBy{s}
	case !ran: // no process could be started, or ctx ended before the first attempt
		return ownFailure{fmt.Errorf("run: %w", err)}
	case s == nil && exhausted && gaveUp.Attempts > 1:
		r.print("%v; gave up after %d attempts", gaveUp.Last, gaveUp.Attempts)
	case s == nil && (exhausted || failed.final):
		r.print("%v", failed)
	}
	if failed.code == 0 {
		return exitCode(1) // the command succeeded, but --until demands something else
	}
	return exitCode(failed.code)
}

// failedAttempt is the failure of one attempt.
type failedAttempt struct {
	code   int
	text   string
	killed bool // a signal or the timeout ended it
	final  bool // the next attempt would fail too
}

func (f *failedAttempt) Error() string { return f.text }

// retryable is the policy's predicate.
func (r *runner) retryable(err error) bool {
	f, ok := errors.AsType[*failedAttempt](err)
	switch {
	case !ok, f.final, !r.onExit.has(f.code):
		return false
	}
	if why := r.input.whyLost(); why != "" {
		f.text, f.final = f.text+": "+why, true
	}
	return !f.final
}

// environment returns the command's environment, with the number of the attempt and the last exit code.
func (r *runner) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RETRY_LAST_EXIT=") })
	env = append(env, fmt.Sprintf("RETRY_ATTEMPT=%d", r.attempts))
	if r.attempts > 1 {
		env = append(env, fmt.Sprintf("RETRY_LAST_EXIT=%d", r.lastExit))
	}
	return env
}

// attempt runs the command once. It returns nil, a *failedAttempt, errEnded, or the error of starting the process.
func (r *runner) attempt() error {
	r.attempts++
	if r.from >= 0 {
		_, _ = r.stdin.Seek(r.from, io.SeekStart)
	}
	cmd := exec.Command(r.args[0], r.args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = r.stdout, r.stderr, r.environment()
	if r.last != nil {
		if err := r.last.restart(); err != nil {
			return err
		}
		cmd.Stdout = r.last.file
	}
	switch {
	case r.input != nil:
		in, release, err := r.input.attach()
		if err != nil {
			return err
		}
		defer release()
		cmd.Stdin = in
	case r.stdin != nil:
		cmd.Stdin = r.stdin
	}
	if err := r.child.start(cmd, r.foreground); err != nil {
		return r.notStarted(cmd.Path, err)
	}
	tooLong := r.child.limit(r.timeout, r.killAfter)
	err := cmd.Wait()
	r.child.ended()
	var failed *failedAttempt
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case tooLong():
		failed = &failedAttempt{code: codeTimeout, killed: true, text: fmt.Sprintf("took longer than %v", r.timeout)}
	case err == nil:
		return nil
	case ok && exit.ExitCode() >= 0:
		failed = &failedAttempt{code: exit.ExitCode(), text: fmt.Sprintf("exit code %d", exit.ExitCode())}
	case ok:
		number := endedBy(exit.ProcessState)
		failed = &failedAttempt{code: codeSignal + number, killed: true, text: fmt.Sprintf("ended by signal %d", number)}
	default:
		return err
	}
	if unread(r.stdout) {
		failed.text, failed.final = failed.text+": nobody reads its output", true
	}
	return failed
}

// notStarted returns the failure of an attempt whose process could not be started.
func (r *runner) notStarted(path string, err error) error {
	command := r.args[0]
	switch _, found := os.Stat(path); {
	case errors.Is(err, errEnded), errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return err
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist) && found != nil:
		text := command + ": no such command"
		if _, err := retry.Parse(command); err == nil {
			text += fmt.Sprintf(", want the policy in --backoff %q", command)
		} else if len(r.args) == 1 && strings.ContainsAny(command, " |&;<>()$`*?~") {
			text += ", want a shell for it: retrywhen run -- sh -c '" + strings.ReplaceAll(command, "'", `'\''`) + "'"
		}
		return &failedAttempt{code: codeNotFound, text: text, final: true}
	case errors.Is(err, os.ErrNotExist):
		return &failedAttempt{code: codeNotFound, text: command + ": its interpreter, in the first line, does not exist", final: true}
	default:
		var reason *os.PathError
		if errors.As(err, &reason) {
			err = reason.Err
		}
		return &failedAttempt{code: codeNotExecutable, text: fmt.Sprintf("%s: cannot be run: %v", command, err), final: true}
	}
}

func (r *runner) print(format string, args ...any) {
	if !r.quiet {
		fmt.Fprintf(r.stderr, "retrywhen: "+format+"\n", args...)
	}
}
