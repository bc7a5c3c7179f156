package durable

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

// The headers of a job. One that was put without an id and has not failed has none of them.
const (
	headerPut   = "Retrywhen-Put"   // when the job was put: with the id it names one Put
	headerKind  = "Retrywhen-Kind"  // of PutKind
	headerState = "Retrywhen-State" // the text form of its retry.State
	headerDue   = "Retrywhen-Due"   // the next attempt is not to start earlier
	headerError = "Retrywhen-Error" // of the last attempt
	headerCause = "Retrywhen-Cause" // why a dead letter is dead
	headerDied  = "Retrywhen-Died"  // when
	headerBy    = "Retrywhen-By"    // names one write, so that a worker knows its own

	// Those of a mark.
	headerDone     = "Retrywhen-Done"     // the job is done
	headerBegun    = "Retrywhen-Begun"    // attempts begun and never settled
	headerDelivery = "Retrywhen-Delivery" // the number of the delivery whose worker wrote the mark

	// headerGone is that of a dead letter that was revived: an empty message in its place, for a second.
	headerGone = "Retrywhen-Gone"
)

// The server's headers that nats.go has no names for, or writes otherwise than they are needed here: its schedules
// are cut to seconds.
const (
	headerSchedule       = "Nats-Schedule"
	headerScheduleTarget = "Nats-Schedule-Target"
	headerScheduler      = "Nats-Scheduler"
	headerLastSequence   = "Nats-Expected-Last-Subject-Sequence"
	headerLastSubject    = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerTTL            = "Nats-TTL"
	headerBatchID        = "Nats-Batch-Id"
	headerBatchSequence  = "Nats-Batch-Sequence"
	headerBatchCommit    = "Nats-Batch-Commit"
)

// state is what is known of a job between two attempts.
type state struct {
	put       time.Time // zero: put without an id, and never failed
	kind      string
	row       retry.State
	due       time.Time // zero: at once
	lastError string
	user      nats.Header // of PutHeader
}

// header writes the state.
func (s *state) header() nats.Header {
	h := make(nats.Header, len(s.user)+4)
	maps.Copy(h, s.user)
	if !s.put.IsZero() {
		h[headerPut] = []string{formatTime(s.put)}
	}
	if s.kind != "" {
		h[headerKind] = []string{s.kind}
	}
	if s.row.Attempts > 0 {
		if text, err := s.row.MarshalText(); err == nil { // times past the year 9999 have no text
			h[headerState] = []string{string(text)}
		}
		h[headerError] = []string{errorText(s.lastError)}
	}
	if !s.due.IsZero() {
		h[headerDue] = []string{formatTime(s.due)}
	}
	return h
}

// readState reads what header has written; what is missing or spoilt counts as zero, so that no header can hurt.
func readState(h nats.Header) state {
	var s state
	if len(h) == 0 {
		return s
	}
	s.put = parseTime(get(h, headerPut))
	s.kind = get(h, headerKind)
	s.row.UnmarshalText([]byte(get(h, headerState))) // leaves the zero State if it is spoilt
	s.lastError = readErrorText(get(h, headerError))
	s.due = parseTime(get(h, headerDue))
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

// reserved reports whether a header is the server's or this package's.
func reserved(key string) bool {
	return hasPrefixFold(key, "Nats-") || hasPrefixFold(key, "Retrywhen-")
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

// number reads a count; anything else is 0.
func number(h nats.Header, key string) uint64 {
	n, _ := strconv.ParseUint(get(h, key), 10, 32)
	return n
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func parseTime(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}

// errorText makes an error's text fit for a header: quoted, so that it is one line, and at most errorRoom bytes.
func errorText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = text[:min(len(text), errorRoom)] // what is cut in a letter is cut further
	quoted := strconv.QuoteToGraphic(text)
	for n := len(text); len(quoted) > errorRoom; {
		n = n * errorRoom / len(quoted) * 9 / 10
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
