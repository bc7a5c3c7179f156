package lab

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/suggest"
)

// The limits of a State.
const (
	MaxAffected  = 2_000 // clients of the outage
	MaxDown      = time.Hour
	MaxCapacity  = 100_000
	MaxLoad      = 500 // operations per second
	MaxWatch     = 20 * time.Minute
	MaxQueue     = 100_000
	MaxFleet     = 10_000
	maxOutages   = 6
	maxOutage    = 10 * time.Minute
	maxParameter = 60 // bytes of a number or of durations
)

// State is everything that the page shows and that its address contains.
type State struct {
	Tab        Tab
	Strategies []report.Strategy
	OwnY       bool // each chart has its own scale

	Load     int // of the overload: operations per second
	Rate     int // the server's capacity per second
	Stall    time.Duration
	Patience time.Duration // the attempt timeout
	Watch    time.Duration // the simulation end
	Failures float64       // the share of the requests that fail at random
	Queue    int           // the most requests in the queue; 0 is no bound

	Affected int // clients of the outage
	Down     time.Duration
	Capacity int
	Timeout  time.Duration

	Outages []time.Duration // of the choice, which also has the outage's clients and capacity
	Fleet   int             // the processes of the clients
	Served  time.Duration   // a target: all are served within this time of the server's return; 0 is none
	Wait    time.Duration   // a target: an operation that fails alone waits no longer; 0 is none

	Seed uint64
}

// field is a parameter of the page's address.
type field struct {
	name  string
	label string // of its control
	parse func(s *State, text string) (ok bool)
	text  func(s *State) string
	want  string
}

var fields = []field{
	{
		"tab", "Subject",
		func(s *State, text string) bool { s.Tab = Tab(text); return slices.Contains(Tabs, s.Tab) },
		func(s *State) string { return string(s.Tab) },
		"recover, choose or outage",
	},
	{
		"y", "Own scales",
		func(s *State, text string) bool { s.OwnY = text == "own"; return s.OwnY || text == "shared" },
		func(s *State) string { return map[bool]string{true: "own", false: "shared"}[s.OwnY] },
		"own or shared",
	},
	integer("load", "Operations per second", func(s *State) *int { return &s.Load }, 1, MaxLoad),
	integer("rate", "Capacity per second", func(s *State) *int { return &s.Rate }, 1, MaxLoad),
	duration("stall", "Standstill", func(s *State) *time.Duration { return &s.Stall }, 0, time.Minute),
	duration("patience", "Attempt timeout", func(s *State) *time.Duration { return &s.Patience }, 0, time.Minute),
	duration("watch", "Simulation end", func(s *State) *time.Duration { return &s.Watch }, 45*time.Second, MaxWatch),
	share("failures", "Random failures", func(s *State) *float64 { return &s.Failures }),
	integer("queue", "Queue at most (0: no bound)", func(s *State) *int { return &s.Queue }, 0, MaxQueue),
	integer("affected", "Number of clients", func(s *State) *int { return &s.Affected }, 1, MaxAffected),
	duration("down", "Outage length", func(s *State) *time.Duration { return &s.Down }, 0, MaxDown),
	integer("capacity", "Capacity per second", func(s *State) *int { return &s.Capacity }, 1, MaxCapacity),
	duration("timeout", "Attempt timeout", func(s *State) *time.Duration { return &s.Timeout }, 0, time.Minute),
	durations("outages", "Outage lengths", func(s *State) *[]time.Duration { return &s.Outages }, maxOutages, maxOutage),
	integer("fleet", "Number of processes", func(s *State) *int { return &s.Fleet }, 1, MaxFleet),
	duration("served", "Target: all served within", func(s *State) *time.Duration { return &s.Served }, 0, MaxDown),
	duration("wait", "Target: first wait at most", func(s *State) *time.Duration { return &s.Wait }, 0, MaxDown),
	parsed("seed", "Seed", func(s *State) *uint64 { return &s.Seed }, func(text string) (uint64, bool) {
		n, err := strconv.ParseUint(text, 10, 32)
		return n, err == nil
	}, func(n uint64) string { return strconv.FormatUint(n, 10) }, "a whole number from 0 to 4294967295"),
}

// Tab is a tab of the page.
type Tab string

// The tabs of the page.
const (
	TabRecover Tab = "recover"
	TabChoose  Tab = "choose"
	TabOutage  Tab = "outage"
	TabPicture Tab = "picture" // only of a written page
)

// Tabs are all tabs, in the order of the page.
var Tabs = []Tab{TabRecover, TabChoose, TabOutage}

// parsed is a parameter that sets a field of the State.
func parsed[T any](name, label string, of func(*State) *T, read func(text string) (v T, ok bool), write func(T) string, want string) field {
	return field{
		name, label,
		func(s *State, text string) (ok bool) {
			*of(s), ok = read(text)
			return ok
		},
		func(s *State) string { return write(*of(s)) },
		want,
	}
}

func integer(name, label string, of func(*State) *int, least, most int) field {
	return parsed(name, label, of, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && least <= n && n <= most
	}, strconv.Itoa, fmt.Sprintf("a whole number from %d to %d", least, most))
}

