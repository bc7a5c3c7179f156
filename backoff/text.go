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

// Word is one word of a text form: a name, and a value for most names.
type Word struct{ Name, Value string }

// String returns the word as it stands in the text: name=value, or the name if there is no value.
func (w Word) String() string {
	if w.Value == "" {
		return w.Name
	}
	return w.Name + "=" + w.Value
}

// notation is how a word is written and read.
type notation = words.Notation[Backoff]

// parameters contains the notations of the curves' parameters.
var parameters = map[string]notation{
	"d":        durationOf("d", "1s"),
	"base":     durationOf("base", "100ms"),
	"unit":     durationOf("unit", "1s"),
	"factor":   numberOf("factor", "2"),
	"degree":   numberOf("degree", "1.5"),
	"exponent": numberOf("exponent", "2"),
	"delays":   words.Of("delays", "10ms,100ms,1s", formatDelays, parseDelays),
}

// modifiers are the words that any curve may have, in the order of the text form.
var modifiers = []notation{
	words.DurationOf("plus", "1s", 0, 0, func(b *Backoff) *time.Duration { return &b.plus }),
	words.Of("cap", "30s", func(b *Backoff) (string, bool) { return words.Duration(b.cap()), b.below > 0 },
		func(b *Backoff, value, want string) error {
			d, err := words.ParseDuration(value, want)
			if err == nil {
				*b = b.Cap(d)
			}
			return err
		}),
	words.Of("jitter", "full", func(b *Backoff) (string, bool) { return jitterText(b.j), b.j != nil },
		func(b *Backoff, value, _ string) error {
			j, err := jitter.Parse(value)
			if err != nil {
				return errors.New(strings.TrimPrefix(err.Error(), "jitter: Parse: "))
			}
			*b = b.Jitter(j)
			return nil
		}),
	words.Of("tiled", "", func(b *Backoff) (string, bool) { return "", b.tiled },
		func(b *Backoff, _, _ string) error {
			b.tiled = true
			if why := b.tiledWrong(); why != "" {
				return errors.New(why)
			}
			return nil
		}),
	sourceOf("key", "42", keyed),
	sourceOf("ordinal", "3", ordinal),
}

func durationOf(name, example string) notation {
	return words.DurationOf(name, example, -1, 0, func(b *Backoff) *time.Duration { return &b.d })
}

func numberOf(name, example string) notation {
	return words.Of(name, example, func(b *Backoff) (string, bool) { return fmt.Sprint(b.x), true },
		func(b *Backoff, value, want string) (err error) {
			b.x, err = words.ParseNumber(name, value, want)
			return err
		})
}

func sourceOf(name, example string, from source) notation {
	return words.Of(name, example, func(b *Backoff) (string, bool) { return fmt.Sprint(b.key), b.source == from },
		func(b *Backoff, value, _ string) error {
			key, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return fmt.Errorf("%q is not a whole number from 0 to %d", value, uint64(math.MaxUint64))
			}
			if b.source != drawn {
				return errors.New("key and ordinal exclude each other; want one only")
			}
			b.source, b.key = from, key
			return nil
		})
}

func formatDelays(b *Backoff) (string, bool) {
	delays := make([]string, b.table.len())
	for i := range delays {
		delays[i] = words.Duration(b.table.at(i + 1))
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

// notations returns the notations of the curve's words, in the order of the text form.
func (k kind) notations() (all []notation) {
	for _, name := range curves[k].Parameters {
		all = append(all, parameters[name])
	}
	return append(all, modifiers...)
}

// jitterText returns j's text form, or a text that says that it has none.
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

// Words returns the words of the text form: the curve, its parameters in the order of the constructor's arguments, and
// the modifiers that are set.
func (b Backoff) Words() []Word {
	all := []Word{{Name: curves[b.kind].Name}}
	for _, n := range b.kind.notations() {
		if value, set := n.Format(&b); set {
			all = append(all, Word{n.Name, value})
		}
	}
	return all
}

// String returns the text form, such as "exponential base=100ms factor=2 cap=30s jitter=full", for which Parse returns
// an equal Backoff. See the package comment for the grammar. Parts without a text form have a name for readers: "func",
// and "jitter=custom(type)" for a Jitter that package jitter does not know.
func (b Backoff) String() string { return words.Join(b.Words()) }

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
	if err == nil {
		*b = parsed
	}
	return err
}
