package jitter_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestFactor(t *testing.T) {
	tests := []struct {
		name                     string
		j                        jitter.Jitter
		low, middle, high, lower float64 // at 0, 0.5, 1 and 0.25
	}{
		{"None", jitter.None, 1, 1, 1, 1},
		{"Default", jitter.Default, 0.85, 1, 1.15, 0.925},
		{"Full", jitter.Full, 0, 0.5, 1, 0.25},
		{"Equal", jitter.Equal, 0.5, 0.75, 1, 0.625},
		{"Deviation(0)", jitter.Deviation(0), 1, 1, 1, 1},
		{"Deviation(0.5)", jitter.Deviation(0.5), 0.5, 1, 1.5, 0.75},
		{"Deviation(1)", jitter.Deviation(1), 0, 1, 2, 0.5},
		{"Uniform(0.25, 3.25)", jitter.Uniform(0.25, 3.25), 0.25, 1.75, 3.25, 1},
		{"Uniform(2, 2)", jitter.Uniform(2, 2), 2, 2, 2, 2},
		{"Uniform(0, 0)", jitter.Uniform(0, 0), 0, 0, 0, 0},
		{"Func", jitter.Func(func(u float64) float64 { return 3 * u }), 0, 1.5, 3, 0.75},
	}
	for _, tt := range tests {
		for _, c := range []struct{ u, want float64 }{{0, tt.low}, {0.25, tt.lower}, {0.5, tt.middle}, {1, tt.high}} {
			if got := tt.j.Factor(c.u); got != c.want {
				t.Errorf("%s.Factor(%v) = %v, want %v", tt.name, c.u, got, c.want)
			}
		}
	}
}

func TestDrawOutsideTheIntervalCountsAsTheNearerEnd(t *testing.T) {
	for _, j := range []jitter.Jitter{jitter.None, jitter.Default, jitter.Full, jitter.Equal, jitter.Uniform(0.3, 2)} {
		for _, u := range []float64{-1, math.Inf(-1), math.NaN(), math.Copysign(0, -1)} {
			if got := j.Factor(u); got != j.Factor(0) {
				t.Errorf("%v.Factor(%v) = %v, want Factor(0), %v", j, u, got, j.Factor(0))
			}
		}
		for _, u := range []float64{1.5, math.Inf(1), math.MaxFloat64} {
			if got := j.Factor(u); got != j.Factor(1) {
				t.Errorf("%v.Factor(%v) = %v, want Factor(1), %v", j, u, got, j.Factor(1))
			}
		}
	}
}

func TestHalfOpenIntervalsAreHalfOpen(t *testing.T) {
	const below1 = 1 - 1.0/(1<<53) // the largest draw there is
	for _, j := range []jitter.Jitter{jitter.Full, jitter.Equal, jitter.Uniform(1, 3), jitter.Uniform(1, math.Nextafter(1, 2))} {
		if got := j.Factor(below1); got >= j.Factor(1) || got < j.Factor(0) {
			t.Errorf("%v.Factor(%v) = %v, want less than %v", j, below1, got, j.Factor(1))
		}
	}
}

// known draws one of the package's jitters.
func known() *rapid.Generator[jitter.Jitter] {
	return rapid.OneOf(
		rapid.SampledFrom([]jitter.Jitter{jitter.None, jitter.Default, jitter.Full, jitter.Equal}),
		rapid.Map(rapid.Float64Range(0, 1), jitter.Deviation),
		rapid.Custom(func(t *rapid.T) jitter.Jitter {
			lo := rapid.Float64Range(0, math.MaxFloat64).Draw(t, "lo")
			return jitter.Uniform(lo, rapid.Float64Range(lo, math.MaxFloat64).Draw(t, "hi"))
		}),
	)
}

func TestFactorNeverFallsAndKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := known().Draw(t, "j")
		u := rapid.Float64Range(0, 1).Draw(t, "u")
		v := rapid.Float64Range(u, 1).Draw(t, "v")
		low, high := j.Factor(u), j.Factor(v)
		if low > high {
			t.Fatalf("Factor(%v) = %v > Factor(%v) = %v", u, low, v, high)
		}
		if low < j.Factor(0) || high > j.Factor(1) || low < 0 {
			t.Fatalf("Factor(%v) = %v and Factor(%v) = %v, want within [%v, %v]", u, low, v, high, j.Factor(0), j.Factor(1))
		}
	})
}

func TestEqualJittersAreEqualValues(t *testing.T) {
	if jitter.Deviation(0.15) != jitter.Default || jitter.Uniform(0, 1) != jitter.Full ||
		jitter.Deviation(0) != jitter.None || jitter.Uniform(1, 1) != jitter.None {
		t.Error("a jitter made by its constructor differs from the named one")
	}
	if jitter.Uniform(math.Copysign(0, -1), 1) != jitter.Full || jitter.Deviation(math.Copysign(0, -1)) != jitter.None {
		t.Error("a negative zero makes another jitter")
	}
	if jitter.Deviation(0.3) == jitter.Deviation(0.4) || jitter.Full == jitter.Equal {
		t.Error("different jitters are equal")
	}
}

