package retry_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

func TestPolicyText(t *testing.T) {
	for _, text := range []string{
		"exponential base=100ms factor=2 cap=30s jitter=full limit=5 within=1m",
		"linear d=1s limit=0 within=0s stopat=10s attempttimeout=1m30s resetafter=1h resetafteritems=1 maxretryafter=2h0m1s",
	} {
		p, err := retry.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		again, err := retry.Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q prints as %q, which reads as %q, %v", text, p, again, err)
		}
		for _, word := range strings.Fields(text)[1:] {
			if strings.HasPrefix(word, "d=") {
				continue
			}
			if !strings.Contains(p.String()+" ", " "+word+" ") {
				t.Errorf("%q prints as %q, without %s", text, p, word)
			}
		}
	}
}

func TestPolicyTextMeansWhatTheOptionsMean(t *testing.T) {
	got, err := retry.Parse("limit=5  exponential within=1m base=100ms\tfactor=2 cap=30s jitter=full")
	want := retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.Limit(5), retry.Within(time.Minute))
	if err != nil || got.String() != want.String() {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	// Spaces of every kind separate words, and none of these letters has one in it.
	got, err = retry.Parse("linear\u00a0limit=5\u00a0d=1s\u2003within=1m\u0085")
	if want := "linear d=1s limit=5 within=1m"; err != nil || got.String() != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := retry.Parse("linear d=1s àlimit=5 limit=5"); err == nil || !strings.Contains(err.Error(), `"àlimit=5" at column 13`) {
		t.Errorf("got %v, want it to tell of àlimit=5", err)
	}
	with, err := retry.Parse("exponential base=1s factor=2 limit=5", retry.Limit(7))
	if err != nil || !strings.Contains(with.String(), "limit=7") {
		t.Errorf("got %q, %v; want the option to come last", with, err)
	}
}

func TestPolicyTextErrors(t *testing.T) {
	const good = "exponential base=1s factor=2 "
	for _, test := range []struct{ text, want string }{
		{good + "limit=-1", `"limit=-1" at column 30: limit is "-1", want a whole number of at least 0`},
		{good + "limit=many", `"limit=many" at column 30: limit is "many", want a whole number of at least 0`},
		{good + "limit", `"limit" at column 30: limit is "", want a whole number`},
		{good + "within=1", `"within=1" at column 30: 1 has no unit, want as in "within=30s"`},
		{good + "resetafter=0s", `"resetafter=0s" at column 30: resetafter is 0s, want more than 0`},
		{good + "limit=1 limit=2", `"limit=2" at column 38: a second limit, want one only`},
		{good + "limmit=1", "did you mean limit?"},
		{good + "witin=1m", "did you mean within?"},
		{good + "facto=2", "did you mean factor? exponential"},
		{good + "x=2", "(a policy also takes limit, within, stopat, attempttimeout, resetafter, resetafteritems and maxretryafter)"},
		{"", "retry: Parse"},
		{"limit=3", `"limit=3": names no curve`},
	} {
		if _, err := retry.Parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want it to contain %s", test.text, err, test.want)
		}
	}
}

// Every error has the same form and is a *backoff.ParseError. Only an unknown word lists what a policy also takes.
func TestPolicyTextErrors_OfTheBackoff(t *testing.T) {
	_, err := retry.Parse("linear d=1s limit=5 jiter=full")
	const want = `retry: Parse: "jiter=full" at column 21: `
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "backoff: ") {
		t.Errorf("got %v, want it to begin with %s", err, want)
	}
	if wrong, ok := errors.AsType[*backoff.ParseError](err); !ok || wrong.Word != "jiter=full" {
		t.Errorf("%v is not a *backoff.ParseError of the word, but %v", err, wrong)
	}
	if _, err := retry.Parse("linear d=1"); err == nil || strings.Contains(err.Error(), "a policy also takes") {
		t.Errorf("got %v, want no other words for a wrong value", err)
	}
	_, err = retry.Parse("linear d=1s limit=x")
	if wrong, ok := errors.AsType[*backoff.ParseError](err); !ok || wrong.Word != "limit=x" || wrong.Column() != 13 {
		t.Errorf("%v is not a *backoff.ParseError of the word, but %v", err, wrong)
	}
}

func TestPolicyTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := []retry.Option{retry.Limit(rapid.IntRange(0, math.MaxInt).Draw(t, "limit"))}
		duration := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, name))
		}
		for name, option := range map[string]func(time.Duration) retry.Option{
			"within": retry.Within, "stopat": retry.StopAt, "attempttimeout": retry.AttemptTimeout,
			"resetafter": retry.ResetAfter, "maxretryafter": retry.MaxRetryAfter,
		} {
			if rapid.Bool().Draw(t, name+" is set") {
				opts = append(opts, option(duration(name)))
			}
		}
		p := retry.New(backoff.Fibonacci(duration("d")), opts...)
		again, err := retry.Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q reads as %q, %v", p, again, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("exponential base=100ms factor=2 cap=30s jitter=full limit=5 within=1m")
	f.Add("limit=limit limit=  within=9999999h x")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := retry.Parse(text)
		if err != nil {
			return
		}
		again, err := retry.Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q prints as %q, which reads as %q, %v", text, p, again, err)
		}
	})
}
