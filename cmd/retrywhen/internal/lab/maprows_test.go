package lab

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

// The map says for each policy, length of the stall and load in how many of mapRuns runs the server recovers, and how
// soon in the worst of them. The runs are those of
//
//	retrywhen sim boundary --stall STALL POLICY
//
// Computing them takes minutes. So they are in testdata/map.txt, which go test -run TestMap -update writes.
const (
	mapRuns  = 10
	mapLoads = 19 // evenly spaced below the capacity
)

//go:embed testdata/map.txt
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

// cell is a cell of the map: the number of runs in which the server recovers, and the last letter of their worst.
type cell string

// worsts are the classes of a cell by its letter: when the server has recovered in the worst run.
var worsts = []struct {
	letter      byte
	class, text string
}{{'a', "once", "at once"}, {'m', "soon", "within a minute"}, {'l', "later", "later"}, {'n', "none", "not"}}

func newCell(p sim.BoundaryPoint) cell {
	letter := worsts[0].letter
	switch {
	case p.Recovered+p.Late < p.Runs:
		letter = 'n'
	case p.Late > 0:
		letter = 'l'
	case p.After.Most > 0:
		letter = 'm'
	}
	return cell(strconv.Itoa(p.Recovered) + string(letter))
}

// recovered returns the number of runs.
func (c cell) recovered() int {
	n, _ := strconv.Atoi(string(c[:len(c)-1]))
	return n
}

// class returns the index of the cell's class; -1 if the cell is wrong.
func (c cell) class() int {
	if _, err := strconv.Atoi(string(c[:len(c)-1])); err != nil {
		return -1
	}
	return strings.IndexByte("amln", c[len(c)-1])
}

// mapRow computes the cells of a row.
func mapRow(ctx context.Context, policy report.Strategy, stall time.Duration, loads []float64) ([]cell, error) {
	b := report.Boundary{Overload: report.DefaultOverload(), Loads: loads}
	b.Strategies, b.Trigger.For, b.Runs = []report.Strategy{policy}, stall, mapRuns
	r, err := b.Run(ctx)
	if err != nil {
		return nil, err
	}
	row := make([]cell, len(loads))
	for i, p := range r.Points {
		row[i] = newCell(p)
	}
	return row, nil
}

// mapLoad returns the load of a column, in operations per second.
func mapLoad(column int) float64 {
	return float64(column+1) / (mapLoads + 1) / report.DefaultOverload().Service.Mean.Seconds()
}

// parseMap returns the cells of testdata/map.txt, by policy, stall and load.
func parseMap(text string) ([][][]cell, error) {
	rows := map[string][]cell{}
	for line := range strings.Lines(text) {
		name, cells, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		for word := range strings.FieldsSeq(cells) {
			if cell(word).class() < 0 {
				return nil, fmt.Errorf("map.txt: %q is no cell, want as in 10a", word)
			}
			rows[name] = append(rows[name], cell(word))
		}
	}
	var all [][][]cell
	for _, p := range mapPolicies() {
		var of [][]cell
		for _, stall := range mapStalls {
			row := rows[mapName(p, stall)]
			if len(row) != mapLoads {
				return nil, fmt.Errorf("map.txt has %d cells for %q, want %d", len(row), mapName(p, stall), mapLoads)
			}
			of = append(of, row)
		}
		all = append(all, of)
	}
	return all, nil
}

// mapName is the name of a row in testdata/map.txt.
func mapName(p report.Strategy, stall time.Duration) string { return fmt.Sprintf("%s, %v", p, stall) }

// safe returns the number of loads, from the lowest on, from which the server recovers in all runs.
func safe(row []cell) int {
	for i, c := range row {
		if c.recovered() < mapRuns {
			return i
		}
	}
	return len(row)
}
