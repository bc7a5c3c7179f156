package reconnecttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/internal/calls"
	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/prove"
)

// CheckCalls measures what a client's calls do when the server fails, and judges that. It is prove.Calls in virtual
// time: waits are exact, and an hour takes no time. newCaller is called once for each run, in its bubble, so that a
// pool, a budget or a seed live in the client; what it returns makes one call, and returns its result or an error. The
// server is in the check: it answers each undisturbed request with {"ok":true}. The first request of the undisturbed
// run is the one that is disturbed.
//
// docs/measure.md has the ways in which calls fail, and what a client may not do. In virtual time a client is also
// watched for an hour of failures, called with a deadline, called three times over connections that the server closes,
// and called 100 times while the server is down. Goroutines of package net/http may be left.
//
// NoJitter, Known, OnFinding and AtLeastOnce apply; AtLeastOnce says that a POST may be repeated without a key. Other
// options panic with their name. What is said of Check's network and of bubbles holds here too.
func CheckCalls[V any](t testing.TB, newCaller func(dial Dial) func(ctx context.Context) (V, error), opts ...Option) prove.Measured {
	t.Helper()
	if newCaller == nil {
		panic("reconnecttest: CheckCalls: newCaller is nil")
	}
	c := newCheck("CheckCalls", "request", opts)
	c.dials = true
	for name, given := range map[string]bool{"AnyOrder": c.AnyOrder, "GivesUp": c.GivesUp, "Latest": c.Latest} {
		if given {
			panic(fmt.Sprintf("reconnecttest: CheckCalls: %s does not apply", name))
		}
	}
	for _, k := range c.known {
		if !slices.Contains(append(ofCalls, ofBoth...), k.Kind) {
			panic(fmt.Sprintf("reconnecttest: CheckCalls: Known: kind is %q, which this check cannot find", k.Kind))
		}
	}
	all := caller{check: c, make: func(dial Dial) func(context.Context) (string, error) {
		call := newCaller(dial)
		if call == nil {
			panic("reconnecttest: CheckCalls: newCaller returned nil")
		}
		return func(ctx context.Context) (string, error) {
			v, err := call(ctx)
			return text(v), err
		}
	}}
	var m prove.Measured
	c.runner(t).Run("calls", func(sub *testing.T) { m = all.measure(sub, t) })
	return m
}

// ofCalls are the kinds that only CheckCalls finds, ofBoth those of the others that it finds too.
var (
	ofCalls = []Kind{prove.Early, prove.Unsafe, prove.Body, prove.Half, prove.Vain, prove.Swallowed, prove.Storm, prove.Stale}
	ofBoth  = []Kind{prove.Hot, prove.Silent, prove.Jitter, prove.Cap, prove.Late, prove.Left, prove.Open, prove.Panic, prove.Unjudged}
)

// text returns a result as a text that is equal for equal results.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	if b, err := json.Marshal(v); err == nil {
		return string(b)
	}
	return fmt.Sprintf("%+v", v)
}

// caller is a client that makes calls.
type caller struct {
	*check
	make   func(dial Dial) func(context.Context) (string, error)
	target string
}

// mostUnjudged is how many runs cannot be judged until no more is played.
const mostUnjudged = 3

// measure plays all ways, and reports to t what is found.
func (c *caller) measure(sub *testing.T, t testing.TB) prove.Measured {
	t.Helper()
	m := prove.Measured{Rows: []prove.Row{}, Findings: []Finding{}, Or: []string{}}
	first := c.play(sub, calls.Way{Name: calls.Undisturbed})
	name, err := first.Target("")
	switch {
	case len(first.Stuck) > 0:
	case first.Panicked != "":
		err = fmt.Errorf("it panicked: %s", first.Panicked)
	case !first.Returned:
		err = fmt.Errorf("the call has not returned in %v", watched)
	case first.Err != nil:
		err = fmt.Errorf("the call failed: %w", first.Err)
	}
	runs, unjudged := []*calls.Run{first}, len(first.Stuck)
	if err == nil {
		c.target, m.Request = name, name
		for _, w := range calls.Ways(true) {
			if unjudged < mostUnjudged {
				runs = append(runs, c.play(sub, w))
				unjudged += len(runs[len(runs)-1].Stuck)
			}
		}
	} else if len(first.Stuck) == 0 {
		t.Errorf("reconnecttest: CheckCalls: undisturbed: %v", err)
	}
	v := calls.Judge(calls.Rules{Virtual: true, Most: most, Idempotent: c.AtLeastOnce, NoJitter: c.noJitter, Within: watched, Stop: prompt}, runs)
	for _, f := range v.Certain() {
		c.tell(t, "calls", &judge.Group{Scenarios: v.Scenarios(f), Faults: []*judge.Fault{f}})
	}
	for _, row := range v.Rows() {
		m.Rows = append(m.Rows, prove.Row(row))
		if row.Way == calls.Hundred {
			m.PerCall = float64(row.Requests) / 100
		}
	}
	m.Findings = append(m.Findings, c.report.Findings...)
	p := v.Policy()
	m.Policy, m.Or, m.Why = p.Text, append(m.Or, p.Or...), p.Why
	if unjudged == 0 {
		missing(t, c.name, c.report, c.known)
	}
	return m
}
