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
	name, args, given := strings.Cut(strings.ToLower(s), ":")
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
		x, err := numbers(s, "deviation:p, as in deviation:0.3", args, given, "p")
		if err != nil {
			return nil, err
		}
		if why := deviationWrong(x[0]); why != "" {
			return nil, fmt.Errorf("jitter: Parse: %q: %s", s, why)
		}
		return Deviation(x[0]), nil
	case "uniform":
		x, err := numbers(s, "uniform:lo:hi, as in uniform:0.5:1.5", args, given, "lo", "hi")
		if err != nil {
			return nil, err
		}
		if why := uniformWrong(x[0], x[1]); why != "" {
			return nil, fmt.Errorf("jitter: Parse: %q: %s", s, why)
		}
		return Uniform(x[0], x[1]), nil
	case "func":
		return nil, fmt.Errorf("jitter: Parse: %q: a function has no text form, want %s", s, forms)
	}
	return nil, fmt.Errorf("jitter: Parse: %q: no such jitter, want %s", s, forms)
}

// numbers reads the arguments named in want from args, the part of s after the jitter's name.
func numbers(s, form, args string, given bool, want ...string) ([]float64, error) {
	var words []string
	if given {
		words = strings.Split(args, ":")
	}
	if len(words) != len(want) {
		return nil, fmt.Errorf("jitter: Parse: %q: want %s", s, form)
	}
	x := make([]float64, len(want))
	for i, w := range words {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return nil, fmt.Errorf("jitter: Parse: %q: %s is %q, want a number", s, want[i], w)
		}
		x[i] = v
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
