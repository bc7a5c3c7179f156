package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// Command returns the command line that computes the figures of the state's tab.
func (s State) Command() string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.Tab {
	case TabChoose:
		add("retrywhen sim choose --clients %d --processes %d --capacity %d --timeout %v --outages %s", s.Affected, s.Fleet, s.Capacity, s.Patience, joined(s.Outages))
		if s.Served > 0 {
			add("--served %v", s.Served)
		}
		add("--wait %v", s.Wait)
	case TabOutage:
		add("retrywhen sim outage --clients %d --down %v --capacity %d", s.Affected, s.Down, s.Capacity)
		if s.Timeout > 0 {
			add("--timeout %v", s.Timeout)
		}
	default:
		o := s.overload()
		add("retrywhen sim overload --load %d --service %v --stall %v --horizon %v", s.Load, o.Service.Mean, s.Stall, s.Watch)
		if slices.ContainsFunc(s.Strategies, func(x report.Strategy) bool { _, own := x.Policy.AttemptTimeout(); return !own }) {
			add("--timeout %v", s.Patience)
		}
		if s.Failures > 0 {
			add("--failures %v", s.Failures)
		}
		if s.Queue > 0 {
			add("--queue %d", s.Queue)
		}
	}
	if s.Seed != 0 {
		add("--seed %d", s.Seed)
	}
	if s.Tab != TabChoose { // it has its own policies
		for _, x := range s.Strategies {
			words = append(words, ShellQuoted(x.String()))
		}
	}
	return strings.Join(words, " ")
}

// ShellQuoted quotes a text for POSIX shells.
func ShellQuoted(text string) string {
	if strings.ContainsAny(text, "\"$`\\!") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return `"` + text + `"`
}
