package retry

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// State is what an Operation must remember between two attempts: everything that a decision needs to know about earlier
// failures, without the last error. The zero State is an operation that has not failed yet. It is plain data with a
// text form, so an operation can be stored and continued later in another process. It belongs to one operation.
type State struct {
	attempts int           // failed attempts, over all resets
	others   int           // those of them that are no failures of the operation: planned ends, attempts that it was not told of
	retries  int           // in a row
	failures int           // of the outage; 0 if there is none
	first    time.Time     // of the first failure
	lead     time.Duration // from the beginning to the first failure; 0 if it is not known
	row      time.Duration // from the first failure to the first one in a row
	outage   time.Duration // from the first failure to the first one of the outage
	previous time.Duration // the last delay drawn in a row: Decorrelated computes the next one from it
	place    uint64        // the number in [0,1) under a Tiled backoff: one more than its bits, or 0 if it was not drawn
	fires    uint64        // one more than the fires of the policy's signals that were seen, or 0 if that is not known
}

// hasFailed reports whether there was a failure. Then first is its time.
func (s *State) hasFailed() bool { return s.attempts > s.others }

// Attempts returns the number of the operation's attempts that failed, or had a planned end, over all resets.
func (s State) Attempts() int { return s.attempts }

// FirstFailure returns the time of the operation's first failure. It is the zero Time if there was none.
func (s State) FirstFailure() time.Time { return s.first }

// rowBegan returns the time of the first failure in a row.
func (s *State) rowBegan() time.Time { return s.first.Add(s.row) }

// outageBegan returns the time of the first failure of the outage.
func (s *State) outageBegan() time.Time { return s.first.Add(s.outage) }

// restart restarts the count of retries.
func (s *State) restart() { s.retries, s.row, s.previous, s.place = 0, 0, 0, 0 }

// MarshalText returns the text form, as in
//
//	attempts=7 first=2026-03-01T12:00:00Z retries=2 since=2026-03-01T12:30:00Z previous=1.5s place=0.618
//
// began is the time of the operation's beginning, for OnDone; planned is the number of planned ends among the attempts.
// failures and down are the number of failures of the outage and the time of the first; they are missing if the outage
// has all failures of the operation. MarshalText fails if the year of a time is after 9999.
func (s State) MarshalText() ([]byte, error) { return s.AppendText(nil) }

// AppendText appends the text form to b.
func (s State) AppendText(b []byte) (_ []byte, err error) {
	number := func(name string, n int) { b = strconv.AppendInt(append(b, name...), int64(n), 10) }
	at := func(name string, t time.Time) {
		if err != nil {
			return
		}
		if b, err = t.UTC().AppendText(append(b, name...)); err != nil {
			err = fmt.Errorf("retry: State: text of the time%s%v: %w", name, t, err)
		}
	}
	number("attempts=", s.attempts)
	if s.others > 0 {
		number(" planned=", s.others)
	}
	if !s.hasFailed() {
		return b, nil
	}
	at(" first=", s.first)
	if s.lead != 0 {
		at(" began=", s.first.Add(-s.lead))
	}
	if s.failures != s.attempts-s.others {
		number(" failures=", s.failures)
		if s.failures > 0 {
			at(" down=", s.outageBegan())
		}
	}
	if s.retries > 0 {
		number(" retries=", s.retries)
		at(" since=", s.rowBegan())
		if s.previous != 0 {
			b = append(append(b, " previous="...), s.previous.String()...)
		}
		if s.place != 0 {
			b = strconv.AppendFloat(append(b, " place="...), math.Float64frombits(s.place-1), 'g', -1, 64)
		}
	}
	return b, err
}

// UnmarshalText reads the text form. Missing failures count as attempts that were not planned ends, another missing
// number as zero, a missing time as the first failure's. The error quotes the wrong word; then s is unchanged.
func (s *State) UnmarshalText(text []byte) error {
	var read State
	read.failures = -1
	times := make(map[string]time.Time) // of each word, zero if it is none
	for field := range strings.FieldsSeq(string(text)) {
		name, value, _ := strings.Cut(field, "=")
		if _, given := times[name]; given {
			return fmt.Errorf("retry: State: a second %s, %q; want one only", name, field)
		}
		times[name] = time.Time{}
		if want := read.set(name, value, times); want != "" {
			return fmt.Errorf("retry: State: %q: want %s", field, want)
		}
	}
	if read.others > read.attempts {
		return fmt.Errorf("retry: State: %d planned ends, want at most the %d attempts", read.others, read.attempts)
	}
	if read.failures < 0 {
		read.failures = read.attempts - read.others
	}
	read.first = times["first"]
	after := func(name string) (d time.Duration) {
		if at, is := times[name]; is {
			d = at.Sub(read.first)
		}
		return d
	}
	read.lead, read.row, read.outage = -after("began"), after("since"), after("down")
	*s = read
	return nil
}

// set sets the field of the word, or returns what the word should be. It puts a time into times.
func (s *State) set(name, value string, times map[string]time.Time) (want string) {
	var err error
	switch count := map[string]*int{"attempts": &s.attempts, "planned": &s.others, "retries": &s.retries, "failures": &s.failures}[name]; name {
	case "attempts", "planned", "retries", "failures":
		if *count, err = strconv.Atoi(value); err != nil || *count < 0 {
			return "a whole number of 0 or more"
		}
	case "first", "since", "began", "down":
		if times[name], err = time.Parse(time.RFC3339Nano, value); err != nil {
			return "a time like 2026-03-01T12:00:00Z"
		}
	case "previous":
		if s.previous, err = time.ParseDuration(value); err != nil || s.previous < 0 {
			return "a duration of 0 or more"
		}
	case "place":
		place, err := strconv.ParseFloat(value, 64)
		if err != nil || !(place >= 0 && place < 1) {
			return "a number of at least 0 and below 1"
		}
		s.setPlace(place)
	default:
		return "attempts, planned, first, began, failures, down, retries, since, previous or place"
	}
	return ""
}

func (s *State) setPlace(place float64) { s.place = math.Float64bits(place) + 1 }