func TestWrongArgumentPanicsWithItsName(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		want string
		f    func()
	}{
		{"jitter: Deviation: p is NaN, want 0 <= p <= 1", func() { jitter.Deviation(nan) }},
		{"jitter: Deviation: p is -0.1, want 0 <= p <= 1", func() { jitter.Deviation(-0.1) }},
		{"jitter: Deviation: p is 1.01, want 0 <= p <= 1", func() { jitter.Deviation(1.01) }},
		{"jitter: Deviation: p is +Inf, want 0 <= p <= 1", func() { jitter.Deviation(inf) }},
		{"jitter: Uniform: lo is NaN, want a finite number >= 0", func() { jitter.Uniform(nan, 1) }},
		{"jitter: Uniform: lo is -1, want a finite number >= 0", func() { jitter.Uniform(-1, 1) }},
		{"jitter: Uniform: hi is NaN, want a finite number >= 0", func() { jitter.Uniform(0, nan) }},
		{"jitter: Uniform: hi is +Inf, want a finite number >= 0", func() { jitter.Uniform(0, inf) }},
		{"jitter: Uniform: hi is -1, want a finite number >= 0", func() { jitter.Uniform(0, -1) }},
		{"jitter: Uniform: lo is 2 and hi is 1, want lo <= hi", func() { jitter.Uniform(2, 1) }},
	}
	for _, tt := range tests {
		check.Panics(t, tt.want, tt.f)
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		j    jitter.Jitter
		text string
	}{
		{jitter.None, "none"},
		{jitter.Default, "default"},
		{jitter.Full, "full"},
		{jitter.Equal, "equal"},
		{jitter.Deviation(0.3), "deviation:0.3"},
		{jitter.Deviation(1), "deviation:1"},
		{jitter.Uniform(0.5, 1.5), "uniform:0.5:1.5"},
		{jitter.Uniform(0, 1e300), "uniform:0:1e+300"},
		{jitter.Uniform(math.Copysign(0, -1), math.Copysign(0, -1)), "uniform:0:0"},
	}
	for _, tt := range tests {
		if got := tt.j.(interface{ String() string }).String(); got != tt.text {
			t.Errorf("String is %q, want %q", got, tt.text)
		}
		for _, text := range []string{tt.text, strings.ToUpper(tt.text)} {
			if got, err := jitter.Parse(text); err != nil || got != tt.j {
				t.Errorf("Parse(%q) = %v, %v, want %v", text, got, err, tt.j)
			}
		}
	}
	if got := jitter.Func(func(float64) float64 { return 1 }).String(); got != "func" {
		t.Errorf("a Func prints %q, want func", got)
	}
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := known().Draw(t, "j")
		text := j.(interface{ String() string }).String()
		if got, err := jitter.Parse(text); err != nil || got != j {
			t.Fatalf("Parse(%q) = %v, %v, want %v", text, got, err, j)
		}
	})
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	const forms = "want none, default, full, equal, deviation:p or uniform:lo:hi"
	tests := []struct{ text, want string }{
		{"", `jitter: Parse: "": no such jitter, ` + forms},
		{"ful", `jitter: Parse: "ful": no such jitter, ` + forms},
		{"func", `jitter: Parse: "func": a function has no text form, ` + forms},
		{"full:1", `jitter: Parse: "full:1": full takes no number`},
		{"deviation", `jitter: Parse: "deviation": want deviation:p, as in deviation:0.3`},
		{"deviation:", `jitter: Parse: "deviation:": p is "", want a number`},
		{"deviation:x", `jitter: Parse: "deviation:x": p is "x", want a number`},
		{"deviation:2", `jitter: Parse: "deviation:2": p is 2, want 0 <= p <= 1`},
		{"deviation:nan", `jitter: Parse: "deviation:nan": p is NaN, want 0 <= p <= 1`},
		{"deviation:1e999", `jitter: Parse: "deviation:1e999": p is "1e999", want a number`},
		{"uniform:1", `jitter: Parse: "uniform:1": want uniform:lo:hi, as in uniform:0.5:1.5`},
		{"uniform:1:2:3", `jitter: Parse: "uniform:1:2:3": want uniform:lo:hi, as in uniform:0.5:1.5`},
		{"uniform:2:1", `jitter: Parse: "uniform:2:1": lo is 2 and hi is 1, want lo <= hi`},
		{"uniform:0:Inf", `jitter: Parse: "uniform:0:Inf": hi is +Inf, want a finite number >= 0`},
	}
	for _, tt := range tests {
		if j, err := jitter.Parse(tt.text); err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q) = %v, %v\nwant %s", tt.text, j, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"none", "default", "FULL", "equal", "deviation:0.3", "uniform:0.5:1.5", "uniform:0x1p-2:1e3", "func", "uniform:::", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		j, err := jitter.Parse(s)
		if err != nil {
			return
		}
		if lo, hi := j.Factor(0), j.Factor(1); !(lo >= 0 && lo <= hi && hi <= math.MaxFloat64) {
			t.Fatalf("Parse(%q) = %v with factors between %v and %v", s, j, lo, hi)
		}
		text := j.(interface{ String() string }).String()
		if back, err := jitter.Parse(text); err != nil || back != j {
			t.Fatalf("Parse(%q) prints %q, which reads as %v, %v", s, text, back, err)
		}
	})
}

func BenchmarkFactor(b *testing.B) {
	for _, j := range []jitter.Jitter{jitter.None, jitter.Default, jitter.Full} {
		b.Run(j.(interface{ String() string }).String(), func(b *testing.B) {
			for b.Loop() {
				j.Factor(0.3)
			}
		})
	}
}
