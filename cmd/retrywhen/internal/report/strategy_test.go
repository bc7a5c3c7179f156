package report

import (
	"context"
	"strings"
	"testing"
	"time"
)

func strategies(t *testing.T, texts ...string) []Strategy {
	t.Helper()
	s := must(ParseStrategies(texts))
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
		" mine :  linear  d=1s tiled PLACE=by-ordinal ":      "mine: linear d=1s tiled place=by-ordinal",
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
		"exponental base=1s":                      `"exponental" at column 1:`,
		"mine: exponental base=1s":                `"exponental" at column 7:`,
		"märz 2:linear d=1s jiter=full":           `"jiter=full" at column 20:`,
		"linear d=1s layers=3 LAYERS=4":           `"LAYERS=4": want layers= once`,
		"a: linear d=1s place=by-ordinal nope=1s": `"nope=1s" at column 33:`,
	} {
		if _, err := ParseStrategy(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The name of a policy in use may have options, which replace its own, and another name before it.
func TestTodayWithOptions(t *testing.T) {
	for text, want := range map[string]string{
		"grpc":                     "gRPC, retryThrottling 10 and 0.1: exponential base=100ms factor=2 cap=1s jitter=deviation:0.2 limit=3 budget=10,5.05,0.1 failuretakes=1",
		"GRPC  processes=200":      "gRPC, retryThrottling 10 and 0.1 processes 200: exponential base=100ms factor=2 cap=1s jitter=deviation:0.2 limit=3 budget=10,5.05,0.1 processes=200 failuretakes=1",
		"mine: aws limit=5":        "mine: exponential base=1s factor=2 cap=20s jitter=full limit=5 budget=500,10,1",
		" aws-2026 layers=2 ":      "AWS SDK, 14 a retry layers 2: exponential base=50ms factor=2 cap=20s jitter=full limit=2 budget=500,14,1 layers=2",
		"linear d=1s budget=1,1,0": "linear d=1s budget=1,1,0",
	} {
		s, err := ParseStrategy(text)
		if err != nil || s.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, s, err, want)
		}
		if again, err := ParseStrategy(s.String()); err != nil || again.String() != want {
			t.Errorf("%q, read again: %s, %v", text, again, err)
		}
	}
	if _, err := ParseStrategies([]string{"grpc", "grpc processes=200"}); err != nil {
		t.Error(err)
	}
	if l := strategies(t, "grpc processes=2")[0].layers(0)[0]; l.FailureTakes != 1 || l.Processes != 2 {
		t.Errorf("%+v", l)
	}
	if got := InWords(strategies(t, "grpc")[0]); !strings.HasSuffix(got, "; each failure takes 1 of the tokens, a retry none") {
		t.Error(got)
	}
}

// A note says which word has no effect.
func TestNotes(t *testing.T) {
	for _, test := range []struct {
		command, text string
		timeout       time.Duration
		want          string
	}{
		{"show", "linear d=1s budget=10,1,0.1", 0, "budget=10,1,0.1 has no effect here: only in occ, outage, overload, boundary, run"},
		{"show", "linear d=1s limit=0 within=1m stopat=10s", 0, ""},
		{"run", "linear d=1s place=by-ordinal", 0, "place=by-ordinal has no effect here: only in herd, occ, outage, choose"},
		{"run", "linear d=1s resetafteritems=1", 0, "resetafteritems=1 has no effect here: nothing here can show it"},
		{"run", "linear d=1s budget=10,1,0.1 attempttimeout=1s resetafter=1s limit=0", 0, ""},
		{"herd", "linear d=1s key=3 place=by-ordinal", 0, "key=3 has no effect here: each client has its own"},
		{"occ", "linear d=1s processes=2", 0, "processes=2 has no effect here: the clients share neither a budget nor the tiles of one process"},
		{"occ", "linear d=1s tiled processes=2", 0, ""},
		{"outage", "linear d=1s attempttimeout=1s", 0, "attempttimeout=1s has no effect here: every attempt fails at once, see --timeout"},
		{"outage", "linear d=1s attempttimeout=1s", time.Second, ""},
		{"outage", "linear d=1s layers=2", 0, "layers=2 has no effect here: only in overload, boundary"},
		{"overload", "grpc processes=2 layers=3", time.Second, ""},
		{"choose", "linear d=1s limit=2", 0, "limit=2 has no effect here: only in show, herd, occ, outage, overload, boundary, run"},
	} {
		if got := strings.Join(Unused(test.command, test.timeout, strategies(t, test.text)[0]), "; "); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.command, test.text, got, test.want)
		}
	}
	if got := Notes("show", 0, strategies(t, "a: linear d=1s layers=2", "linear d=2s")); len(got) != 1 || !strings.HasPrefix(got[0], `"a: linear d=1s layers=2": layers=2 has no effect here`) {
		t.Errorf("%q", got)
	}
}
