package report

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// Tiles shows what Tiled does: the retries of a few jobs under one curve, without jitter, with full jitter, and tiled.
type Tiles struct {
	Sentence string    `json:"sentence"`
	Axis     Axis      `json:"axis"`
	Ends     []Seconds `json:"ends"` // of the tiles
	Rows     []TileRow `json:"rows"`
}

// TileRow is one of the three.
type TileRow struct {
	Title string      `json:"title"`
	Times [][]Seconds `json:"times"` // of each job
}

const (
	tileJobs    = 16
	tileRetries = 4
)

// tilesOf returns the Tiles for the curve of the herd's first tiled strategy.
func tilesOf(h Herd) *Tiles {
	curve := "linear d=1s"
	for _, x := range h.Strategies {
		if x.Policy.Backoff().IsTiled() {
			var words []string
			for _, w := range x.Policy.Backoff().Words() {
				if !slices.Contains([]string{"tiled", "key", "ordinal"}, w.Name) {
					words = append(words, w.String())
				}
			}
			curve = strings.Join(words, " ")
			break
		}
	}
	t := &Tiles{}
	var end time.Duration
	for _, way := range []struct{ title, text string }{
		{"without jitter", curve}, {"full jitter", curve + " jitter=full"}, {"tiled", curve + " tiled"},
	} {
		policy, err := retry.Parse(way.text)
		if err != nil {
			panic(err) // not a curve's own words
		}
		r, err := sim.Herd{Policy: policy, Jobs: tileJobs, Retries: tileRetries, Seed: h.Seed}.Run(context.Background())
		if r == nil {
			panic(err) // a valid herd
		}
		row := TileRow{Title: way.title}
		for job := range r.Jobs {
			var times []Seconds
			for k := range r.Retries {
				if at := r.At(job, k+1); at != sim.Never {
					times = append(times, Seconds(at))
				}
			}
			row.Times = append(row.Times, times)
		}
		if end == 0 && len(row.Times) > 0 {
			t.Ends = row.Times[0]
		}
		end = max(end, r.End)
		t.Rows = append(t.Rows, row)
	}
	t.Axis = newAxis(end)
	t.Sentence = fmt.Sprintf("Tiled divides the time into tiles. Each is as long as a wait of %s, and each job keeps its place in all of them. "+
		"Without jitter all retries come at the end of a tile. With full jitter they come at random. Tiled, they come evenly.", quoted(curve))
	return t
}
