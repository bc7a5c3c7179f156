package durable

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

// The headers of a job. A job that was put without an id and has not failed has none of them.
const (
	headerPut     = "Retrywhen-Put"     // when the job was put; with the id it identifies one Put
	headerKind    = "Retrywhen-Kind"    // set by PutKind
	headerState   = "Retrywhen-State"   // the text form of the job's retry.State
	headerDue     = "Retrywhen-Due"     // the next attempt must not start earlier
	headerError   = "Retrywhen-Error"   // the error of the last attempt
	headerCause   = "Retrywhen-Cause"   // DeadLetter.Cause
	headerDied    = "Retrywhen-Died"    // when the job was given up
	headerBy      = "Retrywhen-By"      // identifies one step, so that a worker recognizes its own
	headerAt      = "Retrywhen-At"      // the position of Resume, as JSON
	headerRevived = "Retrywhen-Revived" // the job was revived; its dead letter may still exist

	// The headers of a mark.
	headerDone     = "Retrywhen-Done"     // the job is done
	headerBegun    = "Retrywhen-Begun"    // attempts begun and never settled
	headerDelivery = "Retrywhen-Delivery" // the number of the delivery whose worker wrote the mark
)

// The server's headers for which nats.go has no names, or which it writes in a form that does not serve here: it cuts
// the times of schedules to seconds.
const (
	headerSchedule       = "Nats-Schedule"
	headerScheduleTarget = "Nats-Schedule-Target"
	headerScheduler      = "Nats-Scheduler"
	headerLastSequence   = "Nats-Expected-Last-Subject-Sequence"
	headerLastSubject    = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerTTL            = "Nats-TTL"
)

// state is the state of a job between two attempts.
type state struct {
	put       time.Time // zero: put without an id and never failed
	kind      string
	retry     retry.State
	due       time.Time // zero: at once
	lastError string
	revived   bool        // from a dead letter, which may still exist
	position  []byte      // of Resume, as JSON
	user      nats.Header // set by PutHeader
}

// header returns the state as headers.
func (s *state) header() nats.Header {
	h := make(nats.Header)
	maps.Copy(h, s.user)
	if !s.put.IsZero() {
		h[headerPut] = []string{formatTime(s.put)}
	}
	if s.kind != "" {
		h[headerKind] = []string{s.kind}
	}
	if s.retry.Attempts() > 0 {
		if text, err := s.retry.MarshalText(); err == nil { // times after the year 9999 have no text form
			h[headerState] = []string{string(text)}
		}
		h[headerError] = []string{errorText(s.lastError, errorRoom-len(s.position))}
	}
	if !s.due.IsZero() {
		h[headerDue] = []string{formatTime(s.due)}
	}
	if len(s.position) > 0 {
		h[headerAt] = []string{string(s.position)}
	}
	if s.revived {
		h[headerRevived] = []string{"1"}
	}
	return h
}

// readState reads the headers that header has written. What is missing or invalid counts as zero.
func readState(h nats.Header) state {
	var s state
	if len(h) == 0 {
		return s
	}
	s.put = parseTime(get(h, headerPut))
	s.kind = get(h, headerKind)
	s.retry.UnmarshalText([]byte(get(h, headerState))) // leaves the zero State if the text is invalid
	s.lastError = readErrorText(get(h, headerError))
	s.due = parseTime(get(h, headerDue))
	s.revived = get(h, headerRevived) != ""
	if at := get(h, headerAt); at != "" {
		s.position = []byte(at)
	}
	for key, values := range h {
		if !reserved(key) {
			if s.user == nil {
				s.user = make(nats.Header)
			}
			s.user[key] = values
		}
	}
	return s
}

// reserved reports whether a header is the server's or this package's. A message without data and with the header
// Status is a message of the server for the client.
func reserved(key string) bool {
	return hasPrefixFold(key, "Nats-") || hasPrefixFold(key, "Retrywhen-") || strings.EqualFold(key, "Status") || strings.EqualFold(key, "Description")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func get(h nats.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// number reads a count. It returns 0 if the header is missing or invalid.
func number(h nats.Header, key string) uint64 {
	n, _ := strconv.ParseUint(get(h, key), 10, 32)
	return n
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func parseTime(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}

// errorText makes an error's text fit for a header: quoted, so that it is one line, and cut to room bytes.
func errorText(text string, room int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = text[:min(len(text), room)] // a rune that is cut in half is removed below
	quoted := strconv.QuoteToGraphic(text)
	for n := len(text); len(quoted) > room; {
		n = n * room / len(quoted) * 9 / 10
		quoted = strconv.QuoteToGraphic(strings.ToValidUTF8(text[:n], "") + " …")
	}
	return quoted
}

func readErrorText(quoted string) string {
	if text, err := strconv.Unquote(quoted); err == nil {
		return text
	}
	return quoted
}

// doneMark returns the mark of a job that was put at the given time and has ended.
func (c *Config) doneMark(id string, put time.Time) *nats.Msg {
	m := &nats.Msg{Subject: c.subject(id, mark), Header: nats.Header{headerDone: {"1"}}}
	if !put.IsZero() {
		m.Header[headerPut] = []string{formatTime(put)}
	}
	expires(m, c.Remember)
	return m
}

// lastSchedule is the latest time that the server can schedule, because it counts nanoseconds in 64 bits.
var lastSchedule = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// schedule makes m a message that the server keeps until the given time, and then publishes as again.
func (c *Config) schedule(id string, m *nats.Msg, at time.Time) {
	if at.After(lastSchedule) {
		at = lastSchedule
	}
	m.Subject = c.subject(id, later)
	m.Header[headerSchedule] = []string{"@at " + formatTime(at)}
	m.Header[headerScheduleTarget] = []string{c.subject(id, again)}
}

// longest is what longer times of a Config count as: 100 years. The server counts nanoseconds since 1970 in 64 bits.
const longest = 100 * 365 * 24 * time.Hour

// expires sets a message's time to live, rounded up to seconds.
func expires(m *nats.Msg, after time.Duration) {
	seconds := (min(after, longest) + time.Second - 1) / time.Second
	m.Header[headerTTL] = []string{strconv.FormatInt(int64(max(seconds, 1)), 10) + "s"}
}
