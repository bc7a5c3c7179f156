package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/retry"
)

func newRun() *cobra.Command {
	var (
		r       runner
		backoff string
		limit   = limitFlag{n: 5}
		within  time.Duration
	)
	c := &cobra.Command{
		Use:   "run [flags] -- command [args...]",
		Short: "Run a command, and run it again while it fails",
		Long: `Run runs a command, and runs it again while it fails, waiting between the
attempts as the backoff says. Its output and its exit code are those of the
command; the messages of run itself go to stderr.

With --until failure it runs the command again while it succeeds, and with
--until 3, say, until it exits with 3. Its exit code is 0 once that has come,
else the command's last one, or 1 where that is 0.

The command finds the number of its attempt, from 1, in RETRY_ATTEMPT, and from
the second on the last one's exit code in RETRY_LAST_EXIT.

Signals are passed on to the command. After SIGINT, SIGTERM, SIGHUP or SIGQUIT
nothing is retried; if the command dies by it, so does run, and a shell's loop
around it stops. An attempt that takes longer than --timeout gets SIGTERM, and
SIGKILL after --kill-after. Where nobody reads the output any more, as in a pipe
to head, nothing is retried either.

Standard input is the command's. A regular file is read anew by each attempt;
what an attempt has read from a pipe or a terminal is gone for the next.

Unless it reads from a terminal, the command is a process group of its own, so
that a signal, and the end at --timeout, reach all that it has started. With
--foreground it never is: for a command that asks for a password, say, while its
input is a pipe.

Exit codes of its own: 124 the last attempt was too long, 125 run itself failed,
126 the command cannot be run, 127 there is no such command, 128+n the command
died by signal n, 2 wrong usage.`,
		Example: `  retrywhen run -- curl -fsS https://example.org/health
  retrywhen run --backoff "constant d=2s" --within 1m -- nc -z localhost 5432
  retrywhen run --on-exit 75 --timeout 30s -- ./sync.sh
  retrywhen run --until failure --limit none --backoff "constant d=0s" -- go test`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return errors.New("run: no command given, want one after --, as in: retrywhen run -- make test")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := r.check(limit, within); err != nil {
				return err
			}
			policy, err := retry.Parse(backoff)
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
			signals := make(chan os.Signal, 8)
			signal.Notify(signals, forwarded()...)
			defer signal.Stop(signals)
			r.signals = signals
			return r.run(c.Context())
		},
	}
	c.Flags().StringVar(&backoff, "backoff", "exponential base=1s factor=2 cap=1m jitter=equal", "the waits between attempts, as in: retrywhen show --help")
	c.Flags().Var(&limit, "limit", "the most retries, or none for no limit")
	c.Flags().DurationVar(&within, "within", 0, "start no retry later than this after the first failure (then --limit counts only if given)")
	c.Flags().Var(&r.until, "until", "run it until success, failure, or this exit code")
	c.Flags().IntSliceVar(&r.onExit, "on-exit", nil, "retry only these exit codes (default: all but 0)")
	c.Flags().DurationVar(&r.timeout, "timeout", 0, "end an attempt that takes longer (default: none)")
	c.Flags().DurationVar(&r.killAfter, "kill-after", 5*time.Second, "kill an attempt that runs this long after its SIGTERM")
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "print nothing about retries")
	c.Flags().BoolVar(&r.foreground, "foreground", false, "keep the command in the terminal's foreground, even if its input is a pipe")
	c.Flags().SetInterspersed(false)
	c.ValidArgsFunction = completeCommand
	for flag, complete := range map[string]cobra.CompletionFunc{ // they fail for no such flag
		"backoff": completePolicy,
		"limit":   cobra.FixedCompletions([]string{"none"}, cobra.ShellCompDirectiveNoFileComp),
		"until":   cobra.FixedCompletions([]string{"success", "failure"}, cobra.ShellCompDirectiveNoFileComp),
	} {
		_ = c.RegisterFlagCompletionFunc(flag, complete)
	}
	return c
}

// limitFlag is the most retries.
type limitFlag struct {
	n    int
	none bool
}

func (l *limitFlag) Type() string { return "number or none" }

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

// condition is the exit code at which run is done.
type condition int

const (
	untilSuccess condition = 0
	untilFailure condition = -1 // any but 0
)

func (u *condition) Type() string { return "condition" }

func (u *condition) String() string {
	switch *u {
	case untilSuccess:
		return "success"
	case untilFailure:
		return "failure"
	default:
		return strconv.Itoa(int(*u))
	}
}

func (u *condition) Set(text string) error {
	switch text {
	case "success":
		*u = untilSuccess
		return nil
	case "failure":
		*u = untilFailure
		return nil
	}
	code, err := strconv.ParseUint(text, 10, 8)
	*u = condition(code)
	return err
}

// met reports whether a command that exits so is what was waited for.
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

// check returns what is wrong with the flags.
func (r *runner) check(limit limitFlag, within time.Duration) error {
	switch {
	case limit.n < 0:
		return fmt.Errorf("run: --limit is %d, want at least 0, or none", limit.n)
	case len(r.onExit) > 0 && r.until != untilSuccess:
		return fmt.Errorf("run: want --on-exit or --until %s, not both", &r.until)
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
	return nil
}
