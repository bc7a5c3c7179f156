package main

import (
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/lab"
)

// The commands that the page shows can be run in a shell.
func TestLabCommandsRun(t *testing.T) {
	for _, p := range lab.Presets() {
		s := p.State
		s.Runs, s.Clients, s.Affected, s.Seed = 1, min(s.Clients, 10), min(s.Affected, 50), 3
		words := shellWords(t, s.Command())
		out, _, err := inProcess(t, words[1:]...)
		if err != nil || len(out) < 200 {
			t.Errorf("%s: %s: %v", p.Name, s.Command(), err)
		}
		for _, x := range s.Strategies {
			if s.Tab != lab.TabChoose && !strings.Contains(out, x.Title()) {
				t.Errorf("%s: %s shows no %s", p.Name, s.Command(), x.Title())
			}
		}
	}
}

// shellWords splits a command as a shell does, with its quotes.
func shellWords(t *testing.T, command string) []string {
	t.Helper()
	var words []string
	for i, part := range strings.Split(command, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
