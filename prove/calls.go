package prove

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/internal/calls"
)

// Calls is a program that makes one call of an HTTP server, and how its retries are measured.
type Calls struct {
	// Server is the host:port to which undisturbed requests are passed. If it is "", Answer is the answer to each of
	// them, as JSON if it begins with {.
	Server string
	Answer string // {"ok":true}
	// Client makes one call, of the server at r.Addr, and returns its result or an error. It returns when ctx ends. It
	// is called for several runs at once.
	Client  func(ctx context.Context, r Run) (result string, err error)
	Request string        // METHOD /path of the request that is disturbed; "": the first one of the undisturbed run
	Within  time.Duration // 30 s: for how long a run is watched
	Stop    time.Duration // 5 s: a program returns within so long after its context's end

	Parallel   int  // 32 runs at once, of which two are before their first request
	Most       int  // 15: more requests for one call in 30 s are a storm
	Idempotent bool // a POST may be repeated without a key
	NoJitter   bool // equal waits are meant
	Known      []Known

	OnFinding  func(Finding)      // may be nil. It gets each kind once, when it is certain
	OnProgress func(done, of int) // may be nil. It gets the number of runs that are over
}

// Measured is what a program's calls have shown.
type Measured struct {
	Request  string    `json:"request"` // METHOD /path of the request that was disturbed
	Rows     []Row     `json:"rows"`
	Findings []Finding `json:"findings"`
	Policy   string    `json:"policy"` // what the waits are, as retry.Parse reads it; "" if none is known
	Or       []string  `json:"or"`     // others that explain them as well
	Why      string    `json:"why"`    // what Policy rests on and what was not seen, or why there is none
	// PerCall is of reconnecttest.CheckCalls: the number of requests for each of 100 calls in a row while the server is
	// down.
	PerCall float64 `json:"perCall"`
}

// Row is what a program did in one run.
type Row struct {
	Way      string          `json:"way"`      // what the server did; a number is a status
	Requests int             `json:"requests"` // of the request that was disturbed
	Waits    []time.Duration `json:"waits"`    // between them; between connections, if those were refused and could be seen
	How      string          `json:"how"`      // how the program came out of it; of a success it begins with succeeds
	Result   string          `json:"result"`
	Error    string          `json:"error"`
}

// Missing returns what is known and was not found.
func (m Measured) Missing(known []Known) []Known { return missing(m.Findings, known) }

// Measure runs the program twice undisturbed, then once or several times for each way in which calls fail, and judges
// what it does. A kind of fault is a Finding only if two runs have shown it. It returns an error if the program fails
// undisturbed, makes no request, or more than one that cannot be told from a retry, if its two undisturbed results
// differ, and when ctx ends; then Measured has what is known. The error matches ErrBusy if the machine stalled during
// more than half of the measurement, or for so long in waits that these may be missing (Hot) or equal (Jitter), or if
// waits differ on a machine without any free time, or differ only when played again on one with little. When Measure
// returns, no call of Client goes on, if Client returns when its context ends.
//
// It panics if Client is nil or a number is negative.
func (c Calls) Measure(ctx context.Context) (Measured, error) {
	return c.prepare().measure(ctx)
}

func (m *measuring) measure(ctx context.Context) (Measured, error) {
	measured := Measured{Rows: []Row{}, Findings: []Finding{}, Or: []string{}}
	ctx, end := m.begin(ctx)
	defer end()
	if err := m.undisturbed(ctx); err != nil {
		return measured, err
	}
	runs := m.playAll(ctx)
	verdict := calls.Judge(m.rules, runs)
	m.confirm(ctx, verdict)
	measured.Request = m.target
	for _, row := range verdict.Rows() {
		measured.Rows = append(measured.Rows, Row(row))
	}
	for _, f := range verdict.Certain() {
		finding := m.finding(f, verdict.Scenarios(f))
		measured.Findings = append(measured.Findings, finding)
		m.mu.Lock()
		m.tell(finding)
		m.mu.Unlock()
	}
	p := verdict.Policy()
	measured.Policy, measured.Or, measured.Why = p.Text, append(measured.Or, p.Or...), p.Why
	if err := context.Cause(ctx); err != nil {
		return measured, err
	}
	if err := m.clock.busy(); err != nil {
		return measured, err
	}
	if hidden := verdict.Hidden(); len(hidden) > 0 {
		return measured, fmt.Errorf("prove: %w: it made waits longer, which may hide a fault of the kind %s; this needs a quieter machine, or a lower Parallel", ErrBusy, strings.Join(hidden, " or "))
	}
	if verdict.Pressed(m.pressed) {
		return measured, fmt.Errorf("prove: %w: others waited for a processor in %.0f %% of the time in which waits were measured, so that it may have made them differ; this needs a quieter machine", ErrBusy, 100*m.pressed)
	}
	return measured, nil
}

// prepare sets the defaults.
func (c Calls) prepare() *measuring {
	if c.Client == nil {
		panic("prove: Calls.Client is nil")
	}
	orDefault("Calls.Within", &c.Within, 30*time.Second)
	orDefault("Calls.Stop", &c.Stop, 5*time.Second)
	orDefault("Calls.Parallel", &c.Parallel, 32)
	orDefault("Calls.Most", &c.Most, 15)
	if c.Answer == "" {
		c.Answer = `{"ok":true}`
	}
	return &measuring{
		Calls: c, pressure: pressure, telling: newTelling(c.Known, c.OnFinding, c.OnProgress), slots: make(chan struct{}, c.Parallel), starting: make(chan struct{}, 2),
		rules: calls.Rules{Most: c.Most, Idempotent: c.Idempotent, NoJitter: c.NoJitter, Within: c.Within, Stop: c.Stop},
	}
}
