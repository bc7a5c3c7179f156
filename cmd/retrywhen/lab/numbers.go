package lab

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"time"
)

// maxWork is the maximum time of one call of Numbers.
const maxWork = 8 * time.Second

// errNoKind is the error for an unknown kind of numbers.
var errNoKind = errors.New("no such numbers")

// Numbers returns the page's numbers of a kind, for encoding/json. The kind is defaults, state, or a Tab; the query is
// that of the page's address. The server and the worker of the page use it. It fails for an invalid query, for an
// unknown kind, and after 8 s.
func Numbers(ctx context.Context, kind, query string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWork)
	defer cancel()
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the query cannot be read: %w", err)
	}
	state, problems := ParseState(values)
	var result any
	switch kind {
	case "defaults":
		result, err = describeDefaults(ctx)
	case "state":
		result, err = describe(ctx, state, problems)
	default:
		compute, ok := computes[Tab(kind)]
		if !ok {
			return nil, errNoKind
		}
		if i := slices.IndexFunc(problems, func(p Problem) bool { return !p.Unknown }); i >= 0 {
			return nil, errors.New(problems[i].Message)
		}
		result, err = compute(ctx, state)
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("the simulation takes longer than %v, want a smaller one: %w", maxWork, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// computes are the functions that compute the tabs' numbers.
var computes = map[Tab]func(context.Context, State) (any, error){
	TabRecover:    func(ctx context.Context, s State) (any, error) { return ComputeRecover(ctx, s) },
	TabHerd:       func(ctx context.Context, s State) (any, error) { return ComputeHerd(ctx, s) },
	TabContention: func(ctx context.Context, s State) (any, error) { return ComputeContention(ctx, s) },
	TabOutage:     func(ctx context.Context, s State) (any, error) { return ComputeOutage(ctx, s) },
	TabChoose:     func(ctx context.Context, s State) (any, error) { return ComputeChoose(ctx, s) },
}

// yield lets timers fire in a program with one thread, so that the simulation sees the end of its context.
func yield(string) func(done, total int64) { return func(int64, int64) { runtime.Gosched() } }

// described is a state in the page's JSON.
type described struct {
	Query      string              `json:"query"`
	Fields     map[string]string   `json:"fields"`
	Strategies []describedStrategy `json:"strategies"`
	Command    string              `json:"command"`
	Problems   []Problem           `json:"problems,omitempty"` // the parts of the address that are not in the state
}

// describedStrategy is a strategy in the page's JSON.
type describedStrategy struct {
	Text    string `json:"text"`
	Title   string `json:"title"`
	Formula string `json:"formula"`
	Go      string `json:"go"`
}

func describe(ctx context.Context, s State, problems []Problem) (described, error) {
	s, err := s.fix(ctx)
	d := described{Query: s.Query().Encode(), Fields: map[string]string{}, Strategies: []describedStrategy{}, Command: s.Command(), Problems: problems}
	for _, f := range fields {
		d.Fields[f.name] = f.text(&s)
	}
	for _, x := range s.Strategies {
		d.Strategies = append(d.Strategies, describedStrategy{x.String(), x.Title(), InWords(x), s.goLine(x)})
	}
	return d, err
}

// describedDefaults holds the first values of the controls, their limits, the presets and the story.
type describedDefaults struct {
	described
	Most    map[string]int    `json:"most"`
	Presets []describedPreset `json:"presets"`
	Story   []describedStep   `json:"story"`
}

type describedPreset struct {
	Name   string            `json:"name"`
	Tab    Tab               `json:"tab"`
	Query  string            `json:"query"`
	Fields map[string]string `json:"fields"` // the defaults of an address, if this is the first preset of its tab
}

func describeDefaults(ctx context.Context) (describedDefaults, error) {
	state, err := describe(ctx, Default(), nil)
	if err != nil {
		return describedDefaults{}, err
	}
	d := describedDefaults{described: state, Story: describedStory(), Most: map[string]int{
		"jobs": MaxJobs, "retries": MaxRetries, "clients": MaxClients, "runs": MaxRuns, "affected": MaxAffected, "capacity": MaxCapacity,
		"load": MaxLoad, "rate": MaxLoad,
	}}
	for _, p := range Presets() {
		state, err := describe(ctx, p.State, nil)
		if err != nil {
			return describedDefaults{}, err
		}
		state.Fields["peak"], state.Fields["dead"] = "0s", "0s" // its windows fit only its own strategies
		d.Presets = append(d.Presets, describedPreset{p.Name, p.State.Tab, state.Query, state.Fields})
	}
	return d, nil
}
