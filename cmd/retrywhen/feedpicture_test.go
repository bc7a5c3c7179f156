package main

import (
	"strconv"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
)

// feedPicture returns README's picture: one feed over time, with four breaks, for the usual loop and for Resume. Its
// figures are drawn, not measured: docs/recipes.md explains the loop.
func feedPicture() picture.Figure {
	sent := []float64{6, 14, 25, 36, 47, 58, 70, 92} // events 1 to 8
	breaks := []struct {
		at, back float64
		name     string
	}{{18, 22, "cut"}, {40, 44, "clean end"}, {62, 76, "silence"}, {83, 88, "refused"}}
	panel := func(title string, handled map[int][]float64, wrong map[int]bool, positions bool) picture.Panel {
		p := picture.Panel{Title: title, X: picture.Axis{Most: 100}, Y: picture.Axis{Most: 3}, Height: 120}
		from := 0.0
		for _, b := range breaks {
			p.Marks = append(p.Marks, picture.Rule{X: b.at, Most: 3, Label: b.name, Color: picture.Muted},
				picture.Line{Points: []picture.Point{{X: from, Y: 1}, {X: b.at, Y: 1}}, Color: picture.Series(0), Width: 2})
			from = b.back
		}
		p.Marks = append(p.Marks, picture.Line{Points: []picture.Point{{X: from, Y: 1}, {X: 100, Y: 1}}, Color: picture.Series(0), Width: 2})
		for i, at := range sent {
			n := i + 1
			p.Marks = append(p.Marks, picture.Dots{Points: []picture.Point{{X: at, Y: 2}}, Color: picture.Plain, Radius: 4},
				picture.Text{At: picture.Point{X: at, Y: 2.25}, Text: strconv.Itoa(n), Color: picture.Muted})
			c := picture.Series(2)
			if wrong[n] {
				c = picture.Alarm
			}
			for _, h := range handled[n] {
				p.Marks = append(p.Marks, picture.Dots{Points: []picture.Point{{X: h, Y: 1}}, Color: c, Radius: 5},
					picture.Text{At: picture.Point{X: h, Y: 0.5}, Text: strconv.Itoa(n), Color: c})
			}
			if len(handled[n]) == 0 {
				p.Marks = append(p.Marks, picture.Text{At: picture.Point{X: at, Y: 0.5}, Text: strconv.Itoa(n) + " is lost", Color: picture.Alarm})
			}
		}
		if positions {
			for i, after := range []string{"connect after 2", "connect after 4", "connect after 6", "connect after 7"} {
				p.Marks = append(p.Marks, picture.Text{At: picture.Point{X: breaks[i].back + 2, Y: 0.1}, Text: after, Color: picture.Muted})
			}
		}
		return p
	}
	return picture.Figure{
		Columns: 1, Width: 860,
		Keys: []picture.Key{{Name: "sent by the server", Colors: []picture.Color{picture.Plain}}, {Name: "handled", Colors: []picture.Color{picture.Series(2)}},
			{Name: "lost, or handled twice", Colors: []picture.Color{picture.Alarm}}, {Name: "connected", Colors: []picture.Color{picture.Series(0)}}},
		Panels: []picture.Panel{
			panel("The usual loop", map[int][]float64{1: {7}, 2: {15}, 3: {26}, 4: {37, 45.5}, 5: {48}, 6: {59}, 8: {93}}, map[int]bool{4: true}, false),
			panel("Resume", map[int][]float64{1: {7}, 2: {15}, 3: {26}, 4: {37}, 5: {48}, 6: {59}, 7: {77.5}, 8: {93}}, nil, true),
		},
	}
}
