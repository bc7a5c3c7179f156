package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
)

// InWords describes how long a strategy waits before the n-th retry, and when it gives up.
func InWords(s model.Strategy) string {
	w := map[string]string{}
	curve := ""
	for word := range strings.FieldsSeq(s.Policy.String()) {
		name, value, _ := strings.Cut(word, "=")
		if curve == "" {
			curve = name
		}
		w[name] = shortly(value)
	}
	text := curveInWords(curve, w)
	if plus, ok := w["plus"]; ok {
		text += ", plus " + plus
	}
	if most, ok := w["cap"]; ok {
		text += ", at most " + most
	}
	_, tiled := w["tiled"]
	switch name, parameters, _ := strings.Cut(w["jitter"], ":"); {
	case tiled:
		text += "; tiled: each job keeps its place in every wait"
	case name == "full":
		text += ", times a random factor from 0 to 1"
	case name == "equal":
		text += ", times a random factor from 0.5 to 1"
	case name == "default":
		text += ", ±15 % at random"
	case name == "deviation":
		if p, err := strconv.ParseFloat(parameters, 64); err == nil {
			text += fmt.Sprintf(", ±%s %% at random", axis.Number(100*p))
		}
	case name == "uniform":
		low, high, _ := strings.Cut(parameters, ":")
		text += ", times a random factor from " + low + " to " + high
	}
	if limit, ok := s.Policy.Limit(); ok && limit == 0 {
		text = "no retry"
	} else if ok {
		text += "; at most " + count(limit, "retry", "retries")
	}
	if within, ok := w["within"]; ok {
		text += "; no retry later than " + within + " after the first failure"
	}
	if stop, ok := w["stopat"]; ok {
		text += "; gives up when a wait would be " + stop
	}
	if timeout, ok := w["attempttimeout"]; ok {
		text += "; attempt timeout " + timeout
	}
	if budget, ok := w["budget"]; ok {
		numbers := strings.Split(budget, ",")
		text += fmt.Sprintf("; a budget of %s: a retry costs %s, a success refunds %s", numbers[0], numbers[1], numbers[2])
	}
	return text
}

// shortly formats a duration as the axes do. It returns any other value unchanged.
func shortly(value string) string {
	d, err := time.ParseDuration(value)
	if err != nil || value == "0" {
		return value
	}
	return axis.Time(d)
}

// curveInWords returns the curve's formula; n is the number of the retry.
func curveInWords(curve string, w map[string]string) string {
	switch curve {
	case "constant":
		if w["d"] == "0" {
			return "no wait"
		}
		return w["d"] + " before each retry"
	case "linear":
		return w["d"] + " · n"
	case "quadratic":
		return w["d"] + " · n²"
	case "polynomial":
		return w["d"] + " · n^" + w["degree"]
	case "exponential":
		if w["factor"] == "2" {
			return w["base"] + ", then twice as long each time"
		}
		return w["base"] + ", then " + w["factor"] + " times as long each time"
	case "fibonacci":
		return w["d"] + " times 1, 1, 2, 3, 5, 8 …"
	case "table":
		delays := strings.Split(w["delays"], ",")
		for i, d := range delays {
			delays[i] = shortly(d)
		}
		return strings.Join(delays, ", ") + ", then " + delays[len(delays)-1] + " forever"
	case "sidekiq":
		return "(n-1)⁴ + 15 + up to 30·n seconds at random"
	case "buckets":
		return fmt.Sprintf("at random between (n-1)^%[2]s and (n+1)^%[2]s times %[1]s", w["unit"], w["exponent"])
	case "decorrelated":
		return "at random between " + w["base"] + " and three times the previous wait"
	default:
		return curve
	}
}

// count returns a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// grouped formats a number with a comma before each three digits.
func grouped(n int64) string {
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
