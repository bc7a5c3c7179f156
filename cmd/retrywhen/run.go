package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/retry"
)

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
command; the messages of run itself go to stderr.

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

Exit codes of its own: 124 the last attempt was too long, 126 the command cannot
be run, 127 there is no such command, 128+n the command died by signal n, 2 wrong
usage.`,
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
			if c.Flags().Changed("limit") || unlimited(policy) && !c.Flags().Changed("within") {
				policy = policy.With(retry.Limit(limit))
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
	c.Flags().IntVar(&limit, "limit", 5, "the most retries")
	c.Flags().DurationVar(&within, "within", 0, "start no retry later than this after the first failure (then --limit counts only if given)")
	c.Flags().IntSliceVar(&r.onExit, "on-exit", nil, "retry only these exit codes (default: all but 0)")
	c.Flags().DurationVar(&r.timeout, "timeout", 0, "end an attempt that takes longer (default: none)")
	c.Flags().DurationVar(&r.killAfter, "kill-after", 5*time.Second, "kill an attempt that runs this long after its SIGTERM")
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "print nothing about retries")
	c.Flags().BoolVar(&r.foreground, "foreground", false, "keep the command in the terminal's foreground, even if its input is a pipe")
	c.Flags().SetInterspersed(false)
	_ = c.RegisterFlagCompletionFunc("backoff", completePolicy) // fails for no such flag
	return c
}

// unlimited reports whether the policy never gives up.
func unlimited(p retry.Policy) bool {
	_, limit := p.Limit()
	_, within := p.Within()
	_, stopAt := p.StopAt()
	return !limit && !within && !stopAt
}
