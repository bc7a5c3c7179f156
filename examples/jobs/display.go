package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/retrywhen/retrywhen/examples/internal/program"
)

// display shows the progress: a progress bar on a terminal; elsewhere a line for each tenth of the jobs, or every 2 s
// if that takes longer.
type display struct {
	out  io.Writer
	l    *ledger
	stop func() // shows the final state; it may be called again

	mu     sync.Mutex
	bar    *progressbar.ProgressBar // nil if there is no terminal, and at the end
	tenths int
	line   time.Time // when the last line was printed
}

func startDisplay(out io.Writer, l *ledger) *display {
	d := &display{out: out, l: l, line: time.Now()}
	if program.IsTerminal(out) {
		d.bar = progressbar.NewOptions(len(l.jobs), progressbar.OptionSetWriter(out), progressbar.OptionShowCount(),
			progressbar.OptionSetWidth(15), progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish()) // of 80 columns
	}
	var all sync.WaitGroup
	end := make(chan struct{})
	all.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				d.show()
			case <-end:
				return
			}
		}
	})
	d.stop = sync.OnceFunc(func() {
		close(end)
		all.Wait()
		d.show()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.bar != nil {
			_ = d.bar.Finish()
			d.bar = nil
		}
	})
	return d
}

func (d *display) show() {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.l
	ended, state := int(l.done.Load()+l.dead.Load()), fmt.Sprintf("%d dead, %d waiting, %d retries", l.dead.Load(), l.waiting.Load(), l.retries.Load())
	if d.bar != nil {
		d.bar.Describe(state)
		_ = d.bar.Set(ended)
		return
	}
	if tenths := ended * 10 / len(l.jobs); tenths > d.tenths || time.Since(d.line) > 2*time.Second {
		fmt.Fprintf(d.out, "%3d %%: %d of %d, %s\n", ended*100/len(l.jobs), ended, len(l.jobs), state)
		d.tenths, d.line = tenths, time.Now()
	}
}

// printf prints a line above the bar.
func (d *display) printf(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != nil {
		_ = d.bar.Clear()
	}
	fmt.Fprintf(d.out, format, args...)
}
