package retry

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// State is what one operation has been through: all that a decision needs to know of the failures before. The zero
// State is an operation that has not failed yet. It is plain data with a text form, so that an operation can be stored,
// and decided on later in another process. It belongs to one operation and is not safe for concurrent use.
type State struct {
	// Attempts counts the operation's failed attempts, over all resets.
	Attempts int
	// Retries counts the retries in a row.
	Retries int
	// First is when the operation first failed.
	First time.Time
	// Since is when the first failure in a row was.
	Since time.Time
	// Previous is the last delay that was drawn in a row, which Decorrelated continues from.
	Previous time.Duration
	// Place is the operation's number under a Tiled backoff, in [0,1), once Placed is true.
	Place  float64
	Placed bool
	// Fires counts the fires of the policy's signals (ResetOn) that the operation has seen in this process. It has no
	// place in the text form.
	Fires uint64
}

// restart starts the count of retries again.
func (s *State) restart() {
	*s = State{Attempts: s.Attempts, First: s.First, Fires: s.Fires}
}

// MarshalText returns the text form, as in
//
//	attempts=7 retries=2 first=2026-03-01T12:00:00Z since=2026-03-01T12:30:00Z previous=1.5s place=0.618
//
// It fails if a time is in a year past 9999.
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

// UnmarshalText reads the text form. Words that are missing count as zero. The error quotes the word that is wrong; s
// is then as it was.
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

// set sets what the word says, or returns what it should be.
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
