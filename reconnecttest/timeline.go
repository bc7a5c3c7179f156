package reconnecttest

import (
	"fmt"
	"strings"
	"time"
)

// timeline is what happened in a run, in lines such as "100ms write 1".
type timeline struct {
	start time.Time
	lines []moment
	more  int // lines that are left out
}

type moment struct {
	at     time.Duration
	format string
	args   []any
}

// A long timeline has its first and its last lines.
const firstLines, lastLines = 40, 20

func (l *timeline) add(format string, args ...any) {
	l.lines = append(l.lines, moment{time.Since(l.start), format, args})
	if len(l.lines) == firstLines+2*lastLines {
		l.lines = append(l.lines[:firstLines], l.lines[firstLines+lastLines:]...)
		l.more += lastLines
	}
}

// text returns the lines. What happens at one instant is one line.
func (l *timeline) text() (lines []string) {
	var last time.Duration = -1
	for i, m := range l.lines {
		if i == firstLines && l.more > 0 {
			lines = append(lines, fmt.Sprintf("… %d more", l.more))
			last = -1
		}
		what := fmt.Sprintf(m.format, m.args...)
		if m.at == last && !strings.Contains(what, "\n") {
			lines[len(lines)-1] += ", " + what
			continue
		}
		last = m.at
		lines = append(lines, m.at.String()+" "+what)
	}
	return lines
}
