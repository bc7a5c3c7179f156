package durable

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/retry"
)

// The headers of a job that has been through something. One that was just put has its id in Nats-Msg-Id alone.
const (
	headerID       = "Retrywhen-Id"
	headerPut      = "Retrywhen-Put"      // when the job was put
	headerAttempts = "Retrywhen-Attempts" // failed attempts, over all rows
	headerRetries  = "Retrywhen-Retries"  // retries in a row, the coming one included
	headerFirst    = "Retrywhen-First"    // when the job first failed
	headerSince    = "Retrywhen-Since"    // when the row first failed
	headerDelay    = "Retrywhen-Delay"    // the last delay that was drawn
	headerPlace    = "Retrywhen-Place"    // the job's place under a tiled backoff
	headerError    = "Retrywhen-Error"    // of the last attempt
	headerDue      = "Retrywhen-Due"      // the next attempt is not to start earlier
	headerFrom     = "Retrywhen-From"     // the sequence of the delivery that this goes on from
	headerCause    = "Retrywhen-Cause"    // why a dead letter is dead
	headerDied     = "Retrywhen-Died"     // when
)

// The server's headers that nats.go has no names for, or writes otherwise than they are needed here: its schedules
// are cut to seconds.
const (
	headerSchedule       = "Nats-Schedule"
	headerScheduleTarget = "Nats-Schedule-Target"
	headerLastSequence   = "Nats-Expected-Last-Subject-Sequence"
	headerLastSubject    = "Nats-Expected-Last-Subject-Sequence-Subject"
	headerMsgID          = "Nats-Msg-Id"
	headerIncr           = "Nats-Incr"
)

// state is what is known of a job between two attempts.
type state struct {
	id        string
	put       time.Time
	row       retry.State
	due       time.Time // zero: at once
	lastError string
	from      uint64
}

// header writes the state.
func (s *state) header() nats.Header {
	h := nats.Header{headerID: {s.id}, headerPut: {formatTime(s.put)}}
	if s.row.Attempts > 0 {
		h[headerAttempts] = []string{strconv.Itoa(s.row.Attempts)}
		h[headerRetries] = []string{strconv.Itoa(s.row.Retries)}
		h[headerFirst] = []string{formatTime(s.row.First)}
		if !s.row.Since.IsZero() {
			h[headerSince] = []string{formatTime(s.row.Since)}
		}
		h[headerDelay] = []string{s.row.Previous.String()}
		if s.row.Placed {
			h[headerPlace] = []string{strconv.FormatFloat(s.row.Place, 'g', -1, 64)}
		}
		h[headerError] = []string{errorText(s.lastError)}
	}
	if !s.due.IsZero() {
		h[headerDue] = []string{formatTime(s.due)}
	}
	if s.from != 0 {
		h[headerFrom] = []string{strconv.FormatUint(s.from, 10)}
	}
	return h
}

// readState reads what header has written; what is missing or spoilt counts as zero, so that no header can hurt.
func readState(h nats.Header) state {
	s := state{id: get(h, headerID)}
	if s.id == "" {
		s.id = get(h, headerMsgID)
	}
	if len(h) == 1 {
		return s
	}
	s.put = parseTime(get(h, headerPut))
	s.row.Attempts, _ = strconv.Atoi(get(h, headerAttempts))
	s.row.Attempts = max(s.row.Attempts, 0)
	s.row.Retries, _ = strconv.Atoi(get(h, headerRetries))
	s.row.Retries = max(s.row.Retries, 0)
	s.row.First = parseTime(get(h, headerFirst))
	s.row.Since = parseTime(get(h, headerSince))
	s.row.Previous, _ = time.ParseDuration(get(h, headerDelay))
	s.row.Previous = max(s.row.Previous, 0)
	if u, err := strconv.ParseFloat(get(h, headerPlace), 64); err == nil && u >= 0 && u < 1 {
		s.row.Place, s.row.Placed = u, true
	}
	s.lastError = readErrorText(get(h, headerError))
	s.due = parseTime(get(h, headerDue))
	s.from, _ = strconv.ParseUint(get(h, headerFrom), 10, 64)
	return s
}

// publicationID is what the server knows a publication by that is not a Put. No PutID has a tab, so none is such an id.
func publicationID(parts ...string) string { return strings.Join(parts, "\t") }

func get(h nats.Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
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

// token returns the id as a token of a subject: itself, if its letters are allowed there, else = and its base64.
func token(id string) string {
	if plain(id) {
		return id
	}
	return "=" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// plain reports whether the id has nothing but letters and digits of ASCII, - and _.
func plain(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
