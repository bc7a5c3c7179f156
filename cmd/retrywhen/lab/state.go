package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
)

// The most that one request may ask for.
const (
	MaxJobs      = 5_000
	MaxRetries   = 40
	MaxClients   = 100 // of the contention
	MaxRuns      = 20
	MaxAffected  = 2_000 // clients of the outage
	MaxDown      = time.Hour
	MaxCapacity  = 100_000
	maxParameter = 30 // letters of a number or a duration
)

// State is all that a page shows, and all that its address holds.
type State struct {
	Strategies []model.Strategy

	Jobs    int // of the herd
	Retries int
	Peak    time.Duration // the window in which the peak is counted; 0 is chosen to fit, see fix
	Dead    time.Duration // the window that counts as dead time when it is empty; 0 is chosen to fit
	Own     bool          // each strategy has a time axis of its own

	Clients int // contention: the most
	Runs    int // for each point

	Affected int // clients of the outage
	Down     time.Duration
	Capacity int
	Timeout  time.Duration

	Seed uint64
}

// field is one parameter of a page's address.
type field struct {
	name  string
	parse func(s *State, text string) (ok bool)
	text  func(s *State) string
	want  string
}

var fields = []field{
	integer("jobs", func(s *State) *int { return &s.Jobs }, 1, MaxJobs),
	integer("retries", func(s *State) *int { return &s.Retries }, 1, MaxRetries),
	duration("peak", func(s *State) *time.Duration { return &s.Peak }, math.MaxInt64),
	duration("dead", func(s *State) *time.Duration { return &s.Dead }, math.MaxInt64),
	{
		"axis",
		func(s *State, text string) bool { s.Own = text == "own"; return text == "own" || text == "shared" },
		func(s *State) string {
			if s.Own {
				return "own"
			}
			return "shared"
		},
		"own or shared",
	},
	integer("clients", func(s *State) *int { return &s.Clients }, 1, MaxClients),
	integer("runs", func(s *State) *int { return &s.Runs }, 1, MaxRuns),
	integer("affected", func(s *State) *int { return &s.Affected }, 1, MaxAffected),
	duration("down", func(s *State) *time.Duration { return &s.Down }, MaxDown),
	integer("capacity", func(s *State) *int { return &s.Capacity }, 1, MaxCapacity),
	duration("timeout", func(s *State) *time.Duration { return &s.Timeout }, time.Minute),
	{
		"seed",
		func(s *State, text string) bool {
			n, err := strconv.ParseUint(text, 10, 32)
			s.Seed = n
			return err == nil
		},
		func(s *State) string { return strconv.FormatUint(s.Seed, 10) },
		"a whole number from 0 to 4294967295",
	},
}

func integer(name string, of func(*State) *int, least, most int) field {
	return field{
		name,
		func(s *State, text string) bool {
			n, err := strconv.Atoi(text)
			*of(s) = n
			return err == nil && least <= n && n <= most
		},
		func(s *State) string { return strconv.Itoa(*of(s)) },
		fmt.Sprintf("a whole number from %d to %d", least, most),
	}
}

func duration(name string, of func(*State) *time.Duration, most time.Duration) field {
	want := fmt.Sprintf("a duration from 0s to %v", most)
	if most == math.MaxInt64 {
		want = "a duration, at least 0s"
	}
	return field{
		name,
		func(s *State, text string) bool {
			d, err := time.ParseDuration(text)
			*of(s) = d
			return err == nil && 0 <= d && d <= most
		},
		func(s *State) string { return of(s).String() },
		want,
	}
}

// fix chooses the windows that are 0 to fit this state, and keeps them from then on: figures in other windows cannot be
// compared.
func (s State) fix(ctx context.Context) (State, error) {
	var err error
	if s.Peak == 0 || s.Dead == 0 {
		s.Peak, s.Dead, err = s.herd().Windows(ctx)
	}
	return s, err
}

// Problem is something in an address that is not understood, or asks for too much.
type Problem struct {
	Parameter string `json:"parameter"`
	Unknown   bool   `json:"unknown,omitempty"`  // there is no such parameter
	Strategy  int    `json:"strategy,omitempty"` // s: which of them, from 0
	Word      string `json:"word,omitempty"`     // s: the word of it that is wrong, if one word is
	Message   string `json:"message"`
}

// ParseState reads the state from the query of an address. What is not in it is as in Default, and so is what is wrong in
// it: the problems say what that is. A strategy that is wrong is left out; if none is left, they are those of Default.
func ParseState(query url.Values) (State, []Problem) {
	s := Default()
	var problems []Problem
	for _, f := range fields {
		values, ok := query[f.name]
		if !ok {
			continue
		}
		read := s
		if text := values[0]; len(values) > 1 || len(text) > maxParameter || !f.parse(&read, text) {
			problems = append(problems, Problem{Parameter: f.name, Message: fmt.Sprintf("%s is %q, want %s", f.name, shorten(text), f.want)})
			continue
		}
		s = read
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "s" && !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			problems = append(problems, Problem{Parameter: shorten(name), Unknown: true, Message: fmt.Sprintf("there is no parameter %q", shorten(name))})
		}
	}
	if texts := query["s"]; len(texts) > 0 {
		read, wrong := parseStrategies(texts)
		if problems = append(problems, wrong...); len(read) > 0 {
			s.Strategies = read
		}
	}
	return s, problems
}

