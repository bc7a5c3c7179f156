package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// effects are the commands in which a word of a strategy has an effect, for words that have none in some.
var effects = map[string]string{
	"place": "herd occ outage choose", "layers": "overload boundary", "processes": "herd occ outage overload boundary", "failuretakes": "outage overload boundary",
	"budget": "occ outage overload boundary run", "attempttimeout": "outage overload boundary run", "resetafter": "occ outage overload boundary run",
	"resetafteritems": "", "maxretryafter": "outage", "limit": "show herd occ outage overload boundary run", "within": "show herd occ outage overload boundary run",
	"stopat": "show herd occ outage overload boundary run",
}

// Unused returns a note for each word of a strategy that has no effect in a command; timeout is that of its attempts.
func Unused(command string, timeout time.Duration, s Strategy) []string {
	var notes []string
	for word := range strings.FieldsSeq(s.text()) {
		name, _, _ := strings.Cut(word, "=")
		in, some := effects[name]
		why := ""
		switch {
		case some && !slices.Contains(strings.Fields(in), command):
			if why = "nothing here can show it"; in != "" {
				why = "only in " + strings.ReplaceAll(in, " ", ", ")
			}
		case name == "processes" && !s.shared():
			why = "the clients share neither a budget nor the tiles of one process"
		case command == "outage" && timeout == 0 && (name == "attempttimeout" || name == "resetafter"):
			why = "every attempt fails at once, see --timeout"
		case (name == "key" || name == "ordinal") && s.Placement != "":
			why = "each client has its own"
		default:
			continue
		}
		notes = append(notes, word+" has no effect here: "+why)
	}
	return notes
}

// shared reports whether clients of one process share something.
func (s Strategy) shared() bool {
	_, budget := s.Policy.Budget()
	return budget || s.Policy.Backoff().IsTiled() && s.Placement == ""
}

// Notes returns the notes of all strategies.
func Notes(command string, timeout time.Duration, all []Strategy) []string {
	var notes []string
	for _, s := range all {
		for _, note := range Unused(command, timeout, s) {
			notes = append(notes, fmt.Sprintf("%q: %s", s, note))
		}
	}
	return notes
}
