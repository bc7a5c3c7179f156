package model

import (
	"context"
	"testing"
)

func strategies(t *testing.T, texts ...string) []Strategy {
	t.Helper()
	s, err := ParseStrategies(texts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ended returns a context that has ended.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestParseStrategy(t *testing.T) {
	for text, want := range map[string]string{
		"linear d=1s": "linear d=1s",
		" mine :  linear  d=1s tiled PLACE=process-each ": "mine: linear d=1s tiled place=process-each",
		"constant d=1s jitter=deviation:0.3":              "constant d=1s jitter=deviation:0.3",
		"a: constant d=1s jitter=uniform:0.5:1.5":         "a: constant d=1s jitter=uniform:0.5:1.5",
		": linear d=1s":      "",
		"linear d=1s place=": "",
		"x: ":                "",
		"linear place=one-process d=1s limit=3 place=one-process2": "",
	} {
		s, err := ParseStrategy(text)
		if want == "" {
			if err == nil {
				t.Errorf("%q is read as %s", text, s)
			}
			continue
		}
		if err != nil || s.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, s, err, want)
		}
		if again, err := ParseStrategy(s.String()); err != nil || again.String() != want {
			t.Errorf("%q, read again: %s, %v", text, again, err)
		}
	}
}
