package model

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// MaxStrategies is the most strategies that are compared at once: as many as there are colors to tell apart.
const MaxStrategies = 8

// maxText is the most letters that the text of a strategy may have.
const maxText = 1000

// Strategy is a policy under the name that tables and charts call it by, and how it is used.
type Strategy struct {
	Name      string // "" for none but the policy's text
	Policy    retry.Policy
	Placement sim.Placement
	Budget    *sim.Budget // what the clients' retries share; nil is none
	Layers    int         // of an Overload, each with the policy and a budget of its own; 0 is one
	Processes int         // that the clients are divided among; of an Overload's layer each has a budget of its own; 0 is one
}

// ParseStrategy reads a strategy from its text form: a policy's, with a name and a colon before it if it likes, and
// among its words some of
//
//	place=process-each    or by-key or by-ordinal: the sim.Placement
//	budget=10,1,0.1       capacity, cost and refund of a sim.Budget, and its refill a second after one more comma
//	layers=3              that many layers of an Overload
//	processes=20          that many processes of an outage's clients, or of each layer
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
		key, value, _ := strings.Cut(word, "=")
		own, ok := words[strings.ToLower(key)]
		if !ok {
			continue
		}
		if !own.set(&s, strings.ToLower(value)) {
			return Strategy{}, fmt.Errorf("%q: want %s", word, own.want)
		}
		rest = strings.Replace(rest, word, strings.Repeat(" ", len(word)), 1)
	}
	var err error
	s.Policy, err = retry.Parse(rest)
	return s, err
}

// words are those of a strategy that are not its policy's.
var words = map[string]struct {
	set  func(s *Strategy, value string) (ok bool)
	want string
}{
	"place": {
		func(s *Strategy, value string) bool {
			return value != "" && s.Placement.UnmarshalText([]byte(value)) == nil
		},
		"place=one-process, place=process-each, place=by-key or place=by-ordinal",
	},
	"budget": {
		func(s *Strategy, value string) (ok bool) {
			s.Budget, ok = parseBudget(value)
			return ok
		},
		"budget=capacity,cost,refund or budget=capacity,cost,refund,refill-per-second, as in budget=10,1,0.1",
	},
	"layers":    {func(s *Strategy, value string) bool { return count(&s.Layers, value, 10) }, "layers=1 to layers=10"},
	"processes": {func(s *Strategy, value string) bool { return count(&s.Processes, value, 10_000) }, "processes=1 to processes=10000"},
}

func count(n *int, value string, most int) bool {
	var err error
	*n, err = strconv.Atoi(value)
	return err == nil && 1 <= *n && *n <= most
}

func parseBudget(text string) (*sim.Budget, bool) {
	parts := strings.Split(text, ",")
	if len(parts) != 3 && len(parts) != 4 {
		return nil, false
	}
	var b sim.Budget
	for i, to := range []*float64{&b.Capacity, &b.Cost, &b.Refund, &b.Refill}[:len(parts)] {
		var err error
		if *to, err = strconv.ParseFloat(parts[i], 64); err != nil {
			return nil, false
		}
	}
	return &b, b.Check() == nil
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
			return nil, fmt.Errorf("%q is there twice; give each a name, as in %q", s.Title(), "mine: "+s.text())
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

// Has reports whether one of the strategy's words is set: place, budget, layers, processes, or one of a policy's
// options, as in within.
func (s Strategy) Has(word string) bool {
	for w := range strings.FieldsSeq(s.text()) {
		if key, _, _ := strings.Cut(w, "="); key == word {
			return true
		}
	}
	return false
}

// text is the text form without the name.
func (s Strategy) text() string {
	text := s.Policy.String()
	if s.Placement != sim.OneProcess {
		text += " place=" + s.Placement.String()
	}
	if b := s.Budget; b != nil {
		text += fmt.Sprintf(" budget=%v,%v,%v", b.Capacity, b.Cost, b.Refund)
		if b.Refill > 0 {
			text += fmt.Sprintf(",%v", b.Refill)
		}
	}
	if s.Layers > 1 {
		text += " layers=" + strconv.Itoa(s.Layers)
	}
	if s.Processes > 1 {
		text += " processes=" + strconv.Itoa(s.Processes)
	}
	return text
}

// String returns the text form, which ParseStrategy reads.
func (s Strategy) String() string {
	if s.Name == "" {
		return s.text()
	}
	return s.Name + ": " + s.text()
}

// Title is what tables and charts call it by.
func (s Strategy) Title() string {
	if s.Name == "" {
		return s.text()
	}
	return s.Name
}

// Sim returns the strategy as package sim has it.
func (s Strategy) Sim() sim.Strategy {
	return sim.Strategy{Name: s.Title(), Policy: s.Policy, Placement: s.Placement}
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