// shorten keeps of a text what an error has room for.
func shorten(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxParameter)], "") }

// parseStrategies reads those that can be read, no two under one title.
func parseStrategies(texts []string) ([]model.Strategy, []Problem) {
	var (
		strategies []model.Strategy
		problems   []Problem
	)
	wrong := func(i int, word, format string, args ...any) {
		problems = append(problems, Problem{Parameter: "s", Strategy: i, Word: word, Message: fmt.Sprintf(format, args...)})
	}
	for i, text := range texts {
		if i == model.MaxStrategies {
			wrong(i, "", "%d policies, want at most %d", len(texts), model.MaxStrategies)
			break
		}
		s, err := model.ParseStrategy(text)
		same := func(other model.Strategy) bool { return other.Title() == s.Title() }
		switch parse, ok := errors.AsType[*backoff.ParseError](err); {
		case ok && parse.Word != "":
			wrong(i, parse.Word, "%q: %s", parse.Word, briefly(parse.Reason, err.Error()))
		case err != nil:
			wrong(i, "", "%s", strings.TrimPrefix(err.Error(), "retry: Parse: "))
		case slices.ContainsFunc(strategies, same):
			wrong(i, "", "%q is there twice, want each under a name of its own", s.Title())
		default:
			strategies = append(strategies, s)
		}
	}
	return strategies, problems
}

// briefly is what is wrong with a word. Where it names what was most likely meant, it names nothing else.
func briefly(reason, whole string) string {
	what, _, _ := strings.Cut(reason, ";")
	_, meant, ok := strings.Cut(whole, "did you mean ")
	if !ok {
		return reason
	}
	meant, _, _ = strings.Cut(meant, "?")
	return what + "; did you mean " + meant + "?"
}

// Query returns the query of the address that holds the state: ParseState's inverse. What is as in Default is left out.
func (s State) Query() url.Values {
	query := url.Values{}
	for _, x := range s.Strategies {
		query.Add("s", x.String())
	}
	def := Default()
	for _, f := range fields {
		if text := f.text(&s); text != f.text(&def) {
			query.Set(f.name, text)
		}
	}
	return query
}

// Default is what the page begins with.
func Default() State {
	return State{
		Strategies: must(
			"no jitter: exponential base=1s factor=2 cap=30s",
			"full jitter: exponential base=1s factor=2 cap=30s jitter=full",
			"tiled: exponential base=1s factor=2 cap=30s tiled"),
		Jobs: 100, Retries: 5,
		Clients: 50, Runs: 5,
		Affected: 500, Down: time.Minute, Capacity: 20,
	}
}

// Preset is a state under a name.
type Preset struct {
	Name  string
	State State
}

// Presets are states that show something.
func Presets() []Preset {
	question := Default()
	// The comparison of "Visualization of backoff functions", and an answer to the question that it ends with.
	question.Strategies = must(
		"constant: constant d=5m",
		"exponential: exponential base=1m factor=2 plus=3m",
		"sidekiq: sidekiq",
		"buckets: buckets unit=1s exponent=3",
		"tiled: linear d=52.32s tiled",
	)
	question.Jobs, question.Retries, question.Peak, question.Dead, question.Seed = 100, 5, time.Second, 3500*time.Millisecond, 0
	question.Own, question.Clients, question.Down = true, 20, 10*time.Minute

	contention := Default()
	contention.Strategies = must( // those of "Exponential Backoff And Jitter"
		"none: constant d=0s",
		"exponential: exponential base=10ms factor=2 cap=2s",
		"full: exponential base=10ms factor=2 cap=2s jitter=full",
		"equal: exponential base=10ms factor=2 cap=2s jitter=equal",
		"decorrelated: decorrelated base=5ms cap=2s",
	)
	contention.Clients, contention.Runs, contention.Retries, contention.Down = 100, 10, 8, 5*time.Second
	contention.Timeout = 10 * time.Millisecond // or no time goes by with none of a backoff

	outage := Default()
	outage.Strategies = must(
		"constant: constant d=5s",
		"15 %: exponential base=1s factor=2 cap=30s jitter=default",
		"equal: exponential base=1s factor=2 cap=30s jitter=equal",
		"full: exponential base=1s factor=2 cap=30s jitter=full",
		"decorrelated: decorrelated base=1s cap=30s",
		"tiled: exponential base=1s factor=2 cap=30s tiled")
	outage.Affected, outage.Clients = 1000, 20

	return []Preset{
		{"The thundering herd", Default()},
		{"The open question", question},
		{"Contention: the classic five", contention},
		{"A server that comes back", outage},
	}
}

func must(texts ...string) []model.Strategy {
	s, err := model.ParseStrategies(texts)
	if err != nil {
		panic(err) // a preset is wrong
	}
	return s
}