// share is a parameter that is a share in percent.
func share(name, label string, of func(*State) *float64) field {
	return parsed(name, label, of, func(text string) (float64, bool) {
		x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
		return x / 100, err == nil && x >= 0 && x <= 100
	}, func(x float64) string { return strconv.FormatFloat(100*x, 'g', -1, 64) + "%" }, "a share from 0% to 100%")
}

func duration(name, label string, of func(*State) *time.Duration, least, most time.Duration) field {
	return parsed(name, label, of, func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && least <= d && d <= most
	}, time.Duration.String, fmt.Sprintf("a duration from %v to %v", least, most))
}

// Problem is an invalid part of an address.
type Problem struct {
	Parameter string `json:"parameter"`
	Unknown   bool   `json:"unknown,omitempty"`  // there is no such parameter
	Strategy  int    `json:"strategy,omitempty"` // of parameter s: the index of the strategy
	Word      string `json:"word,omitempty"`     // of parameter s: the invalid word of the strategy, if it is one word
	Message   string `json:"message"`
}

// ParseState parses the query of an address. Missing and invalid parameters have the values of the first preset of the
// tab. Invalid strategies are left out; if none is left, the strategies are the preset's. The problems are the invalid
// parts.
func ParseState(query url.Values) (State, []Problem) {
	s := First(Tab(query.Get("tab")))
	var problems []Problem
	for _, f := range fields {
		values, ok := query[f.name]
		if !ok {
			continue
		}
		read := s
		if text := values[0]; len(values) > 1 || len(text) > maxParameter || !f.parse(&read, text) {
			problems = append(problems, Problem{Parameter: f.name, Message: fmt.Sprintf("%s is %q, want %s", f.label, shorten(text), f.want)})
			continue
		}
		s = read
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "s" && !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			problems = append(problems, Problem{Parameter: shorten(name), Unknown: true, Message: fmt.Sprintf("there is no parameter %q", shorten(name))})
		}
	}
	read, wrong := parseStrategies(query["s"])
	if problems = append(problems, wrong...); len(read) > 0 {
		s.Strategies = read
	}
	return s, problems
}

// shorten shortens a text for an error.
func shorten(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxParameter)], "") }

// parseStrategies parses the valid strategies. Their titles must differ.
func parseStrategies(texts []string) ([]report.Strategy, []Problem) {
	var (
		strategies []report.Strategy
		problems   []Problem
	)
	wrong := func(i int, word, format string, args ...any) {
		problems = append(problems, Problem{Parameter: "s", Strategy: i, Word: word, Message: fmt.Sprintf(format, args...)})
	}
	for i, text := range texts {
		if i == report.MaxStrategies {
			wrong(i, "", "%d policies, want at most %d", len(texts), report.MaxStrategies)
			break
		}
		s, err := report.ParseStrategy(text)
		same := func(other report.Strategy) bool { return other.Title() == s.Title() }
		switch parse, ok := errors.AsType[*backoff.ParseError](err); {
		case ok && parse.Word != "":
			wrong(i, parse.Word, "%q: %s", parse.Word, briefly(parse))
		case err != nil:
			wrong(i, "", "%s", strings.TrimPrefix(err.Error(), "retry: Parse: "))
		case slices.ContainsFunc(strategies, same):
			wrong(i, "", "there are two policies %q, want a name for each", s.Title())
		default:
			strategies = append(strategies, s)
		}
	}
	return strategies, problems
}

// briefly returns what is wrong with a word. If there is a suggestion, the text has no other valid values.
func briefly(wrong *backoff.ParseError) string {
	near := suggest.Word(wrong)
	if near == "" {
		return wrong.Reason
	}
	what, _, _ := strings.Cut(wrong.Reason, ";")
	what, _, _ = strings.Cut(what, ",")
	return what + "; did you mean " + near + "?"
}

// Query returns the query of the state's address. It is the inverse of ParseState. Parameters with the values of the
// tab's first preset are left out, except for the strategies.
func (s State) Query() url.Values {
	query := url.Values{}
	for _, x := range s.Strategies {
		query.Add("s", x.String())
	}
	first := First(s.Tab)
	for _, f := range fields {
		if text := f.text(&s); text != f.text(&first) || f.name == "tab" && s.Tab != TabRecover {
			query.Set(f.name, text)
		}
	}
	return query
}

// durations is a parameter with a list of durations.
func durations(name, label string, of func(*State) *[]time.Duration, most int, longest time.Duration) field {
	return parsed(name, label, of, func(text string) (list []time.Duration, ok bool) {
		for part := range strings.SplitSeq(text, ",") {
			d, err := time.ParseDuration(strings.TrimSpace(part))
			if err != nil || d < 0 || d > longest {
				return nil, false
			}
			list = append(list, d)
		}
		return list, len(list) <= most
	}, joined, fmt.Sprintf("one to %d durations up to %s, as in 2s,1m", most, axis.Time(longest)))
}

// joined returns durations as a list for an address or a flag.
func joined(durations []time.Duration) string {
	list := make([]string, len(durations))
	for i, d := range durations {
		list[i] = d.String()
	}
	return strings.Join(list, ",")
}
