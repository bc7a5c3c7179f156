package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/prove"
)

func newProve() *cobra.Command {
	var (
		p      prover
		t      prove.Target
		ways   []string
		known  []string
		values string
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "prove [flags] --server host:port -- command [args...]",
		Short: "Break a program's connections and judge what it delivers",
		Long: `Prove runs a command again and again against a server, breaks its connections in
between, and compares what it delivers with what it delivers undisturbed. The
command may be in any language. A value is a line of its stdout that is not
blank; with --values, a line that matches.

The command connects to {addr}, a proxy in front of --server. In the command, in
--before and in --event these are replaced, and are in the environment too:

  {addr}    RETRYWHEN_ADDR     host:port of the proxy
  {host}    RETRYWHEN_HOST
  {port}    RETRYWHEN_PORT
  {run}     RETRYWHEN_RUN      a name, another one for each run
  {server}  RETRYWHEN_SERVER   host:port of the server itself

Other braces and ${word} are text, but a {word} that is nearly one of these is
wrong usage.

--before prepares a run. --event makes the {n}-th event, --events in all, one
each --every, from when nothing has passed on the run's first connection for
300 ms, or 3 s after it was made. Both are shell commands against the server
itself. If there is --event, and {run} is nowhere, runs share the events: then
they are played one after another.

Connections break at most at --places places, in these --ways:

  cut      reset, before something comes from the server, and after the last
  amid     closed, and reset, after its first byte, at its half, and after
           newlines in it
  end      closed, as cut
  silence  nothing passes any more, and the connection stays open
  refuse   reset, and new connections are reset for 2 s; and the same closed
  twice    cut, end or silence, and again soon in the next connection

A run's end is SIGTERM to the command's process group, and SIGKILL if that lasts
for longer than --stop. On Windows all that it has started is ended at once.

docs/prove.md says what the kinds of findings mean and what usually mends them.

Exit codes:

    0  nothing was found
    1  something was found, or a --known was not
    2  wrong usage
  125  nothing could be judged: the undisturbed runs differ, deliver nothing or
       values that did not pass through the proxy, fewer than half of the
       breaks took place, or the machine is too busy: then what was found
       needs a quieter one
128+n  ended by signal n; what is known is printed`,
		Example: `  retrywhen prove --server localhost:6379 --event 'redis-cli xadd {run} "*" n {n}' -- python3 client.py {port} {run}
  retrywhen prove --server db:5432 --ways cut,silence --json -- ./worker --dsn 'postgres://app@{addr}/shop'`,
		Args: wantsCommand("retrywhen prove --server localhost:6379 -- python3 client.py {addr}"),
		RunE: func(c *cobra.Command, args []string) error {
			p.args = args
			if err := p.check(c, &t, values, ways, known); err != nil {
				return err
			}
			return p.prove(c.Context(), t, c.OutOrStdout(), c.ErrOrStderr(), asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&t.Server, "server", "", "the server, as `host:port`")
	f.StringVar(&values, "values", "", "only lines that match the `regexp` are values; its first group, if it has one")
	f.StringVar(&p.before, "before", "", "`shell` command before each run")
	f.StringVar(&p.event, "event", "", "`shell` command that makes the {n}-th event")
	f.IntVar(&t.Events, "events", 12, "number of events")
	f.DurationVar(&t.Every, "every", 100*time.Millisecond, "time between events")
	f.DurationVar(&t.Within, "within", 30*time.Second, "time from the last break in which the command must be back")
	f.DurationVar(&t.Quiet, "quiet", 2*time.Second, "time after the last value in which repeated ones are awaited")
	f.DurationVar(&t.Stop, "stop", 5*time.Second, "time in which the command ends after SIGTERM")
	f.IntVar(&t.Parallel, "parallel", 64, "runs at once")
	f.IntVar(&t.Places, "places", 24, "maximum number of places at which connections break")
	f.StringSliceVar(&ways, "ways", wayNames, "how connections break")
	f.BoolVar(&t.AtLeastOnce, "at-least-once", false, "a repeated value is no fault")
	f.BoolVar(&t.AnyOrder, "any-order", false, "a value after later ones is no fault")
	f.BoolVar(&t.GivesUp, "gives-up", false, "an end with an exit code other than 0 is no fault")
	f.BoolVar(&t.Latest, "latest", false, "values are states: only the last one must come")
	f.StringArrayVar(&known, "known", nil, "findings of this `kind=why` are no failure; they must be found")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	f.SetInterspersed(false)
	c.ValidArgsFunction = completeCommand
	_ = c.RegisterFlagCompletionFunc("ways", cobra.FixedCompletions(wayNames, cobra.ShellCompDirectiveNoFileComp)) // it fails only for an unknown flag
	return c
}

var wayNames = []string{string(prove.Cut), string(prove.Amid), string(prove.End), string(prove.Silence), string(prove.Refuse), string(prove.Twice)}

// foundKinds are the kinds that prove can find in real time.
var foundKinds = []string{
	string(prove.Lost), string(prove.Repeated), string(prove.Foreign), string(prove.Order), string(prove.Hot), string(prove.Silent), string(prove.Away),
	string(prove.GaveUp), string(prove.Ended), string(prove.Late), string(prove.Open), string(prove.Past),
}

// check reads the flags that are not in the target yet.
func (p *prover) check(c *cobra.Command, t *prove.Target, values string, ways, known []string) (err error) {
	if host, port, err := net.SplitHostPort(t.Server); err != nil || host == "" || port == "" {
		return fmt.Errorf("prove: --server is %q, want host:port, as in localhost:6379", t.Server)
	}
	if err := misspelt("prove", placeholders, " and, in --event, {n}", append([]string{p.before, p.event}, p.args...)...); err != nil {
		return err
	}
	if err := positive("prove", map[string]time.Duration{"every": t.Every, "within": t.Within, "quiet": t.Quiet, "stop": t.Stop},
		map[string]int{"events": t.Events, "parallel": t.Parallel, "places": t.Places}); err != nil {
		return err
	}
	if values != "" {
		if p.values, err = regexp.Compile(values); err != nil {
			return fmt.Errorf("prove: --values: %w", err)
		}
	}
	if len(ways) == 0 {
		return fmt.Errorf("prove: --ways is empty, want some of %s", strings.Join(wayNames, ","))
	}
	for _, w := range ways {
		if !slices.Contains(wayNames, w) {
			return fmt.Errorf("prove: --ways has %q%s want some of %s", w, nearest(w, wayNames, ""), strings.Join(wayNames, ","))
		}
		if !slices.Contains(t.Ways, prove.Way(w)) {
			t.Ways = append(t.Ways, prove.Way(w))
		}
	}
	if t.Known, err = readKnown("prove", known, foundKinds); err != nil {
		return err
	}
	t.Client = p.client
	if p.before != "" {
		t.Before = p.prepare
	}
	if p.event != "" {
		t.Event = p.makeEvent
		named := slices.Contains(placeholder.FindAllString(strings.Join(append(p.args, p.before, p.event), "\n"), -1), "{run}")
		if !named && !c.Flags().Changed("parallel") {
			t.Parallel = 1
		}
	} else if c.Flags().Changed("events") || c.Flags().Changed("every") {
		return errors.New("prove: --events and --every are for --event, which is not given")
	}
	p.stop = t.Stop
	return nil
}

// positive returns an error for a flag that is not.
func positive(verb string, durations map[string]time.Duration, numbers map[string]int) error {
	for name, d := range durations {
		if d <= 0 {
			return fmt.Errorf("%s: --%s is %v, want more than 0", verb, name, d)
		}
	}
	for name, n := range numbers {
		if n < 1 {
			return fmt.Errorf("%s: --%s is %d, want at least 1", verb, name, n)
		}
	}
	return nil
}

// readKnown reads the flags --known.
func readKnown(verb string, flags, kinds []string) (all []prove.Known, err error) {
	for _, flag := range flags {
		kind, why, _ := strings.Cut(flag, "=")
		hint := ","
		if !slices.Contains(kinds, kind) {
			hint = nearest(kind, kinds, "")
			why = ""
		}
		if why == "" {
			return nil, fmt.Errorf("%s: --known is %q%s want kind=why with a kind of %s", verb, flag, hint, strings.Join(kinds, ", "))
		}
		all = append(all, prove.Known{Kind: prove.Kind(kind), Why: why})
	}
	return all, nil
}

// prove checks the target and prints what is found.
func (p *prover) prove(ctx context.Context, t prove.Target, out, errOut io.Writer, asJSON bool) error {
	ctx, stop := endedBySignal(ctx, endings()...)
	defer stop()
	progress := newBar(errOut)
	t.OnProgress = progress.show
	t.OnFinding = func(f prove.Finding) { progress.print("retrywhen: " + line(f)) }
	report, err := t.Check(ctx)
	progress.clear()
	if lines := p.lines.Load(); err != nil && p.values != nil && !p.valued.Load() && lines > 0 {
		err = fmt.Errorf("%w; --values matches none of %s of the first run", err, counted(lines, "line"))
	}
	for _, note := range report.Notes {
		fmt.Fprintln(errOut, "retrywhen: prove: note:", note)
	}
	return conclude(report, err, t.Known, out, errOut, asJSON)
}

// conclude prints what was found, and returns what the exit code says.
func conclude(report prove.Report, err error, known []prove.Known, out, errOut io.Writer, asJSON bool) error {
	return concludeWith("prove", report.Findings, report.Missing(known), err, errOut, func(missing []string, interrupted bool) error {
		if asJSON {
			return writeJSON(out, report)
		}
		return write(out, report, missing, interrupted)
	})
}

func concludeWith(verb string, findings []prove.Finding, missing []prove.Known, err error, errOut io.Writer, write func(missing []string, interrupted bool) error) error {
	died, interrupted := errors.AsType[diedBy](err)
	found := slices.ContainsFunc(findings, func(f prove.Finding) bool { return f.Known == "" })
	busy := errors.Is(err, prove.ErrBusy)
	if err != nil && !interrupted {
		if len(findings) == 0 || !busy && !found {
			return ownFailure{err}
		}
		if !busy {
			fmt.Fprintln(errOut, "retrywhen:", err)
		}
	}
	var lines []string
	for _, k := range missing {
		if err == nil {
			lines = append(lines, fmt.Sprintf("known, but not found: %s (%s)", k.Kind, k.Why))
			fmt.Fprintf(errOut, "retrywhen: %s: %s\n", verb, lines[len(lines)-1])
		}
	}
	failed := write(lines, interrupted)
	switch {
	case interrupted:
		return died
	case failed != nil:
		return ownFailure{failed}
	case busy:
		return ownFailure{err}
	case len(lines) > 0 || found:
		return exitCode(1)
	}
	return nil
}

// line is a finding in the output.
func line(f prove.Finding) string { return string(f.Kind) + ": " + f.String() }

// write writes a report.
func write(out io.Writer, report prove.Report, missing []string, interrupted bool) error {
	var lines []string
	known := 0
	for _, f := range report.Findings {
		lines = append(lines, line(f))
		if f.Known != "" {
			known++
		}
	}
	lines = append(lines, missing...)
	switch {
	case report.NotPlayed == 0:
	case interrupted:
		lines = append(lines, counted(report.NotPlayed, "further scenario")+" not judged")
	default:
		lines = append(lines, fmt.Sprintf("in %s the break did not take place", counted(report.NotPlayed, "further scenario")))
	}
	if known > 0 {
		lines = append(lines, counted(known, "known finding"))
	}
	lines = append(lines, strings.Join([]string{counted(report.Values, "value"), counted(report.Places, "place"), counted(report.Scenarios, "scenario"),
		counted(len(report.Findings)-known, "finding")}, ", "))
	_, err := io.WriteString(out, strings.Join(lines, "\n")+"\n")
	return err
}
