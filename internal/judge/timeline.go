package judge

import (
	"fmt"
	"strings"
	"time"
)

// Timeline is what happened in a run, in lines such as "100ms write 1". It is not safe for concurrent use.
type Timeline struct {
	start time.Time
	round time.Duration
	notes []note
	more  int // notes that are left out
}

type note struct {
	at     time.Duration
	format string
	args   []any
}

// A long timeline has its first and its last notes.
const firstNotes, lastNotes = 200, 100

// NewTimeline returns a timeline that begins now. Its times are multiples of round.
func NewTimeline(round time.Duration) Timeline { return Timeline{start: time.Now(), round: round} }

// Note writes what happens. Its arguments must not change.
func (l *Timeline) Note(format string, args ...any) {
	l.notes = append(l.notes, note{time.Since(l.start).Round(l.round), format, args})
	if len(l.notes) == firstNotes+2*lastNotes {
		l.notes = append(l.notes[:firstNotes], l.notes[firstNotes+lastNotes:]...)
		l.more += lastNotes
	}
}

// Lines returns the lines. What happens at one instant is one line.
func (l *Timeline) Lines() (lines []string) {
	var last time.Duration = -1
	for i, n := range l.notes {
		if i == firstNotes && l.more > 0 {
			lines = append(lines, fmt.Sprintf("… %d more", l.more))
			last = -1
		}
		what := fmt.Sprintf(n.format, n.args...)
		if n.at == last && !strings.Contains(what, "\n") {
			lines[len(lines)-1] += ", " + what
			continue
		}
		last = n.at
		lines = append(lines, n.at.String()+" "+what)
	}
	return lines
}
