package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Unused is a word of a strategy that has no effect in a simulation, and the reason.
type Unused struct{ Word, Why string }

// Input is a simulation of strategies.
type Input interface {
	// reasons returns why words have no effect on the strategy, by their names.
	reasons(s Strategy) map[string]string
}

// UnusedWords returns the words of a strategy that have no effect in the simulation.
func UnusedWords(in Input, s Strategy) []Unused {
	why := in.reasons(s)
	var all []Unused
	for word := range strings.FieldsSeq(s.text()) {
		name, _, _ := strings.Cut(word, "=")
		if reason, ok := why[name]; ok {
			all = append(all, Unused{word, reason})
		}
	}
	return all
}

// Check returns a note for each word of a strategy that has no effect in the simulation, and an error if a strategy has
// no result.
func Check(in Input, strategies []Strategy) (notes []string, err error) {
	_, herd := in.(Herd)
	_, outage := in.(Outage)
	for _, s := range strategies {
		if limit, ok := s.Policy.Limit(); ok && limit == 0 && (herd || outage) {
			return nil, fmt.Errorf("%q allows no retry, want a limit of 1 or more", s)
		}
		for _, u := range UnusedWords(in, s) {
			notes = append(notes, fmt.Sprintf("%q: %s has no effect here: %s", s, u.Word, u.Why))
		}
	}
	return notes, nil
}

// Used returns the strategy without the words that have no effect in the simulation.
func Used(in Input, s Strategy) Strategy {
	words := strings.Fields(s.text())
	for _, u := range UnusedWords(in, s) {
		for i, w := range words {
			if w == u.Word {
				words[i] = ""
			}
		}
	}
	text := strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	if s.Name != "" {
		text = s.Name + ": " + text
	}
	if used, err := ParseStrategy(text); err == nil {
		return used
	}
	return s
}

// The reasons that several simulations share.
const (
	noLayers    = "only the callers of an overload have layers"
	noProcesses = "the clients share neither a budget nor the tiles of one process"
	noItems     = "no attempt delivers items"
	noDictate   = "without --slots the server dictates no delay"
	atOnce      = "every attempt fails at once"
)

// placed adds the reason why a key or an ordinal has no effect on a placed strategy.
func placed(s Strategy, why map[string]string) map[string]string {
	if s.Placement == sim.ByKey || s.Placement == sim.ByOrdinal {
		reason := fmt.Sprintf("place=%s gives each client its own", s.Placement)
		why["key"], why["ordinal"] = reason, reason
	}
	return why
}

// shared reports whether clients of one process share something.
func (s Strategy) shared() bool {
	_, budget := s.Policy.Budget()
	return budget || s.Policy.Backoff().IsTiled() && s.Placement == sim.OneProcess
}

// resetAfter returns the policy's ResetAfter, and whether it is set.
func (s Strategy) resetAfter() (time.Duration, bool) {
	for _, w := range s.Policy.Words() {
		if w.Name == "resetafter" {
			d, err := time.ParseDuration(w.Value)
			return d, err == nil
		}
	}
	return 0, false
}

func (x Show) reasons(Strategy) map[string]string {
	const one, waits = "a schedule is that of one operation", "a schedule is of waits alone"
	return map[string]string{
		"place": one, "layers": one, "processes": one, "attempttimeout": waits, "resetafter": waits, "resetafteritems": waits,
		"maxretryafter": waits, "budget": "a schedule spends none",
	}
}

// Command is a command that is run again.
type Command struct{}

func (Command) reasons(Strategy) map[string]string {
	const one = "a command is one operation"
	return map[string]string{
		"place": one, "layers": one, "processes": one, "resetafteritems": "a command delivers no items", "maxretryafter": "a command dictates no delay",
	}
}

func (h Herd) reasons(s Strategy) map[string]string {
	why := map[string]string{
		"layers": noLayers, "resetafteritems": noItems, "maxretryafter": "the server dictates no delay", "attempttimeout": atOnce, "resetafter": atOnce,
		"budget": "the jobs of a herd share none",
	}
	if !s.Policy.Backoff().IsTiled() || s.Placement != sim.OneProcess {
		why["processes"] = noProcesses
	}
	return placed(s, why)
}

func (c Contention) reasons(s Strategy) map[string]string {
	why := map[string]string{
		"layers": noLayers, "resetafteritems": noItems, "maxretryafter": "the server dictates no delay",
		"attempttimeout": "a write that a client no longer waits for would still count",
	}
	if !s.shared() {
		why["processes"] = noProcesses
	}
	return placed(s, why)
}

func (o Outage) reasons(s Strategy) map[string]string {
	why := map[string]string{"layers": noLayers, "resetafteritems": noItems}
	if !o.Slots {
		why["maxretryafter"] = noDictate
	}
	if o.Limit > 0 {
		why["limit"] = "--limit replaces it"
	}
	lasts := o.Timeout
	within := func() string {
		if lasts == 0 {
			return atOnce
		}
		return "an attempt fails within " + axis.Time(lasts)
	}
	if d, ok := s.Policy.AttemptTimeout(); ok && d >= lasts {
		why["attempttimeout"] = within() + ", see --timeout"
	} else if ok {
		lasts = d
	}
	if d, ok := s.resetAfter(); ok && d > lasts {
		why["resetafter"] = within()
	}
	if _, own := s.Policy.Budget(); !s.shared() && (own || o.Budget == nil) {
		why["processes"] = noProcesses
	}
	return placed(s, why)
}

func (o Overload) reasons(s Strategy) map[string]string {
	why := map[string]string{"place": "each process of an overload's callers has its own draws", "resetafteritems": noItems}
	if !o.Slots {
		why["maxretryafter"] = noDictate
	}
	lasts, timed := s.Policy.AttemptTimeout()
	if !timed {
		lasts = o.Timeout
	}
	if d, ok := s.resetAfter(); ok && lasts > 0 && d > lasts {
		why["resetafter"] = "an attempt fails within " + axis.Time(lasts)
	}
	if !s.shared() {
		why["processes"] = noProcesses
	}
	return why
}

func (c Choose) reasons(s Strategy) map[string]string {
	why := map[string]string{"layers": noLayers, "processes": "--processes is for all"}
	for _, w := range retry.Words() {
		if strings.HasPrefix(w.Go, "retry.") {
			why[w.Name] = "the backoffs are compared alone"
		}
	}
	return placed(s, why)
}
