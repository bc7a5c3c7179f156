package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// bar is one bar of a chart.
type bar struct {
	label string
	value float64
	note  string // written after the value
	ours  bool
}

// The measures of a chart, in pixels.
const (
	width, row, thick  = 760.0, 26.0, 16.0
	left, right        = 250.0, 150.0
	top, bottom        = 74.0, 34.0
	ours, others, ink  = "#0a7d55", "#b3bcc7", "#1f2933"
	paper, faint, grid = "#ffffff", "#5f6b7a", "#e4e8ec"
)

// dark takes the place of these colors on a dark page.
var dark = []struct{ attribute, color, instead string }{
	{"fill", ours, "#2fc49a"}, {"fill", others, "#6e7681"}, {"fill", ink, "#e6edf3"},
	{"fill", paper, "#0d1117"}, {"fill", faint, "#9da7b3"}, {"stroke", grid, "#2d333b"},
}

// chart draws horizontal bars, the shortest first, on a logarithmic scale from 1 up.
func chart(title, subtitle string, bars []bar) []byte {
	slices.SortStableFunc(bars, func(a, b bar) int { return cmp.Compare(a.value, b.value) })
	most := 10.0
	for _, b := range bars {
		most = max(most, b.value)
	}
	decades := math.Ceil(math.Log10(most))
	x := func(v float64) float64 {
		return left + (width-left-right)*math.Log10(max(v, 1))/decades
	}
	height := top + row*float64(len(bars)) + bottom
	var night strings.Builder
	for _, d := range dark {
		fmt.Fprintf(&night, " [%[1]s=%[2]q] {%[1]s: %[3]s}", d.attribute, d.color, d.instead)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]g" height="%[2]g" viewBox="0 0 %[1]g %[2]g" role="img" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="13">
<title>%[3]s</title>
<style>@media (prefers-color-scheme: dark) {%[11]s}</style>
<rect x="0.5" y="0.5" width="%[4]g" height="%[5]g" rx="8" fill="%[6]s" stroke="%[7]s"/>
<text x="20" y="30" font-size="17" font-weight="600" fill="%[8]s">%[3]s</text>
<text x="20" y="50" font-size="12" fill="%[9]s">%[10]s</text>
`, width, height, html.EscapeString(title), width-1, height-1, paper, grid, ink, faint, html.EscapeString(subtitle), night.String())
	base := top + row*float64(len(bars))
	for d := 0.0; d <= decades; d++ {
		v := math.Pow(10, d)
		fmt.Fprintf(&out, `<line x1="%[1]g" y1="%[2]g" x2="%[1]g" y2="%[3]g" stroke="%[4]s"/><text x="%[1]g" y="%[5]g" text-anchor="middle" font-size="11" fill="%[6]s">%[7]s ns</text>
`, round(x(v)), top-4, base, grid, base+18, faint, digits3(v))
	}
	for i, b := range bars {
		y := top + row*float64(i)
		fill, weight := others, "400"
		if b.ours {
			fill, weight = ours, "600"
		}
		fmt.Fprintf(&out, `<text x="%g" y="%g" text-anchor="end" fill="%s" font-weight="%s">%s</text>`+
			`<rect x="%g" y="%g" width="%g" height="%g" rx="2" fill="%s"/>`+
			`<text x="%g" y="%g" fill="%s"><tspan font-weight="600">%s</tspan><tspan fill="%s"> %s</tspan></text>
`,
			left-10, y+thick-3, ink, weight, html.EscapeString(b.label),
			left, y, max(round(x(b.value)-left), 2), thick, fill,
			round(max(x(b.value), left+2)+7), y+thick-3, ink, digits3(b.value), faint, html.EscapeString(b.note))
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// round keeps a tenth of a pixel.
func round(v float64) float64 { return math.Round(v*10) / 10 }

// digits3 is digits without a zero that says nothing.
func digits3(v float64) string {
	text := digits(v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// plainLabel is a label without what Markdown needs.
func (r *results) plainLabel(way string) string {
	return strings.NewReplacer("*", "", "`", "").Replace(r.label(way))
}

func (r *results) itemsChart() []byte {
	var bars []bar
	add := func(kind, way, label string) {
		if v, ok := r.get("Items/"+kind+"/"+way, "sec/item"); ok {
			if label == "" {
				label = r.plainLabel(way)
			}
			bars = append(bars, bar{label: label, value: v * 1e9, ours: strings.HasPrefix(way, "retrywhen")})
		}
	}
	for _, way := range []string{"loop", "iter.Seq"} {
		add("plain", way, "")
	}
	add("plain", "retrywhen", "retrywhen")
	add("retried", "retrywhen", "retrywhen, with RetryWhen")
	for _, way := range []string{
		"cilium-stream", "samber-ro", "channels-buffered", "channels-buffered-select", "destel-rill", "sourcegraph-conc",
		"channels", "channels-select", "rxgo",
	} {
		add("plain", way, "")
	}
	return chart("One item through map, filter and reduce",
		fmt.Sprintf("nanoseconds, logarithmic scale; a million ints; %s, %s", r.Machine, r.Go), bars)
}

func (r *results) resubscribeChart() []byte {
	var bars []bar
	for _, way := range ways("Resubscribe/", r) {
		name := "Resubscribe/" + way
		v, _ := r.get(name, "sec/failure")
		held, _ := r.get(name, "B-held/failure")
		note := "holds nothing"
		if held >= 16 {
			note = fmt.Sprintf("holds %.0f B", held)
		}
		bars = append(bars, bar{label: r.plainLabel(way), value: v * 1e9, note: note, ours: strings.HasPrefix(way, "retrywhen")})
	}
	return chart("One failure and the subscription after it",
		fmt.Sprintf("nanoseconds, logarithmic scale, and what is held for each failure; 10,000 in a row, no delay; %s", r.Machine), bars)
}
