package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
)

// InWords says how long a strategy waits before the n-th retry, and when it gives up.
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
		text += ", give or take up to 15 %"
	case name == "deviation":
		if p, err := strconv.ParseFloat(parameters, 64); err == nil {
			text += fmt.Sprintf(", give or take up to %s %%", axis.Number(100*p))
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
		text += "; no retry later than " + within
	}
	if stop, ok := w["stopat"]; ok {
		text += "; none once a wait would be " + stop
	}
	if timeout, ok := w["attempttimeout"]; ok {
		text += "; an attempt may take " + timeout
	}
	if b := s.Budget; b != nil {
		text += fmt.Sprintf("; a budget of %s, of which a retry takes %s and a success gives back %s", axis.Number(b.Capacity), axis.Number(b.Cost), axis.Number(b.Refund))
	}
	return text
}

// shortly writes a duration as the axes do, anything else as it is.
func shortly(value string) string {
	d, err := time.ParseDuration(value)
	if err != nil || value == "0" {
		return value
	}
	return axis.Time(d)
}

// curveInWords is the curve's formula, n being the number of the retry.
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
		return strings.Join(delays, ", ") + ", and so on"
	case "sidekiq":
		return "(n-1)⁴ + 15 + up to 30·n seconds at random"
	case "buckets":
		return fmt.Sprintf("at random between (n-1)^%[2]s and (n+1)^%[2]s times %[1]s", w["unit"], w["exponent"])
	case "decorrelated":
		return "at random between " + w["base"] + " and three times the wait before"
	default:
		return curve
	}
}

// count writes a number with its word.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// grouped writes a number with a comma before each three figures.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func quoted(title string) string { return "“" + title + "”" }

// list joins texts as a sentence does.
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
