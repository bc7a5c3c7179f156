package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/retry"
)

func newRun() *cobra.Command {
	var (
		r       runner
		backoff string
		limit   = limitFlag{n: 5}
		within  time.Duration
		keep    = size(8 << 20)
	)
	r.writes = choice{kind: "outputs", of: []string{"all", "last"}, text: "all"}
	c := &cobra.Command{
		Use:   "run [flags] -- command [args...]",
		Short: "Run a command and retry it while it fails",
		Long: `Run runs a command. While the command fails, run retries it, with the waits of
the backoff. The exit code is the command's. Run's own messages go to stderr.

For HTTP use the retries of curl, as in curl -fsS --retry 5. They see the status
and Retry-After: a 404 is not retried. Run sees an exit code only.

With --until failure run retries the command while it succeeds. With --until 3 it
retries until the exit code is 3. When that happens run exits with 0. Otherwise
it exits with the command's last exit code, or with 1 if that is 0.

In the command's environment RETRY_ATTEMPT is the number of the attempt, from 1.
From the second attempt on RETRY_LAST_EXIT is the last exit code.

Input: each attempt reads the same. Run keeps what comes from a pipe, up to
--keep-input; a command that fails after more than that is not retried. A file is
read from the same position. What an attempt reads from a terminal is lost for
the next. In a loop that reads a pipe itself, give run another input, as in
</dev/null, or use --keep-input 0: then the pipe is the command's. Run reports
what it has taken from a pipe that has ended if a successful command did not read
it, with --quiet too.

Output: it appears as each attempt writes it. If the command fails in the middle,
its output remains, and that of the next attempt follows. With --stdout last
only the output of the last attempt is written, when run ends:

  retrywhen run --stdout last -- pg_dump shop >shop.sql

Run stops when nobody reads its output (retrywhen run … | head).

Signals are forwarded to the command, apart from those that a terminal sends to
both. After SIGINT, SIGTERM, SIGHUP or SIGQUIT there is no retry, and run exits
with the command's exit code. If that signal ends the command, it also ends run,
so that a loop in a shell stops (not after SIGQUIT). With --kill-after the
command receives SIGKILL that much later. An attempt that takes longer than
--timeout receives SIGTERM, and SIGKILL after --kill-after. A stop (^Z) stops the
command too.

Unless it reads from a terminal, the command has its own process group, so that
signals and the end at --timeout reach all processes that it has started; SIGKILL
only if the command itself has not ended. With --foreground it stays in run's
group: use it for a command that asks for a password while its input is a pipe.

As process 1 of a container run removes processes that have ended and whose
parent has ended before.

Exit codes, apart from the command's own:

    1  --until was not met: the command's last exit code is 0
    2  wrong usage
  124  the last attempt took longer than --timeout
  125  run itself failed
  126  the command cannot be executed
  127  the command was not found
128+n  the command was ended by signal n`,
		Example: `  retrywhen run --backoff 2s --within 1m -- nc -z localhost 5432
  retrywhen run --on-exit 1,2 --limit none -- pg_isready -q
  retrywhen run --on-exit 10,12,30-35 --timeout 1h -- rsync -a --partial photos backup:
  retrywhen run --on-exit "all but 2" --within 5m -- ./migrate up
  pg_dump shop | retrywhen run --keep-input 1GiB -- ssh backup 'cat >shop.sql'
  retrywhen run --until failure --limit none --backoff 0s -- go test`,
		Args: wantsCommand("retrywhen run -- make test"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.check(limit, within); err != nil {
				return err
			}
			policy, err := readBackoff(backoff, c.ErrOrStderr())
			if err != nil {
				return fmt.Errorf("run: --backoff: %w", err)
			}
			switch {
			case limit.none:
				if _, ok := policy.Limit(); ok {
					return errors.New("run: want a limit in --backoff or --limit none, not both")
				}
			case c.Flags().Changed("limit") || unlimited(policy) && !c.Flags().Changed("within"):
				policy = policy.With(retry.Limit(limit.n))
			}
			if c.Flags().Changed("within") {
				policy = policy.With(retry.Within(within))
			}
			if !c.Flags().Changed("timeout") {
				r.timeout, _ = policy.AttemptTimeout()
			}
			r.args, r.policy = args, policy
			r.stdout, r.stderr = c.OutOrStdout(), c.ErrOrStderr()
			r.stdin, _ = c.InOrStdin().(*os.File)
			r.from = beginning(r.stdin)
			r.input = newPipedInput(r.stdin, keep)
			if c.Flags().Changed("kill-after") { // else a command may take its time after a signal that was forwarded
				r.child.killAfter = r.killAfter
			}
			signals := make(chan os.Signal, 8)
			signal.Notify(signals, received()...)
			defer signal.Stop(signals)
			r.signals = signals
			return r.runs(c.Context())
		},
	}
	c.Flags().StringVar(&backoff, "backoff", "exponential base=1s factor=2 cap=1m jitter=equal", "the policy, see retrywhen show --help; a duration alone is a constant")
	c.Flags().Var(&limit, "limit", "maximum number of retries, or none for no limit")
	c.Flags().DurationVar(&within, "within", 0, "no retry starts later than this after the first failure (--limit then has no default)")
	c.Flags().Var(&r.until, "until", "retry until success, failure, or this exit code")
	c.Flags().Var(&r.onExit, "on-exit", "retry only these exit codes, as in 1,64-78 or \"all but 2\" (default: all but 0)")
	c.Flags().DurationVar(&r.timeout, "timeout", 0, "attempt timeout (default: the policy's, or none)")
	c.Flags().DurationVar(&r.killAfter, "kill-after", 5*time.Second, "time from SIGTERM to SIGKILL after an attempt timeout; if given, also after a forwarded signal")
	c.Flags().Var(&keep, "keep-input", "how much of a pipe to keep for the next attempts, as in 64MiB")
	c.Flags().Var(&r.writes, "stdout", "write the output of all attempts, or of the last only")
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "print nothing about retries")
	c.Flags().BoolVar(&r.foreground, "foreground", false, "keep the command in the terminal's foreground, even if its input is a pipe")
	c.Flags().SetInterspersed(false)
	c.ValidArgsFunction = completeCommand
	for flag, complete := range map[string]cobra.CompletionFunc{ // it fails only for an unknown flag
		"backoff": completePolicy(),
		"limit":   cobra.FixedCompletions([]string{"none"}, cobra.ShellCompDirectiveNoFileComp),
		"stdout":  cobra.FixedCompletions(r.writes.of, cobra.ShellCompDirectiveNoFileComp),
		"until":   cobra.FixedCompletions([]string{"success", "failure"}, cobra.ShellCompDirectiveNoFileComp),
	} {
		_ = c.RegisterFlagCompletionFunc(flag, complete)
	}
	return c
}

