package retry_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/words"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

func TestPolicyText(t *testing.T) {
	for _, text := range []string{
		"exponential base=100ms factor=2 cap=30s jitter=full limit=5 within=1m",
		"linear d=1s limit=0 within=0s stopat=10s attempttimeout=1m30s resetafter=1h resetafteritems=1 maxretryafter=2h0m1s",
		"constant d=1s limit=3 budget=10,1,0.1",
		"constant d=1s budget=0.5,0.25,1e-09,2.5",
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
	var options []string
	for _, w := range retry.Words() {
		if strings.HasPrefix(w.Go, "retry.") {
			options = append(options, w.Name)
		}
	}
	also := "(a policy also takes " + words.List(slices.Compact(options), "and") + ")"
	for _, test := range []struct{ text, want string }{
		{good + "limit=-1", `"limit=-1" at column 30: limit is "-1", want a whole number of at least 0`},
		{good + "limit=many", `"limit=many" at column 30: limit is "many", want a whole number of at least 0`},
		{good + "limit", `"limit" at column 30: limit has no value, want as in "limit=5"`},
		{good + "within=1", `"within=1" at column 30: 1 has no unit, want as in "within=1m"`},
		{good + "resetafter=0s", `"resetafter=0s" at column 30: resetafter is 0s, want more than 0`},
		{good + "limit=1 limit=2", `"limit=2" at column 38: a second limit, after "limit=1"; want one only`},
		{good + "limmit=1", `"limmit=1" at column 30: unknown word; exponential takes`},
		{good + "x=2", also},
		{good + "budget=1,2", `"budget=1,2" at column 30: "1,2" is not a budget, want as in "budget=10,1,0.1": capacity, cost, refund, and optionally`},
		{good + "budget=1,1,1,1,1", `"1,1,1,1,1" is not a budget`},
		{good + "budget", `"budget" at column 30: budget has no value, want as in "budget=10,1,0.1"`},
		{good + "budget=10,x,0.1", `"budget=10,x,0.1" at column 30: "x" is not a number, want as in "budget=10,1,0.1"`},
		{good + "budget=10,1,-1", `"budget=10,1,-1" at column 30: refund is -1, want a finite number >= 0`},
		{good + "budget=10,1,1,Inf", `refill is +Inf, want a finite number >= 0`},
		{good + "budget=10,0,1", "cost is 0, want more: retries that cost nothing need no budget"},
		{good + "budget=1,2,1", "capacity is 1, want at least the cost of one retry, 2"},
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
	if wrong, ok := errors.AsType[*backoff.ParseError](err); !ok || wrong.Word != "limit=x" || wrong.Offset != 12 {
		t.Errorf("%v is not a *backoff.ParseError of the word, but %v", err, wrong)
	}
}

func TestPolicyTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "fibonacci d=" + words.Duration(time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "d")))
		for _, w := range retry.Words() {
			if !strings.HasPrefix(w.Go, "retry.") || strings.Contains(text, " "+w.Name+"=") || !rapid.Bool().Draw(t, w.Name+" is set") {
				continue
			}
			n := rapid.Int64Range(1, math.MaxInt64).Draw(t, w.Name)
			if _, err := time.ParseDuration(w.Example); err == nil {
				w.Example = words.Duration(time.Duration(n))
			} else if _, err := strconv.Atoi(w.Example); err == nil {
				w.Example = fmt.Sprint(n)
			}
			text += " " + w.String()
		}
		if p, err := retry.Parse(text); err != nil || p.String() != text {
			t.Fatalf("%q reads as %q, %v", text, p, err)
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

func TestPolicyTextOfABudget(t *testing.T) {
	const text = "constant d=1s budget=3,1,0.5"
	read := func() retry.Policy {
		p, err := retry.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	budgetOf := func(p retry.Policy) *retry.Budget {
		b, ok := p.Budget()
		if !ok {
			t.Fatalf("%v has no budget", p)
		}
		return b
	}
	p := read()
	if budgetOf(p) == budgetOf(read()) {
		t.Error("two texts share a budget")
	}
	if budgetOf(p) != budgetOf(p.With(retry.Limit(3))) {
		t.Error("a copy has a budget of its own")
	}
	shared := retry.NewBudget(3, 1, 0.5)
	if p, err := retry.Parse(text, retry.WithBudget(shared)); err != nil || budgetOf(p) != shared {
		t.Errorf("an option does not come last: %v, %v", p, err)
	}
	if b, ok := retry.Default.Budget(); ok || b != nil {
		t.Errorf("the default policy has the budget %v", b)
	}
	for _, test := range []struct {
		text string
		same bool
	}{{text, true}, {"linear d=1s", true}, {"linear d=1s budget=3,1,0.5,1", false}} {
		q := every(0, retry.WithBudget(shared))
		if err := q.UnmarshalText([]byte(test.text)); err != nil || (budgetOf(q) == shared) != test.same {
			t.Errorf("after %q, %v, the budget is %v; want the same one: %v", test.text, err, budgetOf(q), test.same)
		}
	}
}

func TestPolicyWords(t *testing.T) {
	p, err := retry.Parse("Exponential factor=2 Base=100ms limit=5 tiled budget=10,1,0.1")
	const want = "[exponential base=100ms factor=2 tiled limit=5 budget=10,1,0.1]"
	if got := fmt.Sprint(p.Words()); err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// A command can use the names to suggest the one that was meant.
func TestPolicyTextErrors_Names(t *testing.T) {
	for text, name := range map[string]string{"linaer d=1s": "linear", "linear d=1s jiter=full": "jitter", "linear d=1s limmit=3": "limit"} {
		_, err := retry.Parse(text)
		if wrong, ok := errors.AsType[*backoff.ParseError](err); !ok || !slices.Contains(wrong.Names, name) {
			t.Errorf("%q: %v has the names %q, want %s among them", text, err, wrong.Names, name)
		}
	}
	_, err := retry.Parse("linear d=soon")
	if wrong, ok := errors.AsType[*backoff.ParseError](err); !ok || wrong.Names != nil {
		t.Errorf("%v has names although its word is known", err)
	}
}

// Each word that Parse reads is in Words, and each word of Words is read, is written back, and is described.
func TestWords(t *testing.T) {
	_, err := retry.Parse("linear d=1s nothing=1")
	wrong, ok := errors.AsType[*backoff.ParseError](err)
	if !ok {
		t.Fatal(err)
	}
	known := wrong.Names[slices.Index(wrong.Names, "plus"):]
	var names []string
	for _, w := range retry.Words() {
		names = append(names, w.Name)
		p, err := retry.Parse("linear d=1s " + w.String())
		if err != nil {
			t.Errorf("%s: %v", w, err)
			continue
		}
		all := p.Words()
		last := all[len(all)-1]
		if w.String() == "jitter=none" {
			last = backoff.Word{Name: "jitter", Value: "none"} // which is not written
		}
		got, ok := retry.Describe(last, func(part string) string { return "<" + part + ">" })
		if !ok || got.Name != w.Name || got.Example != last.Value {
			t.Errorf("%s is described as %+v, %v", w, got, ok)
		}
		for i, part := range strings.FieldsFunc(w.Example, func(r rune) bool { return r == ',' || r == ':' }) {
			if at := fmt.Sprintf("{%d}", i+1); strings.Contains(w.Go, at) && !strings.Contains(got.Go, "<"+part+">") || strings.Contains(got.Go+got.Sentence, at) {
				t.Errorf("%s is described as %q and %q", w, got.Go, got.Sentence)
			}
		}
	}
	if got := slices.Compact(names); !slices.Equal(got, known) {
		t.Errorf("the words are %q, want %q", got, known)
	}
	for _, w := range []backoff.Word{{Name: "linear"}, {Name: "d", Value: "1s"}, {Name: "jitter", Value: "custom(x)"}, {Name: "budget", Value: "1"}} {
		if got, ok := retry.Describe(w, strings.Clone); ok {
			t.Errorf("%s is described as %+v", w, got)
		}
	}
	for n, want := range map[string]string{"1": "at most 1 retry", "2": "at most 2 retries"} {
		if got, _ := retry.Describe(backoff.Word{Name: "limit", Value: n}, strings.Clone); got.Sentence != want {
			t.Errorf("got %q, want %q", got.Sentence, want)
		}
	}
	retry.Words()[0].Name = "changed"
	if got := retry.Words()[0].Name; got != "plus" {
		t.Errorf("a caller has changed the list: %q", got)
	}
}

// Numbers of 64 bits are read where an int has 32, and Limit reports the largest int.
func TestParse_NumbersOf64Bits(t *testing.T) {
	const text = "constant d=1s limit=4294967296 resetafteritems=9223372036854775807"
	p, err := retry.Parse(text)
	if err != nil || p.String() != text {
		t.Errorf("%v, %v", p, err)
	}
	if n, set := p.Limit(); n != int(min(1<<32, int64(math.MaxInt))) || !set {
		t.Errorf("limit %d, %v", n, set)
	}
	if _, err := retry.Parse("constant d=1s limit=9223372036854775808"); err == nil {
		t.Error("a larger number is read")
	}
}
