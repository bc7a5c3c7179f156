// Package gocode returns the Go code of a policy.
package gocode

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// curves are the constructors and their arguments, by the curves' names in the text form.
var curves = map[string]struct {
	constructor string
	arguments   []string
}{
	"constant":     {"Constant", []string{"d"}},
	"linear":       {"Linear", []string{"d"}},
	"quadratic":    {"Quadratic", []string{"d"}},
	"polynomial":   {"Polynomial", []string{"d", "degree"}},
	"exponential":  {"Exponential", []string{"base", "factor"}},
	"fibonacci":    {"Fibonacci", []string{"d"}},
	"table":        {"Table", []string{"delays"}},
	"sidekiq":      {"Sidekiq", nil},
	"buckets":      {"Buckets", []string{"unit", "exponent"}},
	"decorrelated": {"Decorrelated", []string{"base"}},
}

// options are the policy's options, in the order of the code.
var options = []struct{ word, option string }{
	{"limit", "Limit"},
	{"within", "Within"},
	{"stopat", "StopAt"},
	{"attempttimeout", "AttemptTimeout"},
	{"resetafter", "ResetAfter"},
	{"resetafteritems", "ResetAfterItems"},
	{"maxretryafter", "MaxRetryAfter"},
}

// Policy returns the Go declaration of the policy, as in
//
//	var policy = retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.Limit(5))
//
// For ProcessEach the declaration has a comment. For ByKey and ByOrdinal it is a function of the key or the ordinal,
// after a variable with the policy's budget. The code imports those of the
// packages backoff, jitter, retry and time that it names.
func Policy(p retry.Policy, place sim.Placement) string {
	_, w := words(p.String())
	curve, of := p.Backoff(), ""
	switch place {
	case sim.ByKey:
		curve, of = curve.Keyed(0), "key"
	case sim.ByOrdinal:
		curve, of = curve.Ordinal(0), "ordinal"
	}
	var line strings.Builder
	line.WriteString("retry.New(" + expression(curve, of))
	for _, o := range options {
		if value, ok := w[o.word]; ok {
			fmt.Fprintf(&line, ", retry.%s(%s)", o.option, literal(value))
		}
	}
	before := ""
	if numbers, ok := w["budget"]; ok {
		list := strings.Split(numbers, ",")
		text := "retry.NewBudget(" + strings.Join(list[:3], ", ") + ")"
		if len(list) > 3 {
			text += ".Refill(" + list[3] + ")"
		}
		if of != "" {
			before, text = "var budget = "+text+"\n\n", "budget"
		}
		line.WriteString(", retry.WithBudget(" + text + ")")
	}
	line.WriteString(")")
	switch {
	case of != "":
		return fmt.Sprintf("%sfunc policy(%s uint64) retry.Policy { return %s }", before, of, &line)
	case place == sim.ProcessEach:
		return fmt.Sprintf("var policy = %s // for one operation in each process", &line)
	}
	return "var policy = " + line.String()
}

// words returns the curve of a text form, and the values of its options by their names: "" for an option without a
// value.
func words(text string) (curve string, values map[string]string) {
	values = map[string]string{}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		if curve == "" {
			curve = name
		}
		values[name] = value
	}
	return curve, values
}

// expression returns the code of the backoff, which must have a text form. If variable is not "", it takes the place of
// the key or the ordinal.
func expression(b backoff.Backoff, variable string) string {
	name, w := words(b.String())
	curve := curves[name]
	var args []string
	for _, a := range curve.arguments {
		for value := range strings.SplitSeq(w[a], ",") {
			args = append(args, literal(value))
		}
	}
	var x strings.Builder
	x.WriteString("backoff." + curve.constructor + "(" + strings.Join(args, ", ") + ")")
	for _, m := range []struct{ word, method string }{{"plus", "Plus"}, {"cap", "Cap"}} {
		if value, ok := w[m.word]; ok {
			x.WriteString("." + m.method + "(" + literal(value) + ")")
		}
	}
	if value, ok := w["jitter"]; ok {
		x.WriteString(".Jitter(" + goJitter(value) + ")")
	}
	if _, ok := w["tiled"]; ok {
		x.WriteString(".Tiled()")
	}
	for _, m := range []struct{ word, method string }{{"key", "Keyed"}, {"ordinal", "Ordinal"}} {
		if value, ok := w[m.word]; ok {
			if variable != "" {
				value = variable
			}
			x.WriteString("." + m.method + "(" + value + ")")
		}
	}
	return x.String()
}

func goJitter(text string) string {
	name, args, _ := strings.Cut(text, ":")
	name = strings.ToUpper(name[:1]) + name[1:]
	if args == "" {
		return "jitter." + name
	}
	return "jitter." + name + "(" + strings.ReplaceAll(args, ":", ", ") + ")"
}

// literal returns the Go code of a duration or a number.
func literal(value string) string {
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return value
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		panic(fmt.Sprintf("gocode: %q is neither a number nor a duration", value))
	}
	return goDuration(d)
}

// goDuration returns the Go code of a duration: a whole number of the largest possible unit.
func goDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"}, {time.Microsecond, "time.Microsecond"}} {
		switch n := d / u.unit; {
		case d%u.unit != 0:
		case n == 1:
			return u.name
		default:
			return fmt.Sprintf("%d*%s", n, u.name)
		}
	}
	return fmt.Sprintf("%d*time.Nanosecond", int64(d))
}
