package lab

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

// maxWork is the maximum time that the page waits for numbers.
const maxWork = 8 * time.Second

// more is the kind of the numbers of the tab choose that are computed to the end.
const more = "more"

// Limited returns a context for a call of Numbers with a kind in the page's worker.
func Limited(ctx context.Context, kind string) (context.Context, context.CancelFunc) {
	return limited(ctx, maxWork, kind)
}

func limited(ctx context.Context, work time.Duration, kind string) (context.Context, context.CancelFunc) {
	switch kind {
	case "run", more: // the reader cannot ask for less
		work *= 8
	}
	return context.WithTimeout(ctx, work)
}

// MaxQuery is the maximum length of a query in bytes.
const MaxQuery = 8 << 10

// errNoKind is the error for an unknown kind of numbers.
var errNoKind = errors.New("no such numbers")

// Numbers returns the page's numbers of a kind, for encoding/json. The kind is defaults, state, run, more, or a Tab; the
// query is that of the page's address. The server and the worker of the page use it. It fails for an invalid query and
// for an unknown kind. When ctx ends the numbers are those that there are; it fails if there are none.
func Numbers(ctx context.Context, kind, query string) (any, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the query cannot be read: %w", err)
	}
	state, problems := ParseState(values)
	var result any
	switch kind {
	case "defaults":
		result = describeDefaults()
	case "state":
		result = describe(state, problems)
	case "run":
		var run *scene
		if run, err = mapScene(ctx, state); err == nil {
			result = run.pictured()
		}
	case more:
		result, err = pageOf(state.choose().Run(ctx))
	default:
		if _, ok := computes[Tab(kind)]; !ok {
			return nil, errNoKind
		}
		if i := slices.IndexFunc(problems, func(p Problem) bool { return !p.Unknown }); i >= 0 {
			return nil, errors.New(problems[i].Message)
		}
		result, err = numbers(ctx, Tab(kind), state)
	}
	if err != nil && ctx.Err() != nil {
		return nil, errors.New("the simulation takes too long here: choose a smaller one, or try again")
	}
	if field, ok := errors.AsType[*sim.FieldError](err); ok {
		return nil, fmt.Errorf("%s: %v, want %s", labelOf(field.Field), field.Value, field.Want)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// mapScene computes the runs of a state, and shows the median one until the server has recovered.
func mapScene(ctx context.Context, s State) (*scene, error) {
	o := s.overload()
	o.Work, o.Horizon = 0, 0
	return newScene(ctx, o)
}

// parameters are the parameters of the address that set the simulations' fields.
var parameters = map[string]string{
	"Horizon": "watch", "Load": "load", "Service.Mean": "rate", "Trigger.For": "stall", "Failures": "failures",
	"Clients": "clients", "Capacity": "capacity", "Down": "down", "Timeout": "timeout", "Processes": "fleet",
	"Wait": "wait",
}

// labelOf returns the label of the control that sets a field of a simulation; the field's name if there is none.
func labelOf(name string) string {
	if i := slices.IndexFunc(fields, func(f field) bool { return f.name == parameters[name] }); i >= 0 {
		return fields[i].label
	}
	return name
}

// computes are the functions that compute the pages of the tabs' results.
var computes = map[Tab]func(context.Context, State) (any, error){
	TabRecover: func(ctx context.Context, s State) (any, error) {
		o := s.overload()
		o.Work = part(ctx, 4)
		return pageOf(o.Run(ctx))
	},
	TabOutage: func(ctx context.Context, s State) (any, error) {
		o := s.outage()
		o.Work = part(ctx, 4)
		return pageOf(o.Run(ctx))
	},
	TabChoose: func(ctx context.Context, s State) (any, error) {
		c := s.choose()
		c.Work = part(ctx, 2)
		return pageOf(c.Run(ctx))
	},
}

// pageOf returns the page of a result, also if a simulation was stopped before its end.
func pageOf[R report.Paged](r R, err error) (any, error) {
	if _, stopped := errors.AsType[*sim.StoppedError](err); err != nil && !stopped {
		return nil, err
	}
	return r.Page(), nil
}

// numbers returns the numbers of a tab: those that are stored for its first values, whatever they are for others.
func numbers(ctx context.Context, t Tab, s State) (any, error) {
	if s.Tab = t; s.Command() == First(t).Command() {
		return stored("first-" + string(t) + ".json")
	}
	return computes[t](ctx, s)
}

// yield lets timers fire in a program with one thread, so that the simulation sees the end of its context.
func yield(string) func(done, total int64) { return func(int64, int64) { runtime.Gosched() } }

// described is a state in the page's JSON.
type described struct {
	Query      string              `json:"query"`
	Fields     map[string]string   `json:"fields"`
	Strategies []describedStrategy `json:"strategies"`
	Command    string              `json:"command"`
	Go         string              `json:"go"`                 // a file with all policies
	Problems   []Problem           `json:"problems,omitempty"` // the parts of the address that are not in the state
}

// describedStrategy is a strategy in the page's JSON.
type describedStrategy struct {
	Text    string `json:"text"`
	Title   string `json:"title"`
	Formula string `json:"formula"`
	Go      string `json:"go"`
}

func describe(s State, problems []Problem) described {
	d := described{Query: s.Query().Encode(), Fields: map[string]string{}, Strategies: []describedStrategy{}, Command: s.Command(), Problems: problems}
	for _, f := range fields {
		d.Fields[f.name] = f.text(&s)
	}
	var timed []report.Strategy
	for _, x := range s.Strategies {
		y := describeStrategy(x, s.timeout())
		timed = append(timed, x.Timed(s.timeout()))
		for _, note := range report.Unused(s.command(), s.timeout(), x) {
			y.Formula += "; " + note
		}
		d.Strategies = append(d.Strategies, y)
	}
	d.Go = report.GoFile(timed)
	return d
}

func describeStrategy(x report.Strategy, timeout time.Duration) describedStrategy {
	return describedStrategy{x.String(), x.Title(), report.InWords(x), gocode.Policy("policy", x.Timed(timeout).Policy, x.Placement)}
}

// describedDefaults holds the first values of the controls, their limits, and the presets.
type describedDefaults struct {
	described
	Most    map[string]int    `json:"most"`
	Curves  []describedCurve  `json:"curves"`
	Presets []describedPreset `json:"presets"`
	Today   []string          `json:"today"` // strategies that are in use
}

// describedCurve is a curve of the text form.
type describedCurve struct {
	Name       string   `json:"name"`
	Parameters []string `json:"parameters"`
	Random     bool     `json:"random"`
}

type describedPreset struct {
	Tab    Tab               `json:"tab"`
	Query  string            `json:"query"`
	Fields map[string]string `json:"fields"` // the defaults of an address
}

func describeDefaults() describedDefaults {
	d := describedDefaults{described: describe(Default(), nil), Most: map[string]int{
		"affected": MaxAffected, "capacity": MaxCapacity,
		"load": MaxLoad, "rate": MaxLoad, "fleet": MaxFleet, "query": MaxQuery,
	}}
	for _, c := range backoff.Curves() {
		d.Curves = append(d.Curves, describedCurve{c.Name, append([]string{}, c.Parameters...), c.Random})
	}
	for _, t := range report.Today {
		d.Today = append(d.Today, t.Text)
	}
	for _, p := range Presets() {
		state := describe(p, nil)
		d.Presets = append(d.Presets, describedPreset{p.Tab, state.Query, state.Fields})
	}
	return d
}
