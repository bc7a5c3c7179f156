package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/retrywhen/retrywhen/examples/internal/program"
	"github.com/retrywhen/retrywhen/retry"
)

// display shows the progress: a progress bar on a terminal, plain lines elsewhere.
type display struct {
	out     io.Writer
	playing func() string            // what the server does
	bar     *progressbar.ProgressBar // nil if there is no terminal
	retries int
	waited  time.Duration

	recoveries int
	longest    time.Duration // the longest outage
}

func newDisplay(out io.Writer, n int, playing func() string) *display {
	d := &display{out: out, playing: playing}
	if program.IsTerminal(out) {
		d.bar = progressbar.NewOptions(n, progressbar.OptionSetWriter(out), progressbar.OptionShowCount(),
			progressbar.OptionSetDescription("events"), progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionSetWidth(40), progressbar.OptionClearOnFinish())
	}
	return d
}

// retry is the policy's OnRetry hook. It prints the retry.
func (d *display) retry(_ context.Context, e retry.Event) {
	d.retries++
	d.waited += e.Delay
	d.printf("%s: retry %d in %d ms, because of: %v\n", d.playing(), e.N, e.Delay.Milliseconds(), e.Err)
}

// recovered is the policy's OnRecovered hook. It counts the outages.
func (d *display) recovered(_ context.Context, r retry.Recovery) {
	d.recoveries++
	d.longest = max(d.longest, r.Down)
}

func (d *display) event(n int) {
	if d.bar != nil {
		_ = d.bar.Set(n)
	} else if n%1000 == 0 {
		d.printf("%d events\n", n)
	}
}

// end removes the progress bar.
func (d *display) end() {
	if d.bar != nil {
		_ = d.bar.Finish()
		d.bar = nil
	}
}

func (d *display) summary(l ledger, took time.Duration) {
	d.end()
	waited := min(d.waited, took) // the last wait may have been cut off
	d.printf("recovered %d times, longest outage %v\n", d.recoveries, d.longest.Round(time.Millisecond))
	d.printf("%d events, %d lost, %d duplicates, %d reconnects, waited %v of %v\n", l.events, l.lost, l.duplicates,
		d.retries, waited.Round(time.Millisecond), took.Round(time.Millisecond))
}

func (d *display) printf(format string, args ...any) {
	if d.bar != nil {
		_ = d.bar.Clear()
	}
	fmt.Fprintf(d.out, format, args...)
	if d.bar != nil {
		_ = d.bar.RenderBlank()
	}
}
