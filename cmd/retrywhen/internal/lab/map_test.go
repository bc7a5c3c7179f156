package lab

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

var update = flag.Bool("update", false, "write the files in stored, or testdata/map.txt, which takes minutes")

// The map in the page is what the simulation computes. A sample is computed again, nightly a whole row.
func TestMap(t *testing.T) {
	loads := make([]float64, mapLoads)
	for i := range loads {
		loads[i] = mapLoad(i)
	}
	if *update {
		var text strings.Builder
		for _, p := range mapPolicies() {
			for _, stall := range mapStalls {
				row, err := mapRow(t.Context(), p, stall, loads)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&text, "%s\t%s\n", mapName(p, stall), strings.Trim(fmt.Sprint(row), "[]"))
			}
		}
		if err := os.WriteFile("testdata/map.txt", []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	all, err := parseMap(mapText)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range mapPolicies() {
		for row, columns := range map[time.Duration][]int{mapStalls[2]: {3, 15}, 5 * time.Second: {4, 5}} {
			at := slices.Index(mapStalls, row)
			if nightly() && row == 5*time.Second {
				columns = columns[:0]
				for c := range mapLoads {
					columns = append(columns, c)
				}
			}
			var some []float64
			var want []cell
			for _, c := range columns {
				some, want = append(some, loads[c]), append(want, all[i][at][c])
			}
			got, err := mapRow(t.Context(), p, row, some)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range columns { // a dot has the verdict of its cell, and the picture of one of the runs in the middle
				run, err := mapScene(t.Context(), mapState(i, at, c))
				if err != nil {
					t.Fatal(err)
				}
				n := all[i][at][c].recovered()
				if n > 0 && run.runs != fmt.Sprintf("in %d of %d runs", n, mapRuns) || strings.HasPrefix(run.verdict, "Back a") != (n > 0) || (run.grade == report.Well) != (n == mapRuns) {
					t.Errorf("%s at a load of %v: %d runs recover, but of the picture: %s", mapName(p, row), loads[c], n, run.verdict)
				}
				if recovers := run.result.Recovery.Verdict == sim.Recovered; recovers && 2*n < mapRuns || !recovers && 2*n > mapRuns+1 {
					t.Errorf("%s at a load of %v: %d runs recover, but the one in the picture: %v", mapName(p, row), loads[c], n, run.result.Recovery)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s at loads of %v: %v runs recover, map.txt has %v: go test -run TestMap -update", mapName(p, row), some, got, want)
			}
		}
	}
}

// A column of the map is a load of a whole number of operations per second.
func TestMapLoads(t *testing.T) {
	for column := range mapLoads {
		if got, want := mapState(0, 0, column).Load, 5*(column+1); got != want || math.Abs(mapLoad(column)-float64(want)) > 1e-9 {
			t.Errorf("column %d is a load of %v, in its state %d, want %d", column, mapLoad(column), got, want)
		}
	}
}

func TestMapTexts(t *testing.T) {
	row := slices.Repeat([]cell{"10m"}, mapLoads)
	for safe, want := range map[int]string{0: "none of these", 1: "up to 5 %", mapLoads: "up to 95 %"} {
		other := slices.Clone(row)
		if safe < mapLoads {
			other[safe] = "9l"
		}
		if got := safeText(other); got != want {
			t.Errorf("%d safe loads: %q, want %q", safe, got, want)
		}
	}
	of := func(recovered, late int, most time.Duration) sim.BoundaryPoint {
		return sim.BoundaryPoint{Runs: 10, Recovered: recovered, Late: late, After: sim.Spread{Most: most}}
	}
	for want, p := range map[cell]sim.BoundaryPoint{"10a": of(10, 0, 0), "10m": of(10, 0, time.Second), "9l": of(9, 1, 0), "8n": of(8, 1, 0)} {
		if got := newCell(p); got != want || got.recovered() != p.Recovered {
			t.Errorf("%+v is %s, want %s", p, got, want)
		}
	}
	if got, want := dotText([][]cell{row, {"3n", "4l"}}, 1, 1), "10 % load, a stall of 750ms: recovers within a minute in 4 of 10 runs"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
