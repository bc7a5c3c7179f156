package backoff_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/words"
	"github.com/retrywhen/retrywhen/jitter"
)

func TestText(t *testing.T) {
	s := time.Second
	tests := []struct {
		b    backoff.Backoff
		text string
	}{
		{backoff.Backoff{}, "constant d=0s"},
		{backoff.Constant(s), "constant d=1s"},
		{backoff.Linear(90 * s), "linear d=1m30s"},
		{backoff.Quadratic(60 * s), "quadratic d=1m"},
		{backoff.Quadratic(3600 * s), "quadratic d=1h"},
		{backoff.Quadratic(3660 * s), "quadratic d=1h1m"},
		{backoff.Quadratic(3605 * s), "quadratic d=1h0m5s"},
		{backoff.Polynomial(s, 1.5), "polynomial d=1s degree=1.5"},
		{backoff.Exponential(100*ms, 2), "exponential base=100ms factor=2"},
		{backoff.Exponential(100*ms, 2).Jitter(jitter.Full).Cap(30 * s), "exponential base=100ms factor=2 cap=30s jitter=full"},
		{backoff.Exponential(1, 0.1), "exponential base=1ns factor=0.1"},
		{backoff.Exponential(1, math.Copysign(0, -1)), "exponential base=1ns factor=0"},
		{backoff.Exponential(1, 1).Jitter(jitter.Uniform(math.Copysign(0, -1), 2)), "exponential base=1ns factor=1 jitter=uniform:0:2"},
		{backoff.Fibonacci(1500), "fibonacci d=1.5µs"},
		{backoff.Table(s), "table delays=1s"},
		{backoff.Default, "table delays=10ms,10ms,100ms,100ms,500ms,500ms,3s,3s,5s jitter=deviation:0.5"},
		{backoff.Sidekiq(), "sidekiq"},
		{backoff.Buckets(s, 2), "buckets unit=1s exponent=2"},
		{backoff.Decorrelated(50 * ms), "decorrelated base=50ms"},
		{backoff.Linear(s).Keyed(math.MaxUint64).Tiled().Cap(0).Plus(longest), "linear d=1s plus=2562047h47m16.854775807s cap=0s tiled key=18446744073709551615"},
		{backoff.Linear(s).Keyed(0), "linear d=1s key=0"},
		{backoff.Linear(s).Tiled().Ordinal(0), "linear d=1s tiled ordinal=0"},
		{backoff.Sidekiq().Ordinal(math.MaxUint64), "sidekiq ordinal=18446744073709551615"},
		{backoff.Linear(10 * s).Cap(600 * s).Plus(36000 * s), "linear d=10s plus=10h cap=10m"},
		{backoff.Table(610*s, 36610*s, 36600*s, 36010*s), "table delays=10m10s,10h10m10s,10h10m,10h0m10s"},
		{backoff.Linear(s).Jitter(jitter.None).Cap(longest).Plus(0), "linear d=1s"},
		{backoff.Linear(s).Jitter(jitter.Uniform(0.5, 1.5)), "linear d=1s jitter=uniform:0.5:1.5"},
		{backoff.Linear(s).Jitter(jitter.Deviation(0.15)), "linear d=1s jitter=default"},
	}
	for _, tt := range tests {
		if got := tt.b.String(); got != tt.text {
			t.Errorf("String is %q, want %q", got, tt.text)
		}
		if got, err := backoff.Parse(tt.text); err != nil || got != tt.b {
			t.Errorf("Parse(%q) = %v, %v", tt.text, got, err)
		}
		if got, err := tt.b.MarshalText(); err != nil || string(got) != tt.text {
			t.Errorf("MarshalText is %q, %v, want %q", got, err, tt.text)
		}
	}
}

