// Shipper ships a log to a collector that dies and comes back, in two styles: a bare loop around a backoff, and a range
// over a policy's attempts. No line is lost.
//
//	go run ./examples/shipper
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/program"
	"github.com/retrywhen/retrywhen/retry"
)

func main() { program.Main("shipper", os.Args[1:], run) }

const lines = 1000

func run(ctx context.Context, out io.Writer) error {
	if err := ship(ctx, "loop", out); err != nil {
		return err
	}
	return ship(ctx, "attempts", out)
}

// ship ships the lines in one style, "loop" or "attempts", and checks that the collector has stored each of them once.
func ship(ctx context.Context, style string, out io.Writer) error {
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
	var all []string
	for i := range lines {
		all = append(all, fmt.Sprintf("line %d", i+1))
	}
	s := shipper{addr: c.addr, lines: all}
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
	if !slices.Equal(stored, all) {
		return fmt.Errorf("%s: the collector has %q, want line 1 to line %d", style, stored, lines)
	}
	fmt.Fprintf(out, "%-8s  %d lines shipped, none lost, over %d connections\n", style, lines, s.connections)
	return nil
}
