// Package gocode returns the Go code of a policy.
package gocode

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Policy returns the Go declaration of the policy as a variable of the given name, as in
//
//	var policy = retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.Limit(5))
//
// For ByOrdinal it is a function of the ordinal, after a variable with the policy's budget. The code imports those of the packages backoff, jitter, retry and time that it names.
func Policy(name string, p retry.Policy, place sim.Placement) string {
	curve, of := p.Backoff(), ""
	if place == sim.ByOrdinal {
		curve, of = curve.Ordinal(0), "ordinal"
	}
	line, before := "retry.New("+expression(curve, of), ""
	for _, w := range p.Words() {
		d, ok := retry.Describe(w, literal)
		if !ok || strings.HasPrefix(d.Go, ".") { // of the backoff
			continue
		}
		if budget, ok := strings.CutPrefix(d.Go, "retry.WithBudget("); ok && of != "" {
			before = "var " + name + "Budget = " + strings.TrimSuffix(budget, ")") + "\n\n"
			d.Go = "retry.WithBudget(" + name + "Budget)"
		}
		line += ", " + d.Go
	}
	line += ")"
	if of != "" {
		return fmt.Sprintf("%sfunc %s(%s uint64) retry.Policy { return %s }", before, name, of, line)
	}
	return fmt.Sprintf("var %s = %s", name, line)
}

// Named is a policy with its title and its placement.
type Named struct {
	Title  string
	Policy retry.Policy
	Place  sim.Placement
}

// File returns a Go file that declares the policies, with names made of their titles. A comment at each has its title and
// its text, which can be parsed.
func File(policies []Named) string {
	var names, body strings.Builder
	used := map[string]bool{}
	for _, p := range policies {
		name := identifier(p.Title)
		for n, first := 2, name; used[name] || used[name+"Budget"]; n++ {
			name = first + strconv.Itoa(n)
		}
		used[name], used[name+"Budget"] = true, true
		title, text := strings.Join(strings.Fields(p.Title), " "), p.Policy.String()
		if p.Place != sim.OneProcess {
			text += " place=" + string(p.Place)
		}
		if title != text {
			title += ": " + text
		}
		fmt.Fprintf(&body, "\n// %s\n%s\n", title, Policy(name, p.Policy, p.Place))
	}
	for _, path := range []string{"time", "", module + "backoff", module + "jitter", module + "retry"} {
		base := path[strings.LastIndex(path, "/")+1:]
		switch {
		case path == "" && names.Len() > 0:
			names.WriteString("\n")
		case path != "" && strings.Contains(body.String(), base+"."):
			fmt.Fprintf(&names, "\t%q\n", path)
		}
	}
	return "package policies\n\nimport (\n" + names.String() + ")\n" + body.String()
}

const module = "github.com/retrywhen/retrywhen/"

// identifier returns a Go name for a title: its letters and digits, as in threeRetries for "three retries".
func identifier(title string) string {
	var name strings.Builder
	for _, part := range strings.FieldsFunc(title, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if name.Len() > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		} else if part = strings.ToLower(part[:1]) + part[1:]; !unicode.IsLetter(rune(part[0])) {
			name.WriteString("policy")
		}
		name.WriteString(part)
	}
	if text := name.String(); text != "" && !token.IsKeyword(text) && !slices.Contains([]string{"time", "backoff", "jitter", "retry", "uint64", "init"}, text) {
		return text
	}
	return name.String() + "Policy"
}

// expression returns the code of the backoff, which must have a text form. If variable is not "", it takes the place of
// the key or the ordinal.
func expression(b backoff.Backoff, variable string) string {
	words := b.Words()
	var args []string
	var rest strings.Builder
	for _, w := range words[1:] {
		d, ok := retry.Describe(w, literal)
		if variable != "" && (w.Name == "key" || w.Name == "ordinal") {
			d.Go = strings.Replace(d.Go, w.Value, variable, 1)
		}
		rest.WriteString(d.Go)
		if !ok { // a parameter of the curve
			for value := range strings.SplitSeq(w.Value, ",") {
				args = append(args, literal(value))
			}
		}
	}
	return "backoff." + capital(words[0].Name) + "(" + strings.Join(args, ", ") + ")" + rest.String()
}

func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

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

// Wrap splits a declaration into lines of at most width characters, if its parts are not longer: it breaks before
// the backoff and the options of a policy, which begin with a tab.
func Wrap(width int, code string) []string {
	var lines []string
	for line := range strings.Lines(code) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), ", retry.")
		last := parts[0]
		if before, backoff, ok := strings.Cut(last, "retry.New("); ok && utf8.RuneCountInString(last+",") > width {
			lines, last = append(lines, before+"retry.New("), "\t"+backoff
		}
		for _, p := range parts[1:] {
			if utf8.RuneCountInString(last+", retry."+p) >= width {
				lines, last = append(lines, last+","), "\tretry."+p
			} else {
				last += ", retry." + p
			}
		}
		lines = append(lines, last)
	}
	return lines
}
