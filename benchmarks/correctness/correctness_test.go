package main

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		inBubble(func(t *testing.T) { child(t, name) })
	}
	os.Exit(m.Run())
}

// TestTheDocumentIsWhatTheLibrariesDo makes the document again and compares it. With the race detector or -short it
// does not compare the jitter, because it takes too few draws.
func TestTheDocumentIsWhatTheLibrariesDo(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the document was written on linux/amd64")
	}
	n := million
	if raceEnabled || testing.Short() {
		n = 1000
	}
	now, err := document(t, n)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../CORRECTNESS.md")
	if err != nil {
		t.Fatal(err)
	}
	committed := sections(string(text))
	for title, got := range sections(now) {
		if title == "Jitter at the cap" && n < million {
			continue
		}
		if want := committed[title]; got != want {
			t.Errorf("%s: CORRECTNESS.md differs from what the libraries do; make correctness writes it again\ngot\n%s\nwant\n%s", title, got, want)
		}
	}
}

// sections returns the parts of a document by their titles.
func sections(text string) map[string]string {
	s := map[string]string{}
	for part := range strings.SplitSeq(text, "\n## ") {
		title, body, _ := strings.Cut(part, "\n")
		s[title] = body
	}
	return s
}

func TestDoublingAnswer(t *testing.T) {
	short := doublingAnswer(ours().doubling(delays))
	if want := "correct up to 34, from there 292 years"; short != want {
		t.Errorf("got %q, want %q", short, want)
	}
	wrapped := doublingAnswer(handWritten().doubling(delays))
	if want := "correct up to 34, from 35 on **negative**"; !strings.HasPrefix(wrapped, want) {
		t.Errorf("got %q, want it to begin with %q", wrapped, want)
	}
}
