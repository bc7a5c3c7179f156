package report

import (
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/retry"
)

func TestInWords(t *testing.T) {
	for text, want := range map[string]string{
		"constant d=5s":   "5s before each retry",
		"constant d=0s":   "no wait",
		"linear d=1500ms": "1.5s·n",
		"quadratic d=1s":  "1s·n²",
		"polynomial d=1s degree=1.5 jitter=deviation:0.3":     "1s·n^1.5, times a random factor of 1 ± 0.3",
		"exponential base=100ms factor=2 cap=30s jitter=full": "100ms, then twice as long each time, times a random factor from 0 to 1, at most 30s",
		"exponential base=1m factor=1.5 plus=3m jitter=equal": "1m, then 1.5 times as long each time, plus 3m, times a random factor from 0.5 to 1",
		"fibonacci d=1s jitter=uniform:0.5:1.5":               "1s times 1, 1, 2, 3, 5, 8 …, times a random factor from 0.5 to 1.5",
		"table delays=10ms,90s jitter=default":                "10ms, 1m30s, then 1m30s forever, times a random factor from 0.85 to 1.15",
		"sidekiq limit=1":                                     "(n-1)⁴ + 15 + up to 30·n seconds at random; at most 1 retry",
		"buckets unit=1s exponent=3 within=1m":                "at random between 1s·(n-1)^3 and 1s·(n+1)^3; no retry later than 1m after the first failure",
		"decorrelated base=5ms stopat=90s":                    "at random between 5ms and three times the previous delay; gives up when a wait before jitter would be 1m30s or more",
		"linear d=1s tiled attempttimeout=2s limit=5":         "1s·n, tiled: each operation keeps its place in every wait; at most 5 retries; the context of each call ends after 2s",
		"linear d=1s limit=0":                                 "no retry",
		"linear d=1s budget=10,1,0.1,2 processes=3 layers=2":  "1s·n; a budget of 10: a retry costs 1, a success refunds 0.1, 2 flow in each second; 3 processes, each with a budget of its own; 2 layers",
		"linear d=1s resetafter=30s processes=3":              "1s·n; an attempt of 30s or longer restarts the count; 3 processes",
	} {
		if got := InWords(strategies(t, text)[0]); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// Every word is in the sentence.
func TestInWordsHasAllWords(t *testing.T) {
	for _, w := range retry.Words() {
		want, _, _ := strings.Cut(w.Sentence, "{")
		if got := InWords(strategies(t, "constant d=1s "+w.String())[0]); !strings.Contains(got, want) && w.Example != "none" {
			t.Errorf("%s: %s, want %q in it", w, got, want)
		}
	}
}

func TestNumbersInSentences(t *testing.T) {
	for n, want := range map[int]string{0: "0 jobs", 1: "1 job", 999: "999 jobs", 1000: "1,000 jobs", 1234567: "1,234,567 jobs"} {
		if got := count(n, "job", "jobs"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	if got := list([]string{"a", "b", "c"}) + "|" + list([]string{"a", "b"}) + "|" + list([]string{"a"}) + "|" + list(nil); got != "a, b and c|a and b|a|" {
		t.Error(got)
	}
}
