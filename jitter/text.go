package jitter

import (
	"fmt"
	"strconv"
	"strings"
)

// names are the jitters that have their own name, in the order in which an error lists them.
var names = []struct {
	name string
	j    Jitter
}{{"none", None}, {"default", Default}, {"full", Full}, {"equal", Equal}}

// forms are the jitters that have numbers.
var forms = map[string]struct {
	numbers []string
	example string
	wrong   func(x []float64) string
	make    func(x []float64) Jitter
}{
	"deviation": {[]string{"p"}, "0.3", func(x []float64) string { return deviationWrong(x[0]) }, func(x []float64) Jitter { return Deviation(x[0]) }},
	"uniform":   {[]string{"lo", "hi"}, "0.5:1.5", func(x []float64) string { return uniformWrong(x[0], x[1]) }, func(x []float64) Jitter { return Uniform(x[0], x[1]) }},
}

// String returns the text form: none, full, equal or uniform:lo:hi.
func (j uniform) String() string { return text(j, "uniform:%v:%v", j.lo, j.hi) }

// String returns the text form: default or deviation:p.
func (j deviation) String() string { return text(j, "deviation:%v", j.p) }

// String returns "func": a function has no text form, and Parse refuses it.
func (f Func) String() string { return "func" }

// Parse reads a Jitter from its text form, which the String methods of this package's jitters return: none, default,
// full, equal, deviation:p or uniform:lo:hi, as in deviation:0.3 and uniform:0.5:1.5. Upper case is accepted too. The
// error quotes what is wrong and says what is allowed.
func Parse(s string) (Jitter, error) {
	wrong := func(why string, args ...any) (Jitter, error) {
		return nil, fmt.Errorf("jitter: Parse: %q: %s", s, fmt.Sprintf(why, args...))
	}
	parts := strings.Split(strings.ToLower(s), ":")
	name, numbers := parts[0], parts[1:]
	for _, n := range names {
		switch {
		case n.name == name && len(numbers) > 0:
			return wrong("%s takes no number", name)
		case n.name == name:
			return n.j, nil
		}
	}
	const all = "none, default, full, equal, deviation:p or uniform:lo:hi"
	f, ok := forms[name]
	switch {
	case name == "func":
		return wrong("a function has no text form, want " + all)
	case !ok:
		return wrong("no such jitter, want " + all)
	case len(numbers) != len(f.numbers):
		return wrong("want %s:%s, as in %[1]s:%[3]s", name, strings.Join(f.numbers, ":"), f.example)
	}
	x := make([]float64, len(numbers))
	for i, number := range numbers {
		var err error
		if x[i], err = strconv.ParseFloat(number, 64); err != nil {
			return wrong("%s is %q, want a number", f.numbers[i], number)
		}
	}
	if why := f.wrong(x); why != "" {
		return wrong("%s", why)
	}
	return f.make(x), nil
}

// text returns j's name if it has one, else its numbers in the format.
func text(j Jitter, format string, numbers ...any) string {
	for _, n := range names {
		if n.j == j {
			return n.name
		}
	}
	return fmt.Sprintf(format, numbers...)
}
