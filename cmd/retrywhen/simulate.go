package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

// The words of a strategy that are not its policy's, as completion offers them.
var (
	placeWords = []string{"place=by-ordinal", "processes=20"}
	layerWords = []string{"layers=3", "processes=20"}
)

// simulation holds what all simulations have in common.
type simulation struct {
	output
	tab        lab.Tab            // of the page; "" if there is none
	strategies *[]report.Strategy // of the model; those that it has at first are for no policies as arguments
	progress   *report.Progress   // of the model
	place      choice
}

// flags adds the flags of all simulations. own are the words that the command takes in addition to a policy's.
func (s *simulation) flags(c *cobra.Command, tab lab.Tab, own ...string) {
	s.tab, s.page = tab, tab != ""
	s.output.flags(c)
	c.ValidArgsFunction = completePolicy(own...)
}

// simFlags adds the flags of the simulations of clients: --place only with its word.
func (s *simulation) simFlags(c *cobra.Command, tab lab.Tab, seed *uint64, own ...string) {
	s.flags(c, tab, own...)
	c.Flags().Uint64Var(seed, "seed", 0, "the seed of the random draws")
	s.place = choice{kind: "place", of: []string{"one-process", "by-ordinal"}}
	if slices.Contains(own, placeWords[0]) {
		c.Flags().Var(&s.place, "place", "where the clients' random draws come from: one-process or by-ordinal (default one-process)")
		_ = c.RegisterFlagCompletionFunc("place", cobra.FixedCompletions(s.place.of, cobra.ShellCompDirectiveNoFileComp)) // it fails only for an unknown flag
	}
}

// parse parses the policies, and writes a note for each word without effect.
func (s *simulation) parse(c *cobra.Command, args []string, timeout time.Duration) error {
	if err := s.check(); err != nil {
		return err
	}
	strategies, err := report.ParseStrategies(args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		strategies = slices.Clone(*s.strategies)
	}
	if place, ok := report.ParsePlacement(s.place.text); ok {
		for i := range strategies {
			strategies[i].Placement = place
		}
	}
	for _, x := range strategies {
		if limit, ok := x.Policy.Limit(); ok && limit == 0 && (c.Name() == "herd" || c.Name() == "outage") {
			return fmt.Errorf("%q allows no retry, want a limit of 1 or more", x)
		}
	}
	for _, note := range report.Notes(c.Name(), timeout, strategies) {
		fmt.Fprintf(c.ErrOrStderr(), "retrywhen: %s: %s\n", c.Name(), note)
	}
	*s.strategies = strategies
	return nil
}

// run calls compute with a context that ends at an interrupt, and writes its result, also if it is not complete.
// timeout is that of attempts whose policy has none.
func (s *simulation) run(c *cobra.Command, args []string, timeout time.Duration, compute func(context.Context) (report.Result, error)) error {
	if err := s.parse(c, args, timeout); err != nil {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	ctx, stop := endedBySignal(c.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal has its default effect
	computing()
	bar := newProgress(c)
	*s.progress = bar.of
	r, err := compute(ctx)
	bar.clear()
	interrupted := ctx.Err()
	death, signaled := errors.AsType[diedBy](context.Cause(ctx))
	stop() // an interrupt from here on ends the process
	if field, ok := errors.AsType[*sim.FieldError](err); ok {
		return fmt.Errorf("%s: %s is %v, want %s", c.Name(), flagOf(c, field.Field), field.Value, inFlags.Replace(field.Want))
	}
	err = cmp.Or(err, r.Incomplete())
	if err != nil && !errors.Is(err, sim.ErrStuck) {
		fmt.Fprintf(c.ErrOrStderr(), "retrywhen: %s: %v; the result so far follows\n", c.Name(), err)
	}
	computed(r)
	if err := s.write(c, s.tab, r); err != nil {
		return err
	}
	switch {
	case signaled:
		return death
	case errors.Is(err, sim.ErrStuck):
		return fmt.Errorf("%s: %w; the result above is not complete", c.Name(), err)
	}
	return interrupted
}

// inFlags replaces the names of fields in what a simulation wants.
var inFlags = strings.NewReplacer(", or a Trace or Loops instead of it", "")

// flagsOf are the flags that set fields of other names.
var flagsOf = map[string]string{
	"Load·Horizon": "--load times the simulation end", "Jobs·Retries": "--jobs times --retries", "Service.Mean": "--service",
	"Trigger.For": "--stall", "Network.Mean": "--network", "Network.SD": "--network-sd",
}

// flagOf returns the flag of a command that sets a field of a simulation.
func flagOf(c *cobra.Command, field string) string {
	if field == "Load" && c.Flags().Lookup("load") == nil {
		return "--loads"
	}
	if flag, ok := flagsOf[field]; ok {
		return flag
	}
	flag, part, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(field, "Trigger.")), ".")
	if part != "" { // of a budget
		part = "'s " + part
	}
	return "--" + flag + part
}

// computing is called when a simulation can be interrupted, and computed with its result. They are for tests.
var computing, computed = func() {}, func(report.Result) {}

// progress draws a progress bar on a terminal. Elsewhere it writes a line for each tenth of a boundary, which takes long,
// and nothing for other simulations.
type progress struct {
	out    io.Writer // nil: nothing
	lines  bool      // instead of a bar
	tenths int64     // written
	drawn  time.Time
	shown  bool
}

func newProgress(c *cobra.Command) *progress {
	bar := isTerminal(c.ErrOrStderr())
	if !bar && c.Name() != "boundary" {
		return &progress{}
	}
	return &progress{out: c.ErrOrStderr(), lines: !bar}
}

// of returns the function to which a simulation reports its progress.
func (p *progress) of(what string) func(done, total int64) {
	if p.out == nil {
		return nil
	}
	return func(done, total int64) {
		if tenths := 10 * done / max(total, 1); p.lines {
			if tenths > p.tenths {
				p.tenths = tenths
				fmt.Fprintf(p.out, "retrywhen: %s: %d %%\n", what, 10*tenths)
			}
			return
		}
		if time.Since(p.drawn) < 100*time.Millisecond {
			return
		}
		p.drawn, p.shown = time.Now(), true
		wide := width(p.out)
		fmt.Fprintf(p.out, "\r\x1b[K%s", progressLine(console.Shorten(what, max(wide/4, 10)), float64(done)/float64(max(total, 1)), min(wide, 60)))
	}
}

// progressLine returns a line of the given width.
func progressLine(what string, share float64, wide int) string {
	text := fmt.Sprintf("%s %3.0f %% ", what, 100*share)
	bar := max(wide-len([]rune(text))-2, 4)
	full := min(int(share*float64(bar)), bar)
	return text + "[" + strings.Repeat("=", full) + strings.Repeat(" ", bar-full) + "]"
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K") // an error of the bar does not stop the simulation
		p.shown = false
	}
}
