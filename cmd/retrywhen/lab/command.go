package lab

import (
	"fmt"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/retry"
)

// Command returns the command line that computes the figures of the state's tab.
func (s State) Command() string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.Tab {
	case TabHerd:
		add("retrywhen sim herd --jobs %d --retries %d", s.Jobs, s.Retries)
		if s.Peak > 0 {
			add("--peak %v", s.Peak)
		}
		if s.Dead > 0 {
			add("--dead %v", s.Dead)
		}
		add("--own-axis=%v", s.Own)
	case TabContention:
		add("retrywhen sim occ --clients %d --runs %d", s.Clients, s.Runs)
	case TabChoose:
		var outages []string
		for _, d := range s.Outages {
			outages = append(outages, d.String())
		}
		add("retrywhen sim choose --clients %d --capacity %d --outages %s", s.Affected, s.Capacity, strings.Join(outages, ","))
		if s.Served > 0 {
			add("--served %v", s.Served)
		}
		if s.Wait > 0 {
			add("--wait %v", s.Wait)
		}
	case TabOutage:
		add("retrywhen sim outage --clients %d --down %v --capacity %d", s.Affected, s.Down, s.Capacity)
		if s.Timeout > 0 {
			add("--timeout %v", s.Timeout)
		}
	default:
		o := s.overload()
		add("retrywhen sim overload --load %d --service %v --stall %v --timeout %v --horizon %v", s.Load, o.Service.Mean, s.Stall, s.Patience, s.Watch)
	}
	if s.Seed != 0 {
		add("--seed %d", s.Seed)
	}
	if s.Tab != TabChoose { // it has its own policies
		for _, x := range s.Strategies {
			words = append(words, shellQuoted(x.String()))
		}
	}
	return strings.Join(words, " ")
}

// shellQuoted quotes a text for POSIX shells.
func shellQuoted(text string) string {
	if strings.ContainsAny(text, "\"$`\\!") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return `"` + text + `"`
}

// goLine returns the strategy's policy in Go. In a herd its limit is the number of retries of a job.
func (s State) goLine(x model.Strategy) string {
	p := x.Policy
	if _, ok := p.Limit(); !ok && s.Tab == TabHerd {
		p = p.With(retry.Limit(s.Retries))
	}
	return gocode.Policy(p, x.Placement)
}
