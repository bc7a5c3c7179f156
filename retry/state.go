package retry

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// State is the state of one operation: everything that a decision needs to know about earlier failures. The zero State
// is an operation that has not failed yet. It is plain data with a text form, so an operation can be stored and decided
// on later in another process. It belongs to one operation and is not safe for concurrent use.
type State struct {
	// Attempts is the number of the operation's failed attempts, over all resets.
	Attempts int
	// Retries is the number of retries in a row.
	Retries int
	// First is the time of the operation's first failure.
	First time.Time
	// Since is the time of the first failure in a row.
	Since time.Time
	// Previous is the last delay drawn in a row. Decorrelated computes the next one from it.
	Previous time.Duration
	// Place is the operation's number under a Tiled backoff, in [0,1). It is valid if Placed is true.
	Place  float64
	Placed bool
	// Fires is one more than the number of fires of the policy's signals (ResetOn) that the operation has seen in this
	// process, 0 if that is not known. It is not part of the text form: a State from text has seen every fire up to its
	// first decision, and a later fire restarts its count.
	Fires uint64
}

// restart restarts the count of retries.
func (s *State) restart() {
	*s = State{Attempts: s.Attempts, First: s.First, Fires: s.Fires}
}

// MarshalText returns the text form, as in
//
//	attempts=7 retries=2 first=2026-03-01T12:00:00Z since=2026-03-01T12:30:00Z previous=1.5s place=0.618
//
// It fails if the year of a time is after 9999.
func (s State) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// AppendText appends the text form to b.
func (s State) AppendText(b []byte) ([]byte, error) {
	b = strconv.AppendInt(append(b, "attempts="...), int64(s.Attempts), 10)
	if s.Attempts == 0 {
		return b, nil
	}
	b, err := appendTime(b, " first=", s.First)
	if err != nil || s.Retries == 0 {
		return b, err
	}
	b = strconv.AppendInt(append(b, " retries="...), int64(s.Retries), 10)
	if b, err = appendTime(b, " since=", s.Since); err != nil {
		return b, err
	}
	if s.Previous != 0 {
		b = append(append(b, " previous="...), s.Previous.String()...)
	}
	if s.Placed {
		b = strconv.AppendFloat(append(b, " place="...), s.Place, 'g', -1, 64)
	}
	return b, nil
}

func appendTime(b []byte, name string, t time.Time) ([]byte, error) {
	b, err := t.UTC().AppendText(append(b, name...))
	if err != nil {
		return b, fmt.Errorf("retry: State: text of the time%s%v: %w", name, t, err)
	}
	return b, nil
}

// UnmarshalText reads the text form. Missing words count as zero. The error quotes the wrong word; then s is unchanged.
func (s *State) UnmarshalText(text []byte) error {
	var read State
	for field := range strings.FieldsSeq(string(text)) {
		name, value, _ := strings.Cut(field, "=")
		if want := read.set(name, value); want != "" {
			return fmt.Errorf("retry: State: %q: want %s", field, want)
		}
	}
	*s = read
	return nil
}

// set sets the field of the word, or returns what the word should be.
func (s *State) set(name, value string) (want string) {
	var err error
	switch name {
	case "attempts":
		s.Attempts, want = count(value)
	case "retries":
		s.Retries, want = count(value)
	case "first":
		s.First, err = time.Parse(time.RFC3339Nano, value)
	case "since":
		s.Since, err = time.Parse(time.RFC3339Nano, value)
	case "previous":
		if s.Previous, err = time.ParseDuration(value); err != nil || s.Previous < 0 {
			return "a duration of 0 or more"
		}
	case "place":
		if s.Place, err = strconv.ParseFloat(value, 64); err != nil || !(s.Place >= 0 && s.Place < 1) {
			return "a number of at least 0 and below 1"
		}
		s.Placed = true
	default:
		return "attempts, retries, first, since, previous or place"
	}
	if err != nil {
		return "a time like 2026-03-01T12:00:00Z"
	}
	return want
}

func count(value string) (n int, want string) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, "a whole number of 0 or more"
	}
	return n, ""
}
