package report

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

var update = flag.Bool("update", false, "write the results into testdata")

// narrow has the cases whose text is that of a narrow terminal.
var narrow = map[string]bool{"herd": true, "boundary": true, "show": true}

// goldenCases are small simulations, one of each model. Most compare two policies or more, one of which has no result
// or no end.
func goldenCases(t *testing.T) map[string]func(context.Context) (Result, error) {
	t.Helper()
	full, tiled := "a: exponential base=1s factor=2 jitter=full", "b: linear d=3s tiled"
	o := DefaultOverload()
	o.Strategies, o.Load, o.Service.Mean = strategies(t, "three: constant d=1s limit=3", "budget: constant d=1s limit=3 budget=1,1,0.1", "none: constant d=1s limit=0"), 8, 100*time.Millisecond
	o.Runs, o.Horizon, o.Failures = 2, 50*time.Second, 0.02
	choose := DefaultChoose()
	choose.Clients, choose.Capacity, choose.Runs, choose.Outages, choose.Served = 40, 5, 1, []time.Duration{2 * time.Second, 9 * time.Second}, time.Minute
	network := sim.Network{Mean: 10 * time.Millisecond, SD: 2 * time.Millisecond}
	return map[string]func(context.Context) (Result, error){
		"show": func(context.Context) (Result, error) {
			return Show{Strategies: strategies(t, full, "c: decorrelated base=1s limit=3", "d: linear d=4s stopat=10s"), Retries: 4}.Run(), nil
		},
		"herd": func(ctx context.Context) (Result, error) {
			return Herd{Strategies: strategies(t, full, tiled), Jobs: 7, Retries: 3, Runs: 3}.Run(ctx)
		},
		"outage": func(ctx context.Context) (Result, error) {
			return Outage{Strategies: strategies(t, full, tiled, "gone: constant d=1s limit=1", "stuck: constant d=0s"),
				Outage: sim.Outage{Clients: 9, Down: 7 * time.Second, Capacity: 2}}.Run(ctx)
		},
		"contention": func(ctx context.Context) (Result, error) {
			return Contention{Strategies: strategies(t, "a: exponential base=10ms factor=2 jitter=full", "b: linear d=30ms tiled"), Clients: 6, Points: 3, Runs: 3,
				Network: network, Horizon: time.Minute}.Run(ctx)
		},
		"overload": func(ctx context.Context) (Result, error) { return o.Run(ctx) },
		"boundary": func(ctx context.Context) (Result, error) {
			b := Boundary{Overload: o, Points: 3}
			b.Overload.Horizon = 0
			return b.Run(ctx)
		},
		"choose": func(ctx context.Context) (Result, error) { return choose.Run(ctx) },
	}
}

// Text, picture, JSON and page of a small simulation of each model are those in testdata; go test -update writes them.
func TestGolden(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may differ in the last digit")
	}
	for name, run := range goldenCases(t) {
		r, err := run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var out strings.Builder
		width := 100
		if narrow[name] {
			width = 44
		}
		out.WriteString(strings.Join(r.Text(width), "\n") + "\n\n")
		if !slices.Equal(r.Text(maxWidth), r.Text(maxWidth+50)) {
			t.Errorf("%s: the text becomes wider than %d", name, maxWidth)
		}
		if err := r.Incomplete(); err != nil {
			out.WriteString("incomplete: " + err.Error() + "\n\n")
		}
		for _, s := range r.Compared() {
			out.WriteString(s.String() + "\n")
		}
		out.WriteString("\n")
		forms := []any{r.JSON()}
		if page, ok := r.(Paged); ok {
			forms = append(forms, page.Page())
		}
		for _, form := range forms {
			text, err := json.Marshal(form)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out.WriteString(strings.ReplaceAll(string(text), "},{", "},\n{") + "\n\n")
		}
		if err := r.Figure().SVG(&out); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, all := strings.Split(out.String(), "\n"), strings.Split(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n")
		for i := range max(len(got), len(all)) {
			if i >= len(got) || i >= len(all) || got[i] != all[i] {
				t.Errorf("%s:%d differs: %.200q, want %.200q", file, i+1, append(got, make([]string, len(all))...)[i], append(all, make([]string, len(got))...)[i])
				break
			}
		}
	}
}