func TestParseIsLenient(t *testing.T) {
	want := backoff.Exponential(100*ms, 2).Cap(90 * time.Second).Jitter(jitter.Full).Plus(ms)
	for _, text := range []string{
		"exponential base=100ms factor=2 plus=1ms cap=1m30s jitter=full",
		"  exponential\tbase=100ms  factor=2\n plus=1ms cap=1m30s jitter=full\r\n",
		"jitter=full cap=90s factor=2.0 plus=1000us base=0.1s exponential",
		"EXPONENTIAL Base=100ms FACTOR=2e0 Plus=1ms Cap=1.5m Jitter=Full",
		"exponential base=+100ms factor=0x2p0 plus=1ms cap=90000ms jitter=uniform:0:1",
	} {
		if got, err := backoff.Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := backoff.Parse("exponential base=-0s factor=-0"); err != nil || got.String() != "exponential base=0s factor=0" {
		t.Errorf("negative zeros are %v, %v", got, err)
	}
	if got, err := backoff.Parse("linear d=1s jitter=none tiled"); err != nil || got != backoff.Linear(time.Second).Tiled() {
		t.Errorf("no jitter, tiled, is %v, %v", got, err)
	}
}

// textOf returns a text of the curve, in which each duration is d and each number is x.
func textOf(c backoff.Curve, d time.Duration, x float64) string {
	words := []string{c.Name}
	for _, name := range c.Parameters {
		word := fmt.Sprint(name, "=", d)
		if _, err := backoff.Parse(c.Name + " " + word); err != nil && strings.Contains(err.Error(), "is not a number") {
			word = fmt.Sprint(name, "=", x)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// anyBackoff draws any Backoff that has a text form.
func anyBackoff() *rapid.Generator[backoff.Backoff] {
	return rapid.Custom(func(t *rapid.T) backoff.Backoff {
		duration := rapid.OneOf(
			rapid.Int64Range(0, math.MaxInt64),
			rapid.Map(rapid.Int64Range(0, 10_000), func(n int64) int64 { return n * int64(time.Second) }),
		)
		d := time.Duration(duration.Draw(t, "d"))
		x := rapid.Float64Range(0, math.MaxFloat64).Draw(t, "x")
		table := rapid.SliceOfN(duration, 1, 6).Draw(t, "table")
		delays := make([]time.Duration, len(table))
		for i := range table {
			delays[i] = time.Duration(table[i])
		}
		curve := rapid.SampledFrom(backoff.Curves()).Draw(t, "curve")
		b, err := backoff.Parse(textOf(curve, d, x))
		if err != nil {
			t.Fatal(err)
		}
		if curve.Name == "table" {
			b = backoff.Table(delays...)
		}
		if rapid.Bool().Draw(t, "plus?") {
			b = b.Plus(time.Duration(duration.Draw(t, "plus")))
		}
		if rapid.Bool().Draw(t, "cap?") {
			b = b.Cap(time.Duration(duration.Draw(t, "cap")))
		}
		if rapid.Bool().Draw(t, "key?") {
			b = b.Keyed(rapid.Uint64().Draw(t, "key"))
		} else if rapid.Bool().Draw(t, "ordinal?") {
			b = b.Ordinal(rapid.Uint64().Draw(t, "ordinal"))
		}
		switch rapid.IntRange(0, 5).Draw(t, "jitter?") {
		case 0, 1:
			b = b.Jitter(jitter.Deviation(rapid.Float64Range(0, 1).Draw(t, "p")))
		case 2:
			lo := rapid.Float64Range(0, 10).Draw(t, "lo")
			b = b.Jitter(jitter.Uniform(lo, rapid.Float64Range(lo, math.MaxFloat64).Draw(t, "hi")))
		case 3:
			if check.Recovered(func() { b.Tiled() }) == nil {
				b = b.Tiled()
			}
		}
		return b
	})
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := anyBackoff().Draw(t, "b")
		back, err := backoff.Parse(b.String())
		if err != nil || back != b {
			t.Fatalf("Parse(%q) = %v, %v", b, back, err)
		}
		n, u := rapid.IntRange(1, 1000).Draw(t, "n"), rapid.Float64Range(0, below1).Draw(t, "u")
		if got, want := back.At(n, u), b.At(n, u); got != want {
			t.Fatalf("%v: At(%d, %v) = %v after Parse, %v before", b, n, u, got, want)
		}
	})
}

func TestParseSaysWhatIsWrongWhereAndWhatIsRight(t *testing.T) {
	const (
		expTakes = "exponential takes base, factor, plus, cap, jitter, tiled, key and ordinal"
		jitters  = "none, default, full, equal, deviation:p or uniform:lo:hi"
	)
	var names []string
	for _, c := range backoff.Curves() {
		names = append(names, c.Name)
	}
	curves := words.List(names, "or")
	tests := []struct{ text, want string }{
		{"", `"": names no curve, want one of ` + curves},
		{" \t", `" \t": names no curve, want one of ` + curves},
		{"cap=30s tiled", `"cap=30s tiled": names no curve, want one of ` + curves},
		{"expnential base=1s", `"expnential" at column 1: unknown curve, want one of ` + curves},
		{"base=1s fibonaci", `"fibonaci" at column 9: unknown curve, want one of ` + curves},
		{"xyzzy", `"xyzzy" at column 1: unknown curve, want one of ` + curves},
		{"func", `"func" at column 1: a func has no text form, want one of ` + curves},
		{"linear d=1s quadratic", `"quadratic" at column 13: a second curve, after "linear"; want one only`},
		{"linear linear d=1s", `"linear" at column 8: a second curve, after "linear"; want one only`},
		{"linear=3s", `"linear=3s" at column 1: a curve takes no value, want "linear d=1s"`},
		{"linear", `"linear" at column 1: has no d, want "linear d=1s"`},
		{"polynomial d=1s", `"polynomial" at column 1: has no degree, want "polynomial d=1s degree=1.5"`},
		{"factor=2 exponential", `"exponential" at column 10: has no base, want "exponential base=100ms factor=2"`},
		{"exponential base=1s fator=2", `"fator=2" at column 21: unknown word; ` + expTakes},
		{"exponential base=1s factor=2 jiter=full", `"jiter=full" at column 30: unknown word; ` + expTakes},
		{"exponential base=1s factor=2 tield", `"tield" at column 30: unknown word; ` + expTakes},
		{"exponential base=1s factor=2 d=1s", `"d=1s" at column 30: unknown word; ` + expTakes},
		{"exponential base=1s factor=2 limit=3", `"limit=3" at column 30: unknown word; ` + expTakes},
		{"exponential base=1s factor=2 =3", `"=3" at column 30: no key before the =; ` + expTakes},
		{"exponential base 1s factor=2", `"base" at column 13: base has no value, want as in "base=100ms"`},
		{"exponential base= factor=2", `"base=" at column 13: base has no value, want as in "base=100ms"`},
		{"exponential base=1s base=2s factor=2", `"base=2s" at column 21: a second base, after "base=1s"; want one only`},
		{"exponential base=1s factor=2 cap=1s Cap=2s", `"Cap=2s" at column 37: a second cap, after "cap=1s"; want one only`},
		{"linear d=1s tiled tiled", `"tiled" at column 19: a second tiled, after "tiled"; want one only`},
		{"linear d=1s tiled=yes", `"tiled=yes" at column 13: tiled takes no value`},
		{"exponential base=1s factor=two", `"factor=two" at column 21: "two" is not a number, want as in "factor=2"`},
		{"exponential base=1s factor=NaN", `"factor=NaN" at column 21: factor is NaN, want a finite number >= 0`},
		{"exponential base=1s factor=-Inf", `"factor=-Inf" at column 21: factor is -Inf, want a finite number >= 0`},
		{"exponential base=1s factor=1e999", `"factor=1e999" at column 21: factor is +Inf, want a finite number >= 0`},
		{"exponential base=1s factor=-2", `"factor=-2" at column 21: factor is -2, want a finite number >= 0`},
		{"linear d=5", `"d=5" at column 8: 5 has no unit, want as in "d=1s"`},
		{"linear d=-5s", `"d=-5s" at column 8: -5s is negative, want a duration of at least 0`},
		{"linear d=soon", `"d=soon" at column 8: "soon" is not a duration, want as in "d=1s"`},
		{"linear d=5parsecs", `"d=5parsecs" at column 8: "5parsecs" is not a duration, want as in "d=1s"`},
		{"linear d=2562048h", `"d=2562048h" at column 8: 2562048h is past the largest duration, 2562047h47m16.854775807s`},
		{"linear d=9223372036854775808ns", `"d=9223372036854775808ns" at column 8: 9223372036854775808ns is past the largest duration, 2562047h47m16.854775807s`},
		{"linear d=2562047h48m", `"d=2562047h48m" at column 8: 2562047h48m is past the largest duration, 2562047h47m16.854775807s`},
		{"linear d=1s plus=x", `"plus=x" at column 13: "x" is not a duration, want as in "plus=1s"`},
		{"linear d=1s cap=-1s", `"cap=-1s" at column 13: -1s is negative, want a duration of at least 0`},
		{"linear d=1s ordinal=x", `"ordinal=x" at column 13: "x" is not a whole number from 0 to 18446744073709551615`},
		{"linear ordinal=1 d=1s key=2", `"ordinal=1" at column 8: key and ordinal exclude each other; want one only`},
		{"linear d=1s ordinal", `"ordinal" at column 13: ordinal has no value, want as in "ordinal=3"`},
		{"linear d=1s key=-1", `"key=-1" at column 13: "-1" is not a whole number from 0 to 18446744073709551615`},
		{"linear d=1s key=18446744073709551616", `"key=18446744073709551616" at column 13: "18446744073709551616" is not a whole number from 0 to 18446744073709551615`},
		{"linear d=1s jitter=ful", `"jitter=ful" at column 13: "ful": no such jitter, want ` + jitters},
		{"linear d=1s jitter=deviaton:0.3", `"jitter=deviaton:0.3" at column 13: "deviaton:0.3": no such jitter, want ` + jitters},
		{"linear d=1s jitter=deviation:3", `"jitter=deviation:3" at column 13: "deviation:3": p is 3, want 0 <= p <= 1`},
		{"linear d=1s jitter=custom(x)", `"jitter=custom(x)" at column 13: "custom(x)": no such jitter, want ` + jitters},
		{"table delays=1s,,2s", `"delays=1s,,2s" at column 7: an empty duration, want as in "delays=10ms,100ms,1s"`},
		{"table delays=1s, 2s", `"2s" at column 18: unknown word; table takes delays, plus, cap, jitter, tiled, key and ordinal`},
		{"table delays=1s,-2s", `"delays=1s,-2s" at column 7: -2s is negative, want a duration of at least 0`},
		{"sidekiq d=1s", `"d=1s" at column 9: unknown word; sidekiq takes plus, cap, jitter, tiled, key and ordinal`},
		{"linear d=1s jitter=full tiled", `"tiled" at column 25: a tiled backoff takes no jitter: it spreads by itself`},
		{"tiled table delays=2s,1s", `"tiled" at column 1: table falls from 2s to 1s at entry 2: tiles need a curve that never does`},
		{"exponential base=1s factor=0.5 tiled", `"tiled" at column 32: exponential with factor 0.5 falls: tiles need a curve that never does`},
		{"sidekiq tiled", `"tiled" at column 9: sidekiq is random by itself: tiles need a curve that is not`},
		{"linear d=1µs ŝ=1", `"ŝ=1" at column 14: unknown word; linear takes d, plus, cap, jitter, tiled, key and ordinal`},
	}
	for _, tt := range tests {
		b, err := backoff.Parse(tt.text)
		if err == nil || err.Error() != "backoff: Parse: "+tt.want {
			t.Errorf("Parse(%q) is %v, error\n  %v\nwant\n  backoff: Parse: %s", tt.text, b, err, tt.want)
			continue
		}
		if b != (backoff.Backoff{}) {
			t.Errorf("Parse(%q) fails and returns %v", tt.text, b)
		}
		pe, ok := err.(*backoff.ParseError)
		if !ok || pe.Text != tt.text || !strings.HasPrefix(tt.text[pe.Offset:], pe.Word) {
			t.Errorf("Parse(%q) fails with %#v", tt.text, err)
		}
	}
}

func TestParseErrorHasTheAllowedNames(t *testing.T) {
	for text, want := range map[string]string{"linear e=1s": "[d plus cap jitter tiled key ordinal]", "linear d=x": "[]"} {
		_, err := backoff.Parse(text)
		if wrong, ok := errors.AsType[*backoff.ParseError](err); !ok || fmt.Sprint(wrong.Names) != want {
			t.Errorf("%q: %+v, want the names %s", text, err, want)
		}
	}
}

func TestWhatHasNoTextFormSaysSo(t *testing.T) {
	custom := jitter.Func(func(u float64) float64 { return u })
	tests := []struct {
		b         backoff.Backoff
		text, err string
	}{
		{backoff.Func(func(int, float64) time.Duration { return 0 }).Cap(time.Second), "func cap=1s", "backoff: MarshalText: a func has no text form"},
		{backoff.Linear(1).Jitter(custom), "linear d=1ns jitter=custom(jitter.Func)", "backoff: MarshalText: jitter custom(jitter.Func) has no text form"},
		{backoff.Linear(1).Jitter(halfOf{}), "linear d=1ns jitter=custom(backoff_test.halfOf)", "backoff: MarshalText: jitter custom(backoff_test.halfOf) has no text form"},
		{backoff.Linear(1).Jitter(fullInName{}), "linear d=1ns jitter=custom(backoff_test.fullInName)", "backoff: MarshalText: jitter custom(backoff_test.fullInName) has no text form"},
	}
	for _, tt := range tests {
		if got := tt.b.String(); got != tt.text {
			t.Errorf("String is %q, want %q", got, tt.text)
		}
		if _, err := tt.b.MarshalText(); err == nil || err.Error() != tt.err {
			t.Errorf("%v: MarshalText fails with %v, want %s", tt.b, err, tt.err)
		}
		if _, err := backoff.Parse(tt.b.String()); err == nil {
			t.Errorf("Parse(%q) succeeds", tt.b)
		}
	}
}

// fullInName prints as a jitter that it is not.
type fullInName struct{ halfOf }

func (fullInName) String() string { return "full" }

func TestTextInJSON(t *testing.T) {
	type config struct {
		Retry  backoff.Backoff            `json:"retry"`
		ByHost map[string]backoff.Backoff `json:"by_host"`
	}
	in := config{backoff.Linear(time.Second).Tiled(), map[string]backoff.Backoff{"a": backoff.Sidekiq().Cap(time.Hour)}}
	text, err := json.Marshal(in)
	if want := `{"retry":"linear d=1s tiled","by_host":{"a":"sidekiq cap=1h"}}`; err != nil || string(text) != want {
		t.Fatalf("JSON is %s, %v, want %s", text, err, want)
	}
	var out config
	if err := json.Unmarshal(text, &out); err != nil || out.Retry != in.Retry || out.ByHost["a"] != in.ByHost["a"] {
		t.Errorf("read back it is %v, %v, want %v", out, err, in)
	}
	if err := json.Unmarshal([]byte(`{"retry":"linear"}`), &out); err == nil || out.Retry != in.Retry {
		t.Errorf("a wrong text leaves %v, %v, want what was there and an error", out.Retry, err)
	}
}

func TestTextInAFlag(t *testing.T) {
	var b backoff.Backoff
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.TextVar(&b, "backoff", backoff.Exponential(time.Second, 2), "how to wait")
	if got, want := b, backoff.Exponential(time.Second, 2); got != want {
		t.Errorf("the default is %v, want %v", got, want)
	}
	if err := fs.Parse([]string{"-backoff", "fibonacci d=2s cap=1m"}); err != nil || b != backoff.Fibonacci(2*time.Second).Cap(time.Minute) {
		t.Errorf("the flag is %v, %v", b, err)
	}
	if err := fs.Parse([]string{"-backoff", "fibonaci d=2s"}); err == nil || !strings.Contains(err.Error(), `"fibonaci" at column 1: unknown curve`) {
		t.Errorf("a wrong flag fails with %v", err)
	}
	var _ interface {
		encoding.TextMarshaler
		fmt.Stringer
	} = b
}

func TestEqualBackoffsAreEqualValues(t *testing.T) {
	if (backoff.Backoff{}) != backoff.Constant(0) {
		t.Error("the zero Backoff is not Constant(0)")
	}
	if backoff.Table(1, 2).Cap(5) != backoff.Table(1, 2).Cap(5) || backoff.Table(1, 2) == backoff.Table(1, 3) {
		t.Error("tables are not compared by their delays")
	}
	for _, j := range []jitter.Jitter{jitter.Func(func(u float64) float64 { return u }), halfOf{}, holder{halfOf{}, []int{1}}} {
		a := backoff.Linear(1).Jitter(j)
		if b := a; a != b {
			t.Errorf("%v differs from its copy", a)
		}
	}
	f := backoff.Func(func(int, float64) time.Duration { return 0 })
	if g := f; f != g {
		t.Error("a Func differs from its copy")
	}
	if m := map[backoff.Backoff]int{f: 1, {}: 2, backoff.Default: 3}; m[f] != 1 || m[backoff.Constant(0)] != 2 || m[backoff.Default] != 3 {
		t.Errorf("as keys of a map they give %v", m)
	}
}

// holder cannot be compared, for its slice.
type holder struct {
	jitter.Jitter
	more []int
}

// Each curve's parameters are words, its name is its constructor's, and its formula names each of them.
func TestCurvesOfTheTextForm(t *testing.T) {
	curves := backoff.Curves()
	for _, c := range curves {
		for _, name := range c.Parameters {
			if !strings.Contains(c.Formula, name) {
				t.Errorf("the formula of %s, %q, has no %s", c.Name, c.Formula, name)
			}
		}
		text := textOf(c, 3*time.Second, 2)
		b, err := backoff.Parse(text)
		if err != nil || b.String() != text {
			t.Errorf("%q reads as %v, %v", text, b, err)
		}
		if _, err := backoff.Parse(text + " tiled"); (err != nil) != c.Random {
			t.Errorf("%s is random: %v, but tiled: %v", c.Name, c.Random, err)
		}
		if (b.At(3, 0) != b.At(3, 0.9)) != c.Random {
			t.Errorf("%s is random: %v, but its third delays are %v and %v", c.Name, c.Random, b.At(3, 0), b.At(3, 0.9))
		}
	}
	curves[1].Parameters[0] = "x"
	if again := backoff.Curves(); again[1].Parameters[0] != "d" {
		t.Error("a caller can change the curves")
	}
}

func TestWordsOfTheTextForm(t *testing.T) {
	b := backoff.Table(time.Second, time.Minute).Cap(time.Hour).Tiled().Keyed(7)
	want := []backoff.Word{{"table", ""}, {"delays", "1s,1m"}, {"cap", "1h"}, {"tiled", ""}, {"key", "7"}}
	if got := b.Words(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (backoff.Backoff{}).Words(); !slices.Equal(got, []backoff.Word{{"constant", ""}, {"d", "0s"}}) {
		t.Errorf("the zero Backoff has the words %v", got)
	}
}
