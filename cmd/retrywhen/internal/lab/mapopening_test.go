package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
)

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
