package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// display prints the progress.
type display struct {
	out     io.Writer
	playing func() string // what the server does
	retries int
	waited  time.Duration

	recoveries int
	longest    time.Duration // the longest outage
}

// retry is the policy's OnRetry hook. It prints the retry.
func (d *display) retry(_ context.Context, e retry.Event) {
	d.retries++
	d.waited += e.Delay
	fmt.Fprintf(d.out, "%s: retry %d in %d ms, because of: %v\n", d.playing(), e.N, e.Delay.Milliseconds(), e.Err)
}

// recovered is the policy's OnRecovered hook. It counts the outages.
func (d *display) recovered(_ context.Context, r retry.Recovery) {
	d.recoveries++
	d.longest = max(d.longest, r.Down)
}

func (d *display) summary(l ledger, took time.Duration) {
	waited := min(d.waited, took) // the last wait may have been cut off
	fmt.Fprintf(d.out, "recovered %d times, longest outage %v\n", d.recoveries, d.longest.Round(time.Millisecond))
	fmt.Fprintf(d.out, "%d events, %d lost, %d duplicates, %d reconnects, waited %v of %v\n", l.events, l.lost, l.duplicates,
		d.retries, waited.Round(time.Millisecond), took.Round(time.Millisecond))
}
