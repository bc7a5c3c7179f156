package lab

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// The map says for each policy, length of the stall and load in how many of mapRuns runs the server recovers. The runs
// are those of
//
//	retrywhen sim boundary --stall STALL POLICY
//
// Computing them takes minutes. So they are in map.txt, which go test -run TestMap -update writes.
const (
	mapRuns  = 10
	mapLoads = 19 // evenly spaced below the capacity
)

//go:embed map.txt
var mapText string

// mapStalls are the lengths of the stall.
var mapStalls = []time.Duration{
	500 * time.Millisecond, 750 * time.Millisecond, time.Second, 1500 * time.Millisecond, 2 * time.Second, 3 * time.Second,
	5 * time.Second, 7 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute,
}

// mapPolicies returns the policies of the map.
func mapPolicies() []report.Strategy {
	const three, budget = "exponential base=100ms factor=2 cap=10s jitter=full limit=3", " budget=10,1,0.1"
	return must(
		"no retry: constant d=0s limit=0",
		"3 retries: "+three,
		"3 retries, a budget: "+three+budget,
		"… in 2,000 processes: "+three+budget+" processes=2000",
	)
}

// mapRow computes in how many runs the server recovers, for each of the loads.
func mapRow(ctx context.Context, policy report.Strategy, stall time.Duration, loads []float64) ([]int, error) {
	b := report.Boundary{Overload: report.DefaultOverload(), Loads: loads}
	b.Strategies, b.Trigger.For, b.Runs = []report.Strategy{policy}, stall, mapRuns
	r, err := b.Run(ctx)
	if err != nil {
		return nil, err
	}
	row := make([]int, len(loads))
	for i, p := range r.Points {
		row[i] = p.Recovered
	}
	return row, nil
}

// mapLoad returns the load of a column, in operations per second.
func mapLoad(column int) float64 {
	return float64(column+1) / (mapLoads + 1) / report.DefaultOverload().Service.Mean.Seconds()
}

// parseMap returns the numbers of map.txt, by policy, stall and load.
func parseMap(text string) ([][][]int, error) {
	rows := map[string][]int{}
	for line := range strings.Lines(text) {
		name, numbers, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for word := range strings.FieldsSeq(numbers) {
			n, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("map.txt: %w", err)
			}
			rows[name] = append(rows[name], n)
		}
	}
	var all [][][]int
	for _, p := range mapPolicies() {
		var of [][]int
		for _, stall := range mapStalls {
			row := rows[mapName(p, stall)]
			if len(row) != mapLoads {
				return nil, fmt.Errorf("map.txt has %d numbers for %q, want %d", len(row), mapName(p, stall), mapLoads)
			}
			of = append(of, row)
		}
		all = append(all, of)
	}
	return all, nil
}

// mapName is the name of a row in map.txt.
func mapName(p report.Strategy, stall time.Duration) string { return fmt.Sprintf("%s, %v", p, stall) }

// safe returns the number of loads, from the lowest on, from which the server recovers in all runs.
func safe(row []int) int {
	for i, n := range row {
		if n < mapRuns {
			return i
		}
	}
	return len(row)
}
