package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strings"
)

const chartStyle = `.ours { fill: #0a7d55 } .others { fill: #b3bcc7 } .ink { fill: #1f2933 } .faint { fill: #5f6b7a } .paper { fill: #ffffff } .grid { stroke: #e4e8ec }
@media (prefers-color-scheme: dark) { .ours { fill: #2fc49a } .others { fill: #6e7681 } .ink { fill: #e6edf3 } .faint { fill: #9da7b3 } .paper { fill: #0d1117 } .grid { stroke: #2d333b } }`

// chart draws the benchmarks under a prefix as horizontal bars, the shortest first, in nanoseconds on a logarithmic
// scale from 1 up. A second unit, unless empty, is written after the bars in bytes.
func (r *raw) chart(title, prefix, unit, second string) []byte {
	const width, line, left, right, top = 760.0, 26.0, 250.0, 160.0, 74.0
	names := r.under(prefix, unit)
	most := 10.0
	for _, name := range names {
		v, _ := r.summary(name, unit)
		most = max(most, v.Center*1e9)
	}
	decades := math.Ceil(math.Log10(most))
	x := func(v float64) float64 {
		return math.Round(10*(left+(width-left-right)*math.Log10(max(v, 1))/decades)) / 10
	}
	base := top + line*float64(len(names))
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>%s</title>
<style>%s</style>
<rect class="paper grid" x="0.5" y="0.5" width="%g" height="%g" rx="8"/>
<text class="ink" x="20" y="30" font-size="17" font-weight="600">%[3]s</text>
<text class="faint" x="20" y="50" font-size="12">nanoseconds, logarithmic scale; %[7]s; %[8]s</text>
`, width, base+34, html.EscapeString(title), chartStyle, width-1, base+33, html.EscapeString(r.config["cpu"]), html.EscapeString(r.config["toolchain"]))
	for d := range int(decades) + 1 {
		v := math.Pow(10, float64(d))
		fmt.Fprintf(&out, `<line class="grid" x1="%[1]g" y1="%[2]g" x2="%[1]g" y2="%[3]g"/><text class="faint" x="%[1]g" y="%[4]g" text-anchor="middle" font-size="11">%.0[5]f ns</text>
`, x(v), top-4, base, base+18, v)
	}
	for i, name := range names {
		v, _ := r.summary(name, unit)
		way := strings.TrimPrefix(name, prefix)
		class, note := "others", ""
		if strings.HasPrefix(way, "retrywhen") {
			class = "ours"
		}
		if held, ok := r.summary(name, second); ok {
			note = "holds nothing"
			if held.Center >= 16 {
				note = fmt.Sprintf("holds %.0f B", held.Center)
			}
		}
		y, end := top+line*float64(i), max(x(v.Center*1e9), left+2)
		fmt.Fprintf(&out, `<text class="ink" x="%g" y="%g" text-anchor="end">%s</text><rect class="%s" x="%g" y="%g" width="%.1f" height="16" rx="2"/><text class="ink" x="%.1f" y="%[2]g">%[9]s<tspan class="faint" dx="5">%[10]s</tspan></text>
`, left-10, y+13, html.EscapeString(way), class, left, y, end-left, end+7, digits(v.Center*1e9), note)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}
