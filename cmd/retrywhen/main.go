// Retrywhen retries a command, breaks a program's connections and judges what it delivers, shows the schedule of a
// backoff, and simulates what clients with a policy do to a server.
//
//	go install ./cmd/retrywhen                                     # in a clone
//	go install github.com/retrywhen/retrywhen/cmd/retrywhen@latest # from the first release on
//	retrywhen --help
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
)

func main() {
	err := execute(context.Background(), newCommand(os.Stdout, os.Stderr))
	if code, ok := errors.AsType[exitCode](err); ok {
		os.Exit(int(code))
	}
	if death, ok := errors.AsType[diedBy](err); ok {
		die(death.signal)
		os.Exit(codeSignal + signalNumber(death.signal))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "retrywhen:", err)
		if _, ok := errors.AsType[ownFailure](err); ok {
			os.Exit(codeOwn)
		}
		os.Exit(2)
	}
}

// execute runs the command. It also returns the error of a write of the help, which cobra drops.
func execute(ctx context.Context, c *cobra.Command) error {
	var failed error
	out, help := c.OutOrStdout(), c.HelpFunc()
	c.SetHelpFunc(func(sub *cobra.Command, args []string) {
		var text strings.Builder
		sub.SetOut(&text)
		help(sub, args)
		sub.SetOut(out)
		_, failed = io.WriteString(out, console.ForLocale(text.String()))
	})
	err := c.ExecuteContext(ctx) // sets failed
	return errors.Join(err, failed)
}

func newCommand(out, errOut io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use:   "retrywhen",
		Short: "Retry commands; prove and measure programs; try a backoff before you deploy it",
		Long: `Retrywhen retries a command with backoff and jitter, breaks the connections of a
program and judges what it delivers, measures what a program's calls do when a
server fails, shows the schedule of a backoff, and simulates what many clients
with it do to a server.

A policy is one quoted text: a curve, then its options in any order:

  exponential base=100ms factor=2 cap=30s jitter=full
  linear d=1s tiled
  constant d=5s limit=10 within=1m

Wrong usage and failures have the exit code 2. Run, prove and measure have codes
of their own.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.SetOut(out)
	c.SetErr(errOut)
	c.SetHelpTemplate(helpTemplate)
	c.SetFlagErrorFunc(badFlag)
	c.AddCommand(newRun(), newProve(), newMeasure(), newShow(), newSim(), newLab())
	c.InitDefaultCompletionCmd()
	c.InitDefaultHelpCmd()
	leads(c)
	for _, sub := range c.Commands() {
		switch sub.Name() {
		case "completion":
			leads(sub)
			inQuotes(sub)
		case "help":
			sub.Args = func(_ *cobra.Command, args []string) error {
				about, rest, err := c.Find(args)
				if err != nil || !about.HasSubCommands() {
					return err
				}
				return about.ValidateArgs(rest)
			}
		}
	}
	return c
}

func newSim() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim",
		Short: "Simulate what many clients do to their server",
		Long: `Sim simulates many clients under one or more policies, in simulated time: a
server that stalls under load, a server that is down and comes back, a herd of
jobs that fail together, or clients that contend for one row. The same seed gives
the same result.

Policies are as in: retrywhen show --help. These options may be added:
  place=by-ordinal       a client's draw is its number's place in the fleet
  processes=20           the clients are in 20 processes; each has its own draws
                         and its own budget
  layers=3               three layers of callers have this policy (overload)

When interrupted, sim writes the partial result, then exits by the signal.`,
	}
	leads(c)
	c.AddCommand(newSimBoundary(), newSimChoose(), newSimHerd(), newSimOCC(), newSimOutage(), newSimOverload())
	return c
}
