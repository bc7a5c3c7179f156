package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/sim"
)

func newSim() *cobra.Command {
	c := &cobra.Command{
		Use:   "sim",
		Short: "Simulate what many clients do to their server",
		Long: `Sim simulates many clients under one or more policies, in simulated time: a
server that stalls under load, a server that is down and comes back, a herd of
jobs that fail together, or clients that contend for one row. The same seed gives
the same result.

Policies are as in: retrywhen show --help. These options may be added:
  place=process-each     each client is a process; also by-key, by-ordinal
  processes=20           the clients are divided among 20 processes
  budget=10,1,0.1        the retries share a budget: capacity, cost, refund
  layers=3               an overload's callers are three layers with this policy
When interrupted, sim writes the result so far and dies of the signal.`,
	}
	leads(c)
	c.AddCommand(newSimChoose(), newSimHerd(), newSimOCC(), newSimOutage(), newSimOverload())
	return c
}

// simulation holds the flags that the simulations have in common.
type simulation struct {
	output
	place   string
	seed    uint64
	horizon time.Duration
}

func (s *simulation) flags(c *cobra.Command) {
	s.output.flags(c)
	placeFlag(c, &s.place)
	seedFlag(c, &s.seed)
	c.Flags().DurationVar(&s.horizon, "horizon", 0, "simulation end (default: none)")
	c.ValidArgsFunction = completePolicy
}

func placeFlag(c *cobra.Command, place *string) {
	c.Flags().StringVar(place, "place", "", "where the clients' random draws come from: one-process, process-each, by-key or by-ordinal (default one-process)")
	_ = c.RegisterFlagCompletionFunc("place", cobra.FixedCompletions([]string{"one-process", "process-each", "by-key", "by-ordinal"}, cobra.ShellCompDirectiveNoFileComp)) // it fails only for an unknown flag
}

func seedFlag(c *cobra.Command, seed *uint64) {
	c.Flags().Uint64Var(seed, "seed", 0, "the seed of the random draws")
}

// strategies parses the policies. Without any it returns the preset's.
func (s *simulation) strategies(args []string, preset func() []model.Strategy) ([]model.Strategy, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.horizon < 0 {
		return nil, fmt.Errorf("--horizon is %v, want at least 0", s.horizon)
	}
	strategies, err := model.ParseStrategies(args)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		strategies = preset()
	}
	if s.place != "" {
		var p sim.Placement
		if err := p.UnmarshalText([]byte(s.place)); err != nil {
			return nil, fmt.Errorf("--place is %q, want one-process, process-each, by-key or by-ordinal", s.place)
		}
		for i := range strategies {
			strategies[i].Placement = p
		}
	}
	return strategies, nil
}

// run calls compute with a context that ends at an interrupt, and writes its result, also if it is not complete.
func (s *simulation) run(c *cobra.Command, compute func(context.Context, model.Progress) (report, error)) error {
	ctx, stop := untilSignal(c.Context())
	defer stop()
	computing()
	bar := newProgress(c.ErrOrStderr())
	r, err := compute(ctx, bar.of)
	bar.clear()
	interrupted := ctx.Err()
	death, signaled := errors.AsType[diedBy](context.Cause(ctx))
	stop() // an interrupt from here on ends the process
	if field, ok := errors.AsType[*sim.FieldError](err); ok {
		return fmt.Errorf("%s: %s is %v, want %s", c.Name(), flagOf(field.Field), field.Value, field.Want)
	}
	stopped, ok := errors.AsType[*sim.StoppedError](err)
	if err != nil && !ok {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	if ok {
		fmt.Fprintf(c.ErrOrStderr(), "retrywhen: %s: %v; the result so far follows\n", c.Name(), stopped)
	}
	if err := s.write(c, r); err != nil {
		return err
	}
	if signaled {
		return death
	}
	return interrupted
}

// refuseWords returns an error if a strategy has one of the options: they would have no effect.
func refuseWords(strategies []model.Strategy, words ...string) error {
	for _, s := range strategies {
		for _, word := range words {
			if s.Has(word) {
				return fmt.Errorf("%q: %s= has no effect here, want a policy without it", s, word)
			}
		}
	}
	return nil
}

func noRetry(s model.Strategy) error {
	return fmt.Errorf("%q allows no retry, want a limit of 1 or more", s)
}

// untilSignal returns a context that ends at SIGINT and SIGTERM, with a diedBy as its cause. A second signal has its
// default effect.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			cancel(diedBy{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// flagOf returns the flag that sets a field of a simulation.
func flagOf(field string) string {
	switch field {
	case "Jobs·Retries":
		return "--jobs times --retries"
	case "PeakWindow":
		return "--peak"
	case "DeadWindow":
		return "--dead"
	case "Service.Mean":
		return "--service"
	case "Service.CV":
		return "--shape's CV"
	case "Trigger.For":
		return "--stall"
	case "Network.Mean":
		return "--network"
	case "Network.SD":
		return "--network-sd"
	}
	flag, part, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(field, "Trigger.")), ".")
	if part != "" { // of a budget
		part = "'s " + part
	}
	return "--" + flag + part
}

// computing is called when a simulation can be interrupted. Tests wait for it.
var computing = func() {}

// progress draws a progress bar on a terminal, and nothing elsewhere.
type progress struct {
	out io.Writer
	bar *progressbar.ProgressBar
}

func newProgress(out io.Writer) *progress {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &progress{out: out}
	}
	return &progress{}
}

// of returns the function to which a simulation reports its progress.
func (p *progress) of(what string) func(done, total int64) {
	if p.out == nil {
		return nil
	}
	p.clear()
	return func(done, total int64) {
		if p.bar == nil {
			const times = 24 // the width of the percentage, the time so far and the time left
			wide := width(p.out)
			what = console.Shorten(what, max(wide/4, 10))
			p.bar = progressbar.NewOptions64(total,
				progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(what),
				progressbar.OptionSetWidth(max(min(wide-len([]rune(what))-times, 30), 1)),
				progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true))
		}
		_ = p.bar.Set64(done) // an error of the bar does not stop the simulation
	}
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
