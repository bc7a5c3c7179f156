package backoff

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
)

// curves gives each curve its name and the keys that it must have.
var curves = [...]struct {
	name string
	keys []string
}{
	constant:     {"constant", []string{"d"}},
	linear:       {"linear", []string{"d"}},
	quadratic:    {"quadratic", []string{"d"}},
	polynomial:   {"polynomial", []string{"d", "degree"}},
	exponential:  {"exponential", []string{"base", "factor"}},
	fibonacci:    {"fibonacci", []string{"d"}},
	tabled:       {"table", []string{"delays"}},
	sidekiq:      {"sidekiq", nil},
	buckets:      {"buckets", []string{"unit", "exponent"}},
	decorrelated: {"decorrelated", []string{"base"}},
	function:     {"func", nil},
}

// String returns the text form, such as
// "exponential base=100ms factor=2 cap=30s jitter=full", which Parse reads back
// to an equal Backoff. See the package comment for the grammar. What has no
// text form is named for a reader all the same: "func", and
// "jitter=custom(type)" for a Jitter that package jitter does not know.
func (b Backoff) String() string {
	var s strings.Builder
	s.WriteString(curves[b.kind].name)
	for _, key := range curves[b.kind].keys {
		s.WriteString(" " + key + "=")
		switch key {
		case "d", "base", "unit":
			s.WriteString(durationText(b.d))
		case "degree", "factor", "exponent":
			s.WriteString(strconv.FormatFloat(b.x, 'g', -1, 64))
		case "delays":
			for n := 1; n <= b.table.len(); n++ {
				if n > 1 {
					s.WriteByte(',')
				}
				s.WriteString(durationText(b.table.at(n)))
			}
		}
	}
	if b.plus > 0 {
		s.WriteString(" plus=" + durationText(b.plus))
	}
	if b.below > 0 {
		s.WriteString(" cap=" + durationText(b.cap()))
	}
	if b.j != nil {
		s.WriteString(" jitter=" + jitterText(b.j))
	}
	if b.tiled {
		s.WriteString(" tiled")
	}
	switch b.place {
	case keyed:
		s.WriteString(" key=" + strconv.FormatUint(b.key, 10))
	case ordinal:
		s.WriteString(" ordinal=" + strconv.FormatUint(b.key, 10))
	}
	return s.String()
}

// MarshalText returns the text form that String returns. It is an error if the
// Backoff has none: that of a Func, and one with a Jitter that is not of package jitter.
func (b Backoff) MarshalText() ([]byte, error) {
	if b.kind == function {
		return nil, errors.New("backoff: MarshalText: a func has no text form")
	}
	if b.j != nil {
		if _, ok := knownJitter(b.j); !ok {
			return nil, fmt.Errorf("backoff: MarshalText: jitter %s has no text form", jitterText(b.j))
		}
	}
	return []byte(b.String()), nil
}

// UnmarshalText sets b to what Parse makes of text. It leaves b as it is when
// that is an error.
func (b *Backoff) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*b = parsed
	return nil
}

// durationText is d's text without the zeros at its end: 1m, not 1m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// jitterText is j's text form, or one that says that it has none.
func jitterText(j jitter.Jitter) string {
	if s, ok := knownJitter(j); ok {
		return s
	}
	if hidden, ok := j.(*incomparable); ok {
		j = hidden.Jitter
	}
	return fmt.Sprintf("custom(%T)", j)
}

// knownJitter is the text form of a j that reading the text gives back.
func knownJitter(j jitter.Jitter) (string, bool) {
	s, ok := j.(fmt.Stringer)
	if !ok {
		return "", false
	}
	text := s.String()
	back, err := jitter.Parse(text)
	return text, err == nil && back == j
}
