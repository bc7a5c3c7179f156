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
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/policytext"
	"github.com/retrywhen/retrywhen/retry"
)

// Exit codes of run that are not the command's own.
const (
	codeTimeout       = 124 // as timeout(1): the last attempt ran into --timeout
	codeNotExecutable = 126 // as sh: the command was found but cannot be run
	codeNotFound      = 127 // as sh
	codeSignal        = 128 // plus the signal's number, as sh
)

// runner runs one command under a policy.
type runner struct {
	args      []string
	policy    retry.Policy
	limit     string // of retries, for messages; "" if there is none
	onExit    []int  // retry these exit codes; empty: all but 0
	timeout   time.Duration
	killAfter time.Duration
	quiet     bool
	stdin     *os.File
	from      int64 // where stdin began, if it is a file that can be read anew; else -1
	stdout    io.Writer
	stderr    io.Writer
	signals   <-chan os.Signal
	child     child

	foreground bool // the command stays in our own process group
}

func newRun() *cobra.Command {
	var (
		r       runner
		backoff string
		limit   int
		within  time.Duration
	)
	c := &cobra.Command{
		Use:   "run [flags] -- command [args...]",
		Short: "Run a command, and run it again while it fails",
		Long: `Run runs a command, and runs it again while it fails, waiting between the
attempts as the backoff says. Its output and its exit code are those of the
command; what run itself has to say goes to stderr.

Signals are passed on to the command. After SIGINT, SIGTERM or SIGHUP nothing is
retried. An attempt that takes longer than --timeout gets SIGTERM, and SIGKILL
after --kill-after. Where nobody reads the output any more, as in a pipe to head,
nothing is retried either.

Standard input is the command's. A regular file is read anew by each attempt;
what an attempt has read from a pipe or a terminal is gone for the next.

Unless it reads from a terminal, the command is a process group of its own, so
that a signal, and the end at --timeout, reach all that it has started. With
--foreground it never is: for a command that asks for a password, say, while its
input is a pipe.

Exit codes of its own: 124 the last attempt was too long, 126 the command cannot
be run, 127 there is no such command, 128+n ended by signal n, 2 wrong usage.`,
		Example: `  retrywhen run -- curl -fsS https://example.org/health
  retrywhen run --backoff "constant d=2s" --within 1m -- nc -z localhost 5432
  retrywhen run --on-exit 75 --timeout 30s -- ./sync.sh`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return errors.New("run: no command given, want one after --, as in: retrywhen run -- make test")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case limit < 0:
				return fmt.Errorf("run: --limit is %d, want at least 0", limit)
			case within < 0:
				return fmt.Errorf("run: --within is %v, want at least 0", within)
			case r.timeout < 0:
				return fmt.Errorf("run: --timeout is %v, want at least 0", r.timeout)
			case r.killAfter <= 0:
				return fmt.Errorf("run: --kill-after is %v, want more than 0", r.killAfter)
			}
			for _, code := range r.onExit {
				if code < 1 || code > 255 {
					return fmt.Errorf("run: --on-exit has %d, want exit codes from 1 to 255", code)
				}
			}
			policy, err := retry.Parse(backoff)
			if err != nil {
				return fmt.Errorf("run: --backoff: %w", err)
			}
			said := policytext.Words(policy)
			if c.Flags().Changed("limit") || said.Unlimited() && !c.Flags().Changed("within") {
				policy = policy.With(retry.Limit(limit))
			}
			if c.Flags().Changed("within") {
				policy = policy.With(retry.Within(within))
			}
			if !c.Flags().Changed("timeout") {
				r.timeout = said.Duration("attempttimeout")
			}
			r.args, r.policy, r.limit = args, policy, policytext.Words(policy)["limit"]
			r.stdout, r.stderr = c.OutOrStdout(), c.ErrOrStderr()
			r.stdin, _ = c.InOrStdin().(*os.File)
			r.from = beginning(r.stdin)
			signals := make(chan os.Signal, 8)
			signal.Notify(signals, heeded()...)
			defer signal.Stop(signals)
			r.signals = signals
			if code := r.run(c.Context()); code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
	c.Flags().StringVar(&backoff, "backoff", "exponential base=1s factor=2 cap=1m jitter=equal", "the waits between attempts, as in: retrywhen show --help")
	c.Flags().IntVar(&limit, "limit", 5, "retry at most so many times")
	c.Flags().DurationVar(&within, "within", 0, "start no retry later than this after the first failure (then --limit counts only if given)")
	c.Flags().IntSliceVar(&r.onExit, "on-exit", nil, "retry only these exit codes (default: all but 0)")
	c.Flags().DurationVar(&r.timeout, "timeout", 0, "end an attempt that takes longer (default: none)")
	c.Flags().DurationVar(&r.killAfter, "kill-after", 5*time.Second, "kill an attempt that goes on so long after it was told to end")
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "say nothing of retries")
	c.Flags().BoolVar(&r.foreground, "foreground", false, "keep the command in the terminal's foreground, even if its input is a pipe")
	c.Flags().SetInterspersed(false)
	_ = c.RegisterFlagCompletionFunc("backoff", completePolicy) // fails for no such flag
	return c
}

