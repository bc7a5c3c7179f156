package lab

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
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
				noError(t, err)
				fmt.Fprintf(&text, "%s\t%s\n", mapName(p, stall), strings.Trim(fmt.Sprint(row), "[]"))
			}
		}
		noError(t, os.WriteFile("testdata/map.txt", []byte(text.String()), 0o600))
		return
	}
	all, err := parseMap(mapText)
	noError(t, err)
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
			noError(t, err)
			for _, c := range columns { // a dot has the verdict of its cell, and the picture of one of the runs in the middle
				run, err := mapScene(t.Context(), mapState(i, at, c))
				noError(t, err)
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

// The map's measures, in units of which 480 are its width. A cell is a load and a length of the stall.
const (
	mapLeft, mapTop       = 56, 26
	cellWidth, cellHeight = 22, 16
	mapHeight             = 286
)

// The first dot of the map: its policy, and its row. Its column is the default load.
const mapPolicy = 1

// mapState returns the state of a cell of the map.
func mapState(policy, row, column int) State {
	s := Default()
	s.Strategies, s.Stall, s.Load = mapPolicies()[policy:policy+1], mapStalls[row], int(mapLoad(column)+0.5)
	return s
}

// mapHTML writes the map, with the dot at the default load and stall, and the run of that dot.
func mapHTML(ctx context.Context, b *strings.Builder) error {
	counts, err := parseMap(mapText)
	if err != nil {
		return err
	}
	d := Default()
	row := slices.Index(mapStalls, d.Stall)
	column := d.Load*(mapLoads+1)/d.Rate - 1
	at := mapState(mapPolicy, row, column)
	run, err := mapScene(ctx, at)
	if err != nil {
		return err
	}
	data, err := json.Marshal(counts)
	if err != nil {
		return err
	}
	stalls := make([]string, len(mapStalls))
	for i, s := range mapStalls {
		stalls[i] = axis.Time(s)
	}
	fmt.Fprintf(b, `<section id="map" class="screen" aria-labelledby="screen-map" data-counts="%s" data-runs="%d" data-stalls="%s" data-rate="%d"><div class="words"><h2 id="screen-map">How much load is safe?</h2>`+
		`<p>Each cell is %d runs with one load and one stall, until up to 5 minutes after it. A load is safe if the server recovers within a minute in all of them. Drag the dot to a cell to see its median run.</p>`+
		`<fieldset class="policies"><legend>Safe load, at a stall of <b class="stall-length">%s</b></legend>`,
		html.EscapeString(string(data)), mapRuns, strings.Join(stalls, " "), d.Rate, mapRuns, axis.Time(d.Stall))
	for i, p := range mapPolicies() {
		checked := ""
		if i == mapPolicy {
			checked = " checked"
		}
		fmt.Fprintf(b, `<label><input type="radio" name="map" value="%d" data-policy="%s"%s> <span>%s</span> <b class="badge">%s</b></label>`,
			i, html.EscapeString(p.String()), checked, html.EscapeString(p.Title()), safeText(counts[i][row]))
	}
	b.WriteString("</fieldset>")
	mapPicture(b, counts, row, column)
	b.WriteString(`<p class="legend">recovers in the worst run: `)
	for _, w := range worsts {
		fmt.Fprintf(b, `<span><span class="key %s"></span>%s</span> `, w.class, w.text)
	}
	b.WriteString("</p></div>")
	fmt.Fprintf(b, `<div><figure data-query="%s">%s</figure><p class="ask"><button type="button" class="play">Stall it for %s</button> <a class="to-lab" href="?%[1]s">Open it in the lab</a></p></div></section>`+"\n",
		html.EscapeString(at.Query().Encode()), run.HTML(), axis.Time(at.Stall))
	return nil
}

// safeText returns up to which load a row is safe.
func safeText(row []cell) string {
	n := safe(row)
	if n == 0 {
		return "none of these"
	}
	return fmt.Sprintf("up to %d %%", 100*n/(mapLoads+1))
}

// dotText describes a cell of a policy, as the script does when the dot has moved.
func dotText(of [][]cell, row, column int) string {
	return fmt.Sprintf("%d %% load, a stall of %s: recovers within a minute in %d of %d runs", 100*(column+1)/(mapLoads+1), axis.Time(mapStalls[row]), of[row][column].recovered(), mapRuns)
}

// mapPicture draws the cells of all policies, of which the style shows those of the chosen one, and the dot.
func mapPicture(b *strings.Builder, counts [][][]cell, row, column int) {
	rows := len(mapStalls)
	y := func(row int) int { return mapTop + (rows-1-row)*cellHeight }
	fmt.Fprintf(b, `<svg class="map" viewBox="0 0 480 %d" role="group" aria-label="Recovery against load and length of the stall" data-left="%d" data-top="%d" data-width="%d" data-height="%d">`,
		mapHeight, mapLeft, mapTop, cellWidth, cellHeight)
	for i, of := range counts {
		paths := make([]strings.Builder, len(worsts))
		for r, cells := range of {
			for c, x := range cells {
				fmt.Fprintf(&paths[x.class()], "M%d %dh%dv%dh-%dz", mapLeft+c*cellWidth, y(r), cellWidth-1, cellHeight-1, cellWidth-1)
			}
		}
		fmt.Fprintf(b, `<g class="cells cells-%d">`, i)
		for k, w := range worsts {
			fmt.Fprintf(b, `<path class="%s" d="%s"/>`, w.class, &paths[k])
		}
		b.WriteString("</g>")
	}
	for r, s := range mapStalls {
		if r%2 == 0 && r < rows-2 || r == rows-1 {
			fmt.Fprintf(b, `<text text-anchor="end" x="%d" y="%d">%s</text>`, mapLeft-6, y(r)+cellHeight-3, axis.Time(s))
		}
	}
	bottom := mapTop + rows*cellHeight
	for c := 3; c < mapLoads; c += 4 {
		fmt.Fprintf(b, `<text text-anchor="middle" x="%d" y="%d">%d %%</text>`, mapLeft+c*cellWidth+cellWidth/2, bottom+16, 100*(c+1)/(mapLoads+1))
	}
	fmt.Fprintf(b, `<text x="2" y="14">length of the stall</text><text text-anchor="end" x="%d" y="%d">load, of the capacity</text>`, mapLeft+mapLoads*cellWidth, bottom+34)
	fmt.Fprintf(b, `<g class="dot" role="slider" tabindex="0" aria-label="Load and stall" aria-valuemin="0" aria-valuemax="%d" aria-valuenow="%d" aria-valuetext="%s" data-row="%d" data-column="%d" transform="translate(%d %d)"><circle r="18"/><circle r="8"/><g class="here" transform="translate(-66 0)"><rect x="-54" y="-10" width="108" height="20" rx="4"/><text text-anchor="middle" y="5">you are here</text></g></g></svg>`,
		rows*mapLoads-1, row*mapLoads+column, dotText(counts[mapPolicy], row, column), row, column, mapLeft+column*cellWidth+cellWidth/2, y(row)+cellHeight/2)
}
