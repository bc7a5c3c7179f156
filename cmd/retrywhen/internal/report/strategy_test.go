package report

import (
	"context"
	"strings"
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

// atEnd calls f when the first simulation has come to its end.
func atEnd(f func()) Progress {
	return func(string) func(int64, int64) {
		return func(done, total int64) {
			if done == total {
				f()
			}
		}
	}
}

func TestParseStrategy(t *testing.T) {
	for _, text := range []string{
		"linear d=1s budget=10,1",
		"linear d=1s budget=10,1,x",
		"linear d=1s budget=1,2,0",
		"linear d=1s budget",
		"linear d=1s layers=11",
		"linear d=1s processes=0",
		": linear d=1s",
		"linear d=1s place=",
		"x: ",
		"linear place=one-process d=1s limit=3 place=one-process2",
	} {
		if s, err := ParseStrategy(text); err == nil {
			t.Errorf("%q is read as %s", text, s)
		}
	}
	for text, want := range map[string]string{
		"linear d=1s": "linear d=1s",
		" mine :  linear  d=1s tiled PLACE=by-key ":          "mine: linear d=1s tiled place=by-key",
		"constant d=1s jitter=deviation:0.3":                 "constant d=1s jitter=deviation:0.3",
		"a: constant d=1s jitter=uniform:0.5:1.5":            "a: constant d=1s jitter=uniform:0.5:1.5",
		"linear d=1s budget=10,1,0.1 layers=3 processes=20":  "linear d=1s budget=10,1,0.1 layers=3 processes=20",
		"linear d=1s Budget=10,1,0.1,5 layers=1 processes=1": "linear d=1s budget=10,1,0.1,5",
	} {
		s, err := ParseStrategy(text)
		if err != nil || s.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, s, err, want)
		}
		if again, err := ParseStrategy(s.String()); err != nil || again.String() != want {
			t.Errorf("%q, read again: %s, %v", text, again, err)
		}
	}
}

// Errors give the column in the whole text, including the name.
func TestParseStrategyCountsColumnsFromTheBeginning(t *testing.T) {
	for text, want := range map[string]string{
		"exponental base=1s":                  `"exponental" at column 1:`,
		"mine: exponental base=1s":            `"exponental" at column 7:`,
		"märz 2:linear d=1s jiter=full":       `"jiter=full" at column 20:`,
		"linear d=1s layers=3 LAYERS=4":       `"LAYERS=4": want layers= once`,
		"a: linear d=1s place=by-key nope=1s": `"nope=1s" at column 29:`,
	} {
		if _, err := ParseStrategy(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
