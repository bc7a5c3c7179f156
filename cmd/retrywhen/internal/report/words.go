package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/retry"
)

// InWords describes how long a strategy waits before the n-th retry, and when it gives up.
func InWords(s Strategy) string {
	words := s.Policy.Words()
	if limit, ok := s.Policy.Limit(); ok && limit == 0 {
		return "no retry"
	}
	values := map[string]string{}
	for _, w := range words[1:] {
		values[w.Name] = shortly(w.Value)
	}
	var text strings.Builder
	text.WriteString(curveInWords(words[0].Name, values))
	if i := slices.IndexFunc(words, func(w backoff.Word) bool { return w.Name == "cap" }); i >= 0 && i+1 < len(words) && words[i+1].Name == "jitter" {
		words[i], words[i+1] = words[i+1], words[i] // the cap bounds the delay with its jitter
	}
	for _, w := range words[1:] {
		d, ok := retry.Describe(w, shortly)
		switch {
		case !ok: // a parameter of the curve
		case strings.HasPrefix(d.Go, "."):
			text.WriteString(", " + d.Sentence)
		default:
			text.WriteString("; " + d.Sentence)
		}
	}
	if s.Processes > 1 {
		text.WriteString("; " + count(s.Processes, "process", "processes"))
		if _, ok := s.Policy.Budget(); ok {
			text.WriteString(", each with a budget of its own")
		}
	}
	if s.Takes > 0 {
		text.WriteString("; each failure takes " + strconv.FormatFloat(s.Takes, 'g', -1, 64) + " of the tokens, a retry none")
	}
	if s.Layers > 1 {
		text.WriteString("; " + count(s.Layers, "layer", "layers"))
	}
	return text.String()
}

// shortly formats a duration as the axes do. It returns any other value unchanged.
func shortly(value string) string {
	d, err := time.ParseDuration(value)
	if err != nil || value == "0" {
		return value
	}
	return axis.Time(d)
}

// curveInWords returns the curve's formula with the values of its parameters; n is the number of the retry.
func curveInWords(name string, values map[string]string) string {
	switch {
	case name == "constant" && values["d"] == "0":
		return "no wait"
	case name == "constant":
		return values["d"] + " before each retry"
	case name == "exponential" && values["factor"] == "2":
		return values["base"] + ", then twice as long each time"
	case name == "exponential":
		return values["base"] + ", then " + values["factor"] + " times as long each time"
	case name == "table":
		delays := strings.Split(values["delays"], ",")
		for i, d := range delays {
			delays[i] = shortly(d)
		}
		return strings.Join(delays, ", ") + ", then " + delays[len(delays)-1] + " forever"
	}
	for _, c := range backoff.Curves() {
		if c.Name != name {
			continue
		}
		text := c.Formula
		for _, p := range c.Parameters {
			text = regexp.MustCompile(`\b`+p+`\b`).ReplaceAllLiteralString(text, values[p])
		}
		return text
	}
	return name
}

// count returns a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(int64(n)) + " " + many
}

// Grouped formats a number with a comma before each three digits.
func Grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func quoted(title string) string { return "“" + title + "”" }

// list joins texts with commas and "and".
func list(texts []string) string {
	switch n := len(texts); n {
	case 0:
		return ""
	case 1:
		return texts[0]
	default:
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
}
