package sim_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

var request = retry.New(backoff.Exponential(100*time.Millisecond, 2).Jitter(jitter.Full),
	retry.Limit(3), retry.AttemptTimeout(time.Second), retry.WithBudget(retry.NewBudget(10, 1, 0.1)))

// The test of docs/choosing.md: the server must recover within a minute of a stall, in each of ten runs.
func TestTheServerRecovers(t *testing.T) {
	r, err := sim.Boundary{
		Overload: sim.Overload{
			Service: sim.Service{Mean: 10 * time.Millisecond}, // it can serve 100 requests a second
			Trigger: sim.Trigger{At: 10 * time.Second, For: 5 * time.Second},
		},
		Callers: []sim.Callers{{Name: "request", Layers: []sim.Layer{{Policy: request, Processes: 2}}}},
		Loads:   []float64{80}, Runs: 10,
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Points[0]; p.Recovered < p.Runs {
		t.Errorf("the server recovers from a load of %v in %d of %d runs, want all", p.Load, p.Recovered, p.Runs)
	}
}

func TestChoosingHasTheTestOfAPolicy(t *testing.T) {
	source, err := os.ReadFile("recovers_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	document, err := os.ReadFile("../docs/choosing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "package sim_test")
	from, to := strings.Index(code, "var request"), strings.Index(code, "\nfunc TestChoosingHas")
	code = strings.Replace(code[from:to], "// The test of docs/choosing.md: the server must recover", "// The server must recover", 1)
	if !strings.Contains(string(document), "```go\n"+code+"```\n") {
		t.Errorf("docs/choosing.md does not have\n%s", code)
	}
}
