package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/suggest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// MaxStrategies is the maximum number of strategies in a comparison: there is a color for each.
const MaxStrategies = 8

// maxText is the maximum length of a strategy's text, in bytes.
const maxText = 1000

// Strategy is a policy with its name in tables and charts, and how the clients use it.
type Strategy struct {
	Name      string // "" is the policy's text
	Policy    retry.Policy
	Placement sim.Placement
	Layers    int     // of an Overload, each with the policy; 0 is one
	Processes int     // of the clients, or of each layer, each with a budget of its own; 0 is one
	Takes     float64 // tokens that a failure takes, see sim.Layer
}

// Today are strategies that are in use, by the names that ParseStrategy takes for them: gRPC's retryThrottling (gRFC
// A6), in which each failure takes one of 10 tokens, and a call retries while more than half of them are left, and the
// standard mode of the AWS SDKs, with a quota of 500 tokens, before and after the change of 2026. A retry after a timeout
// took 10 of them, after another failure 5.
var Today = []struct{ Name, Text string }{
	{"grpc", "gRPC, retryThrottling 10 and 0.1: exponential base=100ms factor=2 cap=1s jitter=deviation:0.2 limit=3 budget=10,5.05,0.1 failuretakes=1"},
	{"aws", "AWS SDK, 10 a retry: exponential base=1s factor=2 cap=20s jitter=full limit=2 budget=500,10,1"},
	{"aws-2026", "AWS SDK, 14 a retry: exponential base=50ms factor=2 cap=20s jitter=full limit=2 budget=500,14,1"},
}

// ParseStrategy parses the text form of a strategy: optionally a name and a colon, then a policy's text form or a name of
// Today, with any of these options. Those after a name of Today replace its own.
//
//	place=by-ordinal      the sim.Placement
//	layers=3              the number of layers of an Overload
//	processes=20          the number of processes that the clients, or each layer, are divided among
//	failuretakes=1        the tokens that a failure takes from the budget, see sim.Layer
func ParseStrategy(text string) (Strategy, error) {
	if n := len(text); n > maxText {
		return Strategy{}, fmt.Errorf("the policy's text has %d bytes, want at most %d", n, maxText)
	}
	text = today(text)
	var s Strategy
	name, rest, named := strings.Cut(text, ":")
	// A colon within an option, as in jitter=deviation:0.3, does not end a name.
	if named && !strings.Contains(name, "=") && strings.TrimSpace(name) != "" {
		s.Name = strings.TrimSpace(name)
		rest = strings.Repeat(" ", utf8.RuneCountInString(name)+1) + rest // so that errors give the column in the whole text
	} else {
		rest = text
	}
	seen := map[string]bool{}
	for word := range strings.FieldsSeq(rest) {
		key, value, _ := strings.Cut(strings.ToLower(word), "=")
		own, ok := words[key]
		if !ok {
			continue
		}
		if seen[key] {
			return Strategy{}, fmt.Errorf("%q: want %s= once", word, key)
		}
		seen[key] = true
		if !own.set(&s, value) {
			return Strategy{}, fmt.Errorf("%q: want %s", word, own.want)
		}
		rest = strings.Replace(rest, word, strings.Repeat(" ", len(word)), 1)
	}
	var err error
	s.Policy, err = retry.Parse(rest)
	if wrong, ok := errors.AsType[*backoff.ParseError](err); ok && len(wrong.Names) > 0 {
		wrong.Names = append(wrong.Names, slices.Sorted(maps.Keys(words))...)
		wrong.Reason += "; a strategy also takes processes, layers and place"
	}
	return s, suggest.WithWord(err)
}

// words are the options of a strategy that are not its policy's.
var words = map[string]struct {
	set  func(s *Strategy, value string) (ok bool)
	want string
}{
	"place": {
		func(s *Strategy, value string) (ok bool) {
			s.Placement, ok = ParsePlacement(value)
			return ok
		},
		"place=one-process or place=by-ordinal",
	},
	"layers":    {func(s *Strategy, value string) bool { return whole(&s.Layers, value, 10) }, "layers=1 to layers=10"},
	"processes": {func(s *Strategy, value string) bool { return whole(&s.Processes, value, mostProcesses) }, fmt.Sprintf("processes=1 to processes=%d", mostProcesses)},
	"failuretakes": {
		func(s *Strategy, value string) bool {
			var err error
			s.Takes, err = strconv.ParseFloat(value, 64)
			return err == nil && s.Takes >= 0 && s.Takes <= 1e6
		},
		"a number of tokens, as in failuretakes=1",
	},
}

