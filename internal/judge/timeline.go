package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timeline is what happened in a run, in lines such as "100ms write 1". It is not safe for concurrent use.
type Timeline struct {
	start time.Time
	round time.Duration
	notes []note
	keeps int // so many notes, the first ones, are never left out
}

type note struct {
	at     time.Duration
	format string
	args   []any
	more   int // notes like it that follow
	gap    bool
}

// A long timeline has its first notes, the first ones after each mark, and its last ones.
const firstNotes, lastNotes = 200, 100

// NewTimeline returns a timeline that begins now. Its times are multiples of round.
func NewTimeline(round time.Duration) Timeline {
	return Timeline{start: time.Now(), round: round, keeps: firstNotes}
}

// Mark says that what happens next is of interest.
func (l *Timeline) Mark() { l.keeps = len(l.notes) + firstNotes }

// Note writes what happens. Its arguments must not change.
func (l *Timeline) Note(format string, args ...any) {
	l.notes = append(l.notes, note{at: time.Since(l.start).Round(l.round), format: format, args: args})
	if len(l.notes) <= l.keeps+2*lastNotes {
		return
	}
	if gap := &l.notes[l.keeps]; gap.gap {
		gap.more += lastNotes
	} else {
		*gap = note{gap: true, more: lastNotes + 1}
	}
	l.notes = slices.Delete(l.notes, l.keeps+1, l.keeps+1+lastNotes)
}

// Again notes what follows the last note. If the same followed one like it before, with nothing between, they are one
// note with their number.
func (l *Timeline) Again(what string) {
	if k := len(l.notes); k > 2 && l.notes[k-2].format == what && l.notes[k-3].format == l.notes[k-1].format {
		l.notes = l.notes[:k-1]
		l.notes[k-3].more++
		return
	}
	l.Note(what)
}

// Lines returns the lines. What happens at one instant is one line.
func (l *Timeline) Lines() (lines []string) {
	var last time.Duration = -1
	for _, n := range l.notes {
		what := fmt.Sprintf(n.format, n.args...)
		switch {
		case n.gap:
			lines = append(lines, fmt.Sprintf("… %d more", n.more))
			last = -1
			continue
		case n.more > 0:
			what += fmt.Sprintf(" and %d more", n.more)
		}
		if n.at == last && !strings.Contains(what, "\n") {
			lines[len(lines)-1] += ", " + what
			continue
		}
		last = n.at
		lines = append(lines, n.at.String()+" "+what)
	}
	return lines
}