// heeded returns the signals that are passed on: not those that whoever started us wants ignored, as nohup does.
func heeded() []os.Signal {
	return slices.DeleteFunc(slices.Clone(passedOn), signal.Ignored)
}

// beginning returns where in a regular file it is read from, -1 for anything else.
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

// run makes the attempts and returns the exit code.
func (r *runner) run(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	var passing sync.WaitGroup
	defer passing.Wait()
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	passing.Go(func() {
		for {
			select {
			case s := <-r.signals:
				if r.child.pass(s) {
					cancel() // a wait ends; the command ends by itself
				}
			case <-over:
				return
			}
		}
	})

	policy := r.policy.With(retry.If(r.retryable), retry.OnRetry(func(e retry.Event) {
		of := ""
		if r.limit != "" {
			of = " of " + r.limit
		}
		r.say("%v; retry %d%s in %v", e.Err, e.N, of, e.Delay.Round(time.Millisecond))
	}))
	for a, err := range policy.Attempts(ctx) {
		if err != nil {
			return r.giveUp(err)
		}
		a.Fail(r.attempt())
	}
	return 0
}

// giveUp says why there is no further attempt and returns the exit code: the command's own, unless a signal came while
// it was not running.
func (r *runner) giveUp(err error) int {
	failed, ran := errors.AsType[*failedAttempt](err)
	gaveUp, exhausted := errors.AsType[*retry.Error](err)
	switch caught, waiting := r.child.caughtSignal(); {
	case caught != nil && (waiting || !ran):
		return codeSignal + signalNumber(caught)
	case caught == nil && exhausted && gaveUp.Attempts > 1:
		r.say("%v; gave up after %d attempts", gaveUp.Last, gaveUp.Attempts)
	case caught == nil && ran && (exhausted || failed.hopeless):
		r.say("%v", failed)
	}
	if !ran {
		return codeSignal // the context ended before the first attempt
	}
	return failed.code
}

// failedAttempt is one attempt that ended with another exit code than 0.
type failedAttempt struct {
	code     int
	text     string
	hopeless bool // it would be the same the next time
}

func (f *failedAttempt) Error() string { return f.text }

// retryable is the policy's predicate.
func (r *runner) retryable(err error) bool {
	f, ok := errors.AsType[*failedAttempt](err)
	switch {
	case !ok, f.hopeless:
		return false
	case len(r.onExit) > 0:
		return slices.Contains(r.onExit, f.code)
	default:
		return true
	}
}

// attempt runs the command once.
func (r *runner) attempt() error {
	if r.from >= 0 {
		_, _ = r.stdin.Seek(r.from, io.SeekStart)
	}
	cmd := exec.Command(r.args[0], r.args[1:]...)
	cmd.Stdout, cmd.Stderr = r.stdout, r.stderr
	if r.stdin != nil {
		cmd.Stdin = r.stdin
	}
	if err := r.child.start(cmd, r.foreground); err != nil {
		return r.notStarted(err)
	}
	tooLong := r.child.limit(r.timeout, r.killAfter)
	err := cmd.Wait()
	r.child.ended()
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case tooLong():
		return &failedAttempt{code: codeTimeout, text: fmt.Sprintf("took longer than %v", r.timeout)}
	case err == nil:
		return nil
	case ok && exit.ExitCode() >= 0:
		return &failedAttempt{code: exit.ExitCode(), text: fmt.Sprintf("exit code %d", exit.ExitCode())}
	case ok:
		number := endedBy(exit.ProcessState)
		failed := &failedAttempt{code: codeSignal + number, text: fmt.Sprintf("ended by signal %d", number)}
		if number == brokenPipe && unread(r.stdout) {
			failed.text, failed.hopeless = failed.text+": nobody reads its output any more", true
		}
		return failed
	default:
		return &failedAttempt{code: codeNotExecutable, text: err.Error(), hopeless: true}
	}
}

// notStarted returns the failure of an attempt whose process did not come to be.
func (r *runner) notStarted(err error) error {
	command := r.args[0]
	switch _, found := os.Stat(command); {
	case errors.Is(err, errEnded):
		return err
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist) && found != nil:
		return &failedAttempt{code: codeNotFound, text: command + ": no such command", hopeless: true}
	case errors.Is(err, os.ErrNotExist):
		return &failedAttempt{code: codeNotFound, text: command + ": its interpreter, in the first line, does not exist", hopeless: true}
	default:
		var reason *os.PathError
		if errors.As(err, &reason) {
			err = reason.Err
		}
		return &failedAttempt{code: codeNotExecutable, text: fmt.Sprintf("%s: cannot be run: %v", command, err), hopeless: true}
	}
}

func (r *runner) say(format string, args ...any) {
	if !r.quiet {
		fmt.Fprintf(r.stderr, "retrywhen: "+format+"\n", args...)
	}
}