// readBackoff returns the policy of --backoff, and writes a note for each word of it without effect.
func readBackoff(text string, notes io.Writer) (retry.Policy, error) {
	if _, err := time.ParseDuration(text); err == nil {
		text = "constant d=" + text
	} else if _, err := strconv.ParseFloat(text, 64); err == nil {
		return retry.Policy{}, fmt.Errorf("%s has no unit: %[1]ss?", text)
	}
	s, err := report.ParseStrategy(text)
	if err != nil {
		return retry.Policy{}, err
	}
	for _, note := range report.Unused("run", 0, s) {
		fmt.Fprintf(notes, "retrywhen: run: %s\n", note)
	}
	return s.Policy, nil
}

// limitFlag is the value of --limit.
type limitFlag struct {
	n    int
	none bool
}

func (l *limitFlag) Type() string { return "number or none" }

func (l *limitFlag) wants() string { return "a whole number, at least 0, or none" }

func (l *limitFlag) String() string {
	if l.none {
		return "none"
	}
	return strconv.Itoa(l.n)
}

func (l *limitFlag) Set(text string) error {
	if text == "none" {
		*l = limitFlag{none: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	*l = limitFlag{n: n}
	return err
}

// condition is the exit code that run waits for.
type condition int

const (
	untilSuccess condition = 0
	untilFailure condition = -1 // any but 0
)

// conditions are those that have a word.
var conditions = map[string]condition{"success": untilSuccess, "failure": untilFailure}

func (u *condition) Type() string { return "condition" }

func (u *condition) wants() string { return "success, failure, or an exit code from 0 to 255" }

func (u *condition) String() string {
	for text, c := range conditions {
		if c == *u {
			return text
		}
	}
	return strconv.Itoa(int(*u))
}

func (u *condition) Set(text string) error {
	if c, ok := conditions[text]; ok {
		*u = c
		return nil
	}
	code, err := strconv.ParseUint(text, 10, 8)
	*u = condition(code)
	return err
}

// met reports whether the exit code meets the condition.
func (u *condition) met(code int) bool {
	return *u == condition(code) || *u == untilFailure && code != 0
}

// unlimited reports whether the policy never gives up.
func unlimited(p retry.Policy) bool {
	_, limit := p.Limit()
	_, within := p.Within()
	_, stopAt := p.StopAt()
	return !limit && !within && !stopAt
}

// check returns an error if a flag is invalid.
func (r *runner) check(limit limitFlag, within time.Duration) error {
	switch {
	case limit.n < 0:
		return fmt.Errorf("run: --limit is %d, want at least 0, or none", limit.n)
	case r.onExit.text != "" && r.until != untilSuccess:
		return fmt.Errorf("run: want --on-exit or --until %s, not both", &r.until)
	case within < 0:
		return fmt.Errorf("run: --within is %v, want at least 0", within)
	case r.timeout < 0:
		return fmt.Errorf("run: --timeout is %v, want at least 0", r.timeout)
	case r.killAfter <= 0:
		return fmt.Errorf("run: --kill-after is %v, want more than 0", r.killAfter)
	}
	return nil
}
