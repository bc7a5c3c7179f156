package prove

import "fmt"

// Report is what a check has found.
type Report struct {
	Values    int       `json:"values"`    // that the undisturbed program delivers
	Places    int       `json:"places"`    // at which connections break
	Scenarios int       `json:"scenarios"` // that were played
	NotPlayed int       `json:"notPlayed"` // scenarios that were not played, or whose break did not take place
	Findings  []Finding `json:"findings"`
	Notes     []string  `json:"notes,omitempty"` // what may keep faults from being seen
}

// Finding is a kind of fault in a group of scenarios.
type Finding struct {
	Kind      Kind     `json:"kind"`
	Where     string   `json:"where"` // the first scenario that showed it
	What      string   `json:"what"`
	Mend      string   `json:"mend"`      // what usually mends it
	Shown     int      `json:"shown"`     // scenarios of the group that showed it,
	Scenarios int      `json:"scenarios"` // of so many
	Known     string   `json:"known"`     // the why of a Known
	Timeline  []string `json:"timeline"`  // of the scenario
}

// String returns one line: where, what, what usually mends it, and how many scenarios showed it.
func (f Finding) String() string {
	text := f.Where + ": " + f.What
	if f.Mend != "" {
		text += "; " + f.Mend
	}
	if f.Scenarios > 1 {
		text += fmt.Sprintf(" (%d of %d such scenarios)", f.Shown, f.Scenarios)
	}
	if f.Known != "" {
		text += "; known: " + f.Known
	}
	return text
}

// Known is a finding that is no failure.
type Known struct {
	Kind  Kind
	Where string // the finding's Where contains it
	Why   string
}
