package backoff

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/internal/words"
	"github.com/retrywhen/retrywhen/jitter"
)

// curves contains the name of each curve and the words that it requires.
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

// modifiers are the words that any curve may have, in the order of the text form.
var modifiers = []string{"plus", "cap", "jitter", "tiled", "key", "ordinal"}

// notation is how the value of a word is written and read.
type notation struct {
	example string                                            // a value; "" if the word has none
	format  func(b *Backoff) (value string, set bool)         // set is of modifiers
	parse   func(b *Backoff, value string, want string) error // want is the end of the error for a value of another kind
}

// notations contains the notation of each word.
var notations = map[string]notation{
	"d":        durationOf("1s", func(b *Backoff) *time.Duration { return &b.d }),
	"base":     durationOf("100ms", func(b *Backoff) *time.Duration { return &b.d }),
	"unit":     durationOf("1s", func(b *Backoff) *time.Duration { return &b.d }),
	"factor":   numberOf("factor", "2"),
	"degree":   numberOf("degree", "1.5"),
	"exponent": numberOf("exponent", "2"),
	"delays":   {"10ms,100ms,1s", formatDelays, parseDelays},
	"plus":     durationOf("1s", func(b *Backoff) *time.Duration { return &b.plus }),
	"cap": {
		"30s",
		func(b *Backoff) (string, bool) { return words.Duration(b.cap()), b.below > 0 },
		func(b *Backoff, value, want string) error {
			d, err := words.ParseDuration(value, want)
			if err == nil {
				*b = b.Cap(d)
			}
			return err
		},
	},
	"jitter": {
		"full",
		func(b *Backoff) (string, bool) { return jitterText(b.j), b.j != nil },
		parseJitter,
	},
	"tiled": {
		"",
		func(b *Backoff) (string, bool) { return "", b.tiled },
		func(b *Backoff, _, _ string) error {
			b.tiled = true
			if why := b.tiledWrong(); why != "" {
				return errors.New(why)
			}
			return nil
		},
	},
	"key":     placeOf(keyed, "42"),
	"ordinal": placeOf(ordinal, "3"),
}

func durationOf(example string, field func(*Backoff) *time.Duration) notation {
	return notation{
		example,
		func(b *Backoff) (string, bool) { return words.Duration(*field(b)), *field(b) > 0 },
		func(b *Backoff, value, want string) (err error) {
			*field(b), err = words.ParseDuration(value, want)
			return err
		},
	}
}

func numberOf(key, example string) notation {
	return notation{
		example,
		func(b *Backoff) (string, bool) { return strconv.FormatFloat(b.x, 'g', -1, 64), true },
		func(b *Backoff, value, want string) error {
			x, err := strconv.ParseFloat(value, 64)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				return fmt.Errorf("%q is not a number, %s", value, want)
			}
			if why := numberWrong(x); why != "" {
				return fmt.Errorf("%s is %v, want %s", key, x, why)
			}
			b.x = x + 0 // a negative zero becomes 0
			return nil
		},
	}
}

func placeOf(p place, example string) notation {
	return notation{
		example,
		func(b *Backoff) (string, bool) { return strconv.FormatUint(b.key, 10), b.place == p },
		func(b *Backoff, value, _ string) error {
			key, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return fmt.Errorf("%q is not a whole number from 0 to %d", value, uint64(math.MaxUint64))
			}
			if b.place != drawn {
				return errors.New("key and ordinal exclude each other; want one only")
			}
			b.place, b.key = p, key
			return nil
		},
	}
}

func formatDelays(b *Backoff) (string, bool) {
	var delays []string
	for n := 1; n <= b.table.len(); n++ {
		delays = append(delays, words.Duration(b.table.at(n)))
	}
	return strings.Join(delays, ","), true
}

func parseDelays(b *Backoff, value, want string) error {
	var delays []time.Duration
	for v := range strings.SplitSeq(value, ",") {
		d, err := words.ParseDuration(v, want)
		if err != nil {
			return err
		}
		delays = append(delays, d)
	}
	b.table = Table(delays...).table
	return nil
}

func parseJitter(b *Backoff, value, _ string) error {
	j, err := jitter.Parse(value)
	if err == nil {
		*b = b.Jitter(j)
		return nil
	}
	name, _, _ := strings.Cut(strings.ToLower(value), ":")
	hint := ""
	names := []string{"none", "default", "full", "equal", "deviation", "uniform"}
	if s := words.Nearest(name, names); s != "" && s != name {
		hint = fmt.Sprintf("; did you mean %s?", s)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "jitter: Parse: ") + hint)
}

// jitterText is j's text form, or a text that says that it has none.
func jitterText(j jitter.Jitter) string {
	if s, ok := knownJitter(j); ok {
		return s
	}
	if hidden, ok := j.(*incomparable); ok {
		j = hidden.Jitter
	}
	return fmt.Sprintf("custom(%T)", j)
}

// knownJitter returns the text form of j if parsing that text returns j.
func knownJitter(j jitter.Jitter) (string, bool) {
	s, ok := j.(fmt.Stringer)
	if !ok {
		return "", false
	}
	text := s.String()
	back, _ := jitter.Parse(text)
	return text, back == j
}

// String returns the text form, such as "exponential base=100ms factor=2 cap=30s jitter=full", for which Parse returns
// an equal Backoff. See the package comment for the grammar. Parts without a text form have a name for readers: "func",
// and "jitter=custom(type)" for a Jitter that package jitter does not know.
func (b Backoff) String() string {
	text := curves[b.kind].name
	write := func(key, value string) {
		text += " " + key
		if notations[key].example != "" {
			text += "=" + value
		}
	}
	for _, key := range curves[b.kind].keys {
		value, _ := notations[key].format(&b)
		write(key, value)
	}
	for _, key := range modifiers {
		if value, set := notations[key].format(&b); set {
			write(key, value)
		}
	}
	return text
}

// MarshalText returns the text form that String returns. It fails if the Backoff has none, because of a Func or of a
// Jitter that is not from package jitter.
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

// UnmarshalText sets b to the result of Parse. If Parse fails, b is unchanged.
func (b *Backoff) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*b = parsed
	return nil
}
