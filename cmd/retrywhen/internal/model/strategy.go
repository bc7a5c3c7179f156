package model

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// MaxStrategies is the most strategies that are compared at once: as many as there are colors to tell apart.
const MaxStrategies = 8

// maxText is the most letters that the text of a strategy may have.
const maxText = 1000

// Strategy is a policy under the name that tables and charts call it by.
type Strategy struct {
	Name      string // "" for none but the policy's text
	Policy    retry.Policy
	Placement sim.Placement
}

// ParseStrategy reads a strategy from its text form: a policy's, with a name and a colon before it if it likes, and
// among its words one more, place=process-each, place=by-key or place=by-ordinal, which is the sim.Placement.
func ParseStrategy(text string) (Strategy, error) {
	if n := len(text); n > maxText {
		return Strategy{}, fmt.Errorf("a policy of %d letters, want at most %d", n, maxText)
	}
	var s Strategy
	name, rest, named := strings.Cut(text, ":")
	// Colons within words, as in jitter=deviation:0.3, end no name.
	if named && !strings.Contains(name, "=") && strings.TrimSpace(name) != "" {
		s.Name = strings.TrimSpace(name)
		rest = strings.Repeat(" ", utf8.RuneCountInString(name)+1) + rest // errors name columns of the whole text
	} else {
		rest = text
	}
	for word := range strings.FieldsSeq(rest) {
		key, value, ok := strings.Cut(word, "=")
		if !ok || !strings.EqualFold(key, "place") {
			continue
		}
		if err := s.Placement.UnmarshalText([]byte(strings.ToLower(value))); err != nil || value == "" {
			return Strategy{}, fmt.Errorf("%q: want place=one-process, place=process-each, place=by-key or place=by-ordinal", word)
		}
		rest = strings.Replace(rest, word, strings.Repeat(" ", len(word)), 1)
	}
	var err error
	s.Policy, err = retry.Parse(rest)
	return s, err
}

// ParseStrategies reads several strategies, no two under one title.
func ParseStrategies(texts []string) ([]Strategy, error) {
	if n := len(texts); n > MaxStrategies {
		return nil, fmt.Errorf("%d policies, want at most %d", n, MaxStrategies)
	}
	strategies := make([]Strategy, len(texts))
	seen := map[string]bool{}
	for i, text := range texts {
		s, err := ParseStrategy(text)
		if err != nil {
			return nil, unquoted(texts, i, err)
		}
		if seen[s.Title()] {
			return nil, fmt.Errorf("%q is there twice; give each a name, as in %q", s.Title(), "mine: "+s.words())
		}
		seen[s.Title()] = true
		strategies[i] = s
	}
	return strategies, nil
}

// unquoted returns a better error where the texts are the words of one policy, which a shell took apart.
func unquoted(texts []string, wrong int, err error) error {
	for i := range wrong + 1 {
		whole := strings.Join(texts[i:], " ")
		if _, parses := ParseStrategy(whole); parses == nil && i < len(texts)-1 {
			return fmt.Errorf("%q is one policy, want it in quotes", whole)
		}
	}
	return err
}

// words is the text without the name.
func (s Strategy) words() string {
	text := s.Policy.String()
	if s.Placement != sim.OneProcess {
		text += " place=" + s.Placement.String()
	}
	return text
}

// String returns the text form, which ParseStrategy reads.
func (s Strategy) String() string {
	if s.Name == "" {
		return s.words()
	}
	return s.Name + ": " + s.words()
}

// Title is what tables and charts call it by.
func (s Strategy) Title() string {
	if s.Name == "" {
		return s.words()
	}
	return s.Name
}

// Sim returns the strategy as package sim has it.
func (s Strategy) Sim() sim.Strategy {
	return sim.Strategy{Name: s.Title(), Backoff: s.Policy.Backoff(), Placement: s.Placement}
}

// MarshalText makes a Strategy a string in JSON.
func (s Strategy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (s *Strategy) UnmarshalText(text []byte) error {
	parsed, err := ParseStrategy(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// ErrNoStrategy is for lists of policies that are empty.
var ErrNoStrategy = errors.New(`no policy given, want one or more, as in "exponential base=100ms factor=2 cap=30s jitter=full"`)
