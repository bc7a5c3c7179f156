// Shipper ships a log to a collector that dies and comes back, in two styles: a bare loop around a backoff, and a range
// over a policy's attempts. No line is lost.
//
//	go run ./examples/shipper
//	go run ./examples/shipper -style loop -lines 10000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "shipper:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("shipper", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints errors
	style := flags.String("style", "both", "style of the client: loop, attempts or both")
	lines := flags.Int("lines", 1000, "number of lines to ship")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(out)
		flags.Usage()
		return nil
	case err != nil:
		return fmt.Errorf("%w; -h lists the flags", err)
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q, want only flags", flags.Arg(0))
	case *lines <= 0:
		return fmt.Errorf("-lines is %d, want at least 1", *lines)
	}
	switch *style {
	case "loop", "attempts":
		return ship(ctx, *style, *lines, out)
	case "both":
		if err := ship(ctx, "loop", *lines, out); err != nil {
			return err
		}
		return ship(ctx, "attempts", *lines, out)
	default:
		return fmt.Errorf("-style is %q, want loop, attempts or both", *style)
	}
}

// ship ships the lines in one style, and checks that the collector has stored each of them once.
func ship(ctx context.Context, style string, lines int, out io.Writer) error {
	reset, online := make(chan struct{}, 1), retry.NewSignal()
	c, err := startCollector(50*time.Millisecond, func() {
		// The collector is back, so a waiting shipper may try at once.
		online.Fire()
		select {
		case reset <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	s := shipper{addr: c.addr}
	for i := range lines {
		s.lines = append(s.lines, fmt.Sprintf("line %d", i+1))
	}
	if style == "loop" {
		err = s.shipLoop(ctx.Done(), reset)
	} else {
		policy := retry.New(backoff.Default, retry.ResetOn(online), retry.Within(time.Minute))
		err = s.shipAttempts(ctx, policy)
	}
	stored := c.close()
	if err != nil {
		return fmt.Errorf("%s: %w", style, err)
	}
	for i, line := range stored {
		if want := fmt.Sprintf("line %d", i+1); line != want {
			return fmt.Errorf("%s: the collector has %q, want %q", style, line, want)
		}
	}
	if len(stored) != lines {
		return fmt.Errorf("%s: the collector has %d lines, want %d", style, len(stored), lines)
	}
	fmt.Fprintf(out, "%-8s  %d lines shipped, none lost, over %d connections\n", style, lines, s.connections)
	return nil
}
