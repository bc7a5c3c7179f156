package main

import (
	"fmt"
	"io"
	"sync"
)

// bar is a bar on a terminal; elsewhere it is nothing.
type bar struct {
	out      io.Writer
	terminal bool

	mu       sync.Mutex
	drawn    string
	findings int
}

func newBar(out io.Writer) *bar {
	return &bar{out: out, terminal: isTerminal(out)}
}

// show draws the bar.
func (b *bar) show(done, of int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	what := fmt.Sprintf("%d of %s, %s", done, counted(of, "scenario"), counted(b.findings, "finding"))
	b.drawn = progressLine(what, float64(done)/float64(max(of, 1)), min(width(b.out), 80))
	b.draw(b.drawn)
}

// print prints a finding above the bar.
func (b *bar) print(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.findings++
	b.draw("")
	fmt.Fprintln(b.out, text)
	b.draw(b.drawn)
}

// clear removes the bar.
func (b *bar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drawn = ""
	b.draw("")
}

func (b *bar) draw(text string) {
	if b.terminal {
		fmt.Fprint(b.out, "\r\x1b[K"+text)
	}
}
