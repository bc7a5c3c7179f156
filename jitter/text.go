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

// forms lists what Parse reads.
const forms = "none, default, full, equal, deviation:p or uniform:lo:hi"

// String returns the text form: none, full, equal or uniform:lo:hi.
func (j uniform) String() string {
	if name, ok := named(j); ok {
		return name
	}
	return "uniform:" + number(j.lo) + ":" + number(j.hi)
}

// String returns the text form: default or deviation:p.
func (j deviation) String() string {
	if name, ok := named(j); ok {
		return name
	}
	return "deviation:" + number(j.p)
}

// String returns "func": a function has no text form, and Parse refuses it.
func (f Func) String() string { return "func" }

// Parse reads a Jitter from its text form, which the String methods of this package's jitters return: none, default,
// full, equal, deviation:p or uniform:lo:hi, as in deviation:0.3 and uniform:0.5:1.5. Upper case is accepted too. The
// error quotes what is wrong and says what is allowed.
func Parse(s string) (Jitter, error) {
	name, _, given := strings.Cut(strings.ToLower(s), ":")
	for _, n := range names {
		if n.name != name {
			continue
		}
		if given {
			return nil, fmt.Errorf("jitter: Parse: %q: %s takes no number", s, name)
		}
		return n.j, nil
	}
	switch name {
	case "deviation":
		x, err := numbers(s, "p", "deviation:p, as in deviation:0.3")
		if err == nil && deviationWrong(x[0]) != "" {
			err = fmt.Errorf("jitter: Parse: %q: %s", s, deviationWrong(x[0]))
		}
		if err != nil {
			return nil, err
		}
		return Deviation(x[0]), nil
	case "uniform":
		x, err := numbers(s, "lo:hi", "uniform:lo:hi, as in uniform:0.5:1.5")
		if err == nil && uniformWrong(x[0], x[1]) != "" {
			err = fmt.Errorf("jitter: Parse: %q: %s", s, uniformWrong(x[0], x[1]))
		}
		if err != nil {
			return nil, err
		}
		return Uniform(x[0], x[1]), nil
	case "func":
		return nil, fmt.Errorf("jitter: Parse: %q: a function has no text form, want %s", s, forms)
	}
	return nil, fmt.Errorf("jitter: Parse: %q: no such jitter, want %s", s, forms)
}

// numbers reads the part of s after the jitter's name: a number for each of names.
func numbers(s, names, form string) ([]float64, error) {
	want := strings.Split(names, ":")
	given := strings.Split(s, ":")[1:]
	if len(given) != len(want) {
		return nil, fmt.Errorf("jitter: Parse: %q: want %s", s, form)
	}
	x := make([]float64, len(want))
	for i, text := range given {
		var err error
		if x[i], err = strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("jitter: Parse: %q: %s is %q, want a number", s, want[i], text)
		}
	}
	return x, nil
}

func named(j Jitter) (string, bool) {
	for _, n := range names {
		if n.j == j {
			return n.name, true
		}
	}
	return "", false
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
