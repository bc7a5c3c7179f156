//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/prove"
)

func ignoreSignals() { signal.Ignore(passedOn...) }

// A command that ignores SIGTERM is late, and so is one that leaves such a process. All of it is killed.
func TestProveEndsGroups(t *testing.T) {
	stubborn := asChild(t, "stubborn")[1:]
	for name, args := range map[string][]string{
		"it":        stubborn,
		"its child": {"sh", "-c", strings.Join(stubborn, " ") + " & while sleep 1; do :; done"},
	} {
		p := prover{args: args, stop: 200 * time.Millisecond}
		ctx, cancel := context.WithCancel(t.Context())
		g := &group{}
		began := time.Now()
		err := p.client(ctx, prove.Run{}, func(line string) {
			if word, number, ok := strings.Cut(line, " "); ok && word == "ready" {
				pid, _ := strconv.Atoi(number)
				g.id, _ = syscall.Getpgid(pid)
				began = time.Now()
				cancel()
			}
		})
		if err != nil || time.Since(began) < p.stop || g.id == 0 || g.id == syscall.Getpgrp() || !g.gone() {
			t.Errorf("%s: %v after %v, group %d", name, err, time.Since(began), g.id)
		}
	}
}

// A signal ends all children, what is known is printed, and the command dies of it.
func TestProveDiesOfASignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := command(t, proveArgs(t, "again", "--within=1m", "--ways=end,silence")...)
		found := &notifier{until: "retrywhen: repeated: ", said: make(chan struct{})}
		p.Stderr = found
		p.start(t)
		<-found.said
		p.signal(t, s)
		out := p.diesBy(t, s)
		if !strings.HasPrefix(out, "repeated: ") || !strings.HasSuffix(out, " 1 finding\n") || strings.Contains(out, "did not take place") {
			t.Errorf("%v: stdout is %q", s, out)
		}
	}
}

// A signal ends all commands that measure has started, also those that ignore it.
func TestMeasureDiesOfASignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		folder := t.TempDir()
		started := func() []os.DirEntry {
			all, err := os.ReadDir(folder)
			must(t, err)
			return all
		}
		p := command(t, append([]string{"measure", "--stop=200ms"}, asChild(t, "measured", "deaf", "{url}")...)...)
		p.Env = append(p.Env, "MEASURED="+folder)
		p.start(t)
		for len(started()) < 6 {
			time.Sleep(10 * time.Millisecond)
		}
		p.signal(t, s)
		if out := p.diesBy(t, s); !strings.HasPrefix(out, "the server, to GET /price ") {
			t.Errorf("%v: stdout is %q", s, out)
		}
		for _, file := range started() {
			if id, err := strconv.Atoi(file.Name()); err != nil || !(&group{id}).gone() {
				t.Errorf("%v: process %s is left", s, file.Name())
			}
		}
	}
}