// today replaces a name of Today at the beginning of a strategy by its text.
func today(text string) string {
	name, rest, named := strings.Cut(text, ":")
	if !named || strings.Contains(name, "=") {
		name, rest = "", text
	}
	first, options, _ := strings.Cut(strings.TrimSpace(rest), " ")
	for _, t := range Today {
		if !strings.EqualFold(first, t.Name) {
			continue
		}
		title, policy, _ := strings.Cut(t.Text, ": ")
		if options = strings.TrimSpace(options); options != "" {
			title += " " + strings.ReplaceAll(options, "=", " ")
		}
		for word := range strings.FieldsSeq(policy) {
			key, _, _ := strings.Cut(word, "=")
			if strings.Contains(" "+strings.ToLower(options), " "+key+"=") {
				policy = strings.Replace(policy, " "+word, "", 1)
			}
		}
		return cmp.Or(name, title) + ": " + policy + " " + options
	}
	return text
}

// ParsePlacement parses one-process or by-ordinal.
func ParsePlacement(text string) (p sim.Placement, ok bool) {
	if text == "one-process" {
		return sim.OneProcess, true
	}
	p = sim.Placement(text)
	return p, p == sim.ByOrdinal
}

const mostProcesses = 10_000

func whole(n *int, value string, most int) bool {
	var err error
	*n, err = strconv.Atoi(value)
	return err == nil && 1 <= *n && *n <= most
}

// ParseStrategies parses several strategies. Their titles must differ.
func ParseStrategies(texts []string) ([]Strategy, error) {
	if n := len(texts); n > MaxStrategies {
		return nil, fmt.Errorf("%d policies, want at most %d", n, MaxStrategies)
	}
	strategies := make([]Strategy, len(texts))
	seen := map[string]bool{}
	for i, text := range texts {
		s, err := ParseStrategy(text)
		if err != nil {
			return nil, splitError(texts, i, err)
		}
		if seen[s.Title()] {
			return nil, fmt.Errorf("there are two policies %q, want a name for each, as in %q", s.Title(), "mine: "+s.text())
		}
		seen[s.Title()] = true
		strategies[i] = s
	}
	return strategies, nil
}

// MustParse parses strategies. It panics if one is invalid: a default is wrong.
func MustParse(texts ...string) []Strategy {
	s, err := ParseStrategies(texts)
	if err != nil {
		panic(err)
	}
	return s
}

// splitError returns an error that asks for quotes if the wrong text is a part of a policy that a shell has split.
// Otherwise it returns err.
func splitError(texts []string, wrong int, err error) error {
	from, to := wrong, wrong+1
	for from > 0 && continues(texts, from) {
		from--
	}
	for to < len(texts) && continues(texts, to) {
		to++
	}
	if to-from == 1 {
		return err
	}
	return fmt.Errorf("a policy is split into %d arguments, want one quoted argument: %q", to-from, strings.Join(texts[from:to], " "))
}

// continues reports whether texts[i] cannot begin a policy: it is an option, or it follows a name and a colon.
func continues(texts []string, i int) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(texts[i]), " ")
	return strings.Contains(word, "=") || strings.EqualFold(word, "tiled") || strings.HasSuffix(strings.TrimSpace(texts[i-1]), ":")
}

// text returns the text form without the name.
func (s Strategy) text() string {
	text := s.Policy.String()
	if s.Placement != sim.OneProcess {
		text += " place=" + string(s.Placement)
	}
	if s.Layers > 1 {
		text += " layers=" + strconv.Itoa(s.Layers)
	}
	if s.Processes > 1 {
		text += " processes=" + strconv.Itoa(s.Processes)
	}
	if s.Takes > 0 {
		text += " failuretakes=" + strconv.FormatFloat(s.Takes, 'g', -1, 64)
	}
	return text
}

// String returns the text form, which ParseStrategy parses.
func (s Strategy) String() string {
	if s.Name == "" {
		return s.text()
	}
	return s.Name + ": " + s.text()
}

// Title returns the name, or the text if there is no name.
func (s Strategy) Title() string {
	if s.Name == "" {
		return s.text()
	}
	return s.Name
}

// Timed returns the strategy with an attempt timeout, and the same title, if its policy has none; 0 is no timeout.
func (s Strategy) Timed(timeout time.Duration) Strategy {
	if _, ok := s.Policy.AttemptTimeout(); !ok && timeout > 0 {
		s.Name, s.Policy = s.Title(), s.Policy.With(retry.AttemptTimeout(timeout))
	}
	return s
}

// Sim returns the strategy for package sim.
func (s Strategy) Sim() sim.Strategy {
	return sim.Strategy{Name: s.Title(), Policy: s.Policy, Placement: s.Placement, Processes: s.Processes}
}

// MarshalText makes a Strategy a string in JSON.
func (s Strategy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ErrNoStrategy is the error for an empty list of policies.
var ErrNoStrategy = errors.New(`no policy given, want one or more, as in "exponential base=100ms factor=2 cap=30s jitter=full"`)

// GoFile returns a Go file that declares the policies of the strategies.
func GoFile(strategies []Strategy) string {
	var all []gocode.Named
	for _, s := range strategies {
		all = append(all, gocode.Named{Title: s.Title(), Policy: s.Policy, Place: s.Placement})
	}
	return gocode.File(all)
}
