package picture

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
)

func example() Figure {
	p := Panel{
		Title: "a < b & c", X: Axis{Label: "time", Most: 10, Ticks: axis.Numbers(10, 5)}, Y: Axis{Label: "jobs", Most: 4, Ticks: axis.Numbers(4, 4)},
		Marks: []Mark{
			Dots{Points: []Point{{0, 0}, {10, 4}}, Color: Series(1), Radius: 2},
			Line{Points: []Point{{0, 0}, {5, 2}, {math.NaN(), 0}, {6, 1}}, Color: Retry(0, 3), Width: 1},
			Band{Low: []Point{{0, 0}, {1, 1}}, High: []Point{{0, 2}, {1, 3}}, Color: Series(0)},
			Bars{Bars: []Bar{{0, 5, 4}, {5, 10, 0}}, Color: Plain},
			Rule{X: 3, Most: 4, Label: "back"}, Level{Y: 2, Most: 10, Label: "capacity"},
		},
	}
	return Figure{Note: "note", Columns: 2, Panels: []Panel{p, p, {}}, Keys: []Key{{"one", []Color{Series(0)}}, {"two\x00", []Color{Series(0), Series(1)}}}}
}

// drawn returns the SVG of a figure.
func drawn(t *testing.T, f Figure) string {
	t.Helper()
	var b strings.Builder
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// labels returns the texts of the document. It fails the test if the document is not well formed.
func labels(t *testing.T, svg string) []string {
	t.Helper()
	var found []string
	inText := false
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		switch x := token.(type) {
		case xml.StartElement:
			inText = x.Name.Local == "text"
		case xml.CharData:
			if inText {
				found = append(found, string(x))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestSVG(t *testing.T) {
	svg := drawn(t, example())
	got := strings.Join(labels(t, svg), "|")
	for _, want := range []string{"one|two", "a < b & c", "0|2|4|6|8|10|0|1|2|3|4|back|capacity|capacity|time|jobs", "note"} {
		if !strings.Contains(got, want) {
			t.Errorf("the texts are %q, want %q among them", got, want)
		}
	}
	if strings.Contains(svg, "var(") {
		t.Error("the picture has a variable, which librsvg does not have")
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error(svg)
	}
	if !strings.Contains(svg, "prefers-color-scheme:dark") {
		t.Error("the picture is not dark where its reader's system is")
	}
}

// A point is drawn at its position on the axes.
func TestPlaces(t *testing.T) {
	f := Figure{Columns: 1, Width: left + 100 + right, Panels: []Panel{{
		X: Axis{Most: 10}, Y: Axis{Most: 4}, Height: 200,
		Marks: []Mark{Dots{Points: []Point{{0, 0}, {10, 4}, {5, 1}}, Radius: 2}},
	}}}
	bottom := margin + untitled + 200
	want := fmt.Sprintf(`d="M%d %dh0M%d %dh0M%d %dh0"`, left, bottom, left+100, bottom-200, left+50, bottom-50)
	if svg := drawn(t, f); !strings.Contains(svg, want) {
		t.Errorf("want %s in\n%s", want, svg)
	}
}

func TestEmptyFigure(t *testing.T) {
	for _, f := range []Figure{{Columns: 1}, {Columns: 2, Panels: []Panel{{Marks: []Mark{Dots{}, Line{}, Band{}, Bars{}, Rule{}}}}}} {
		svg := drawn(t, f)
		if labels(t, svg); strings.Contains(svg, "NaN") {
			t.Error(svg)
		}
	}
}

// The labels of lines that end at one point do not overlap, and stay within the panel.
func TestLabels(t *testing.T) {
	p := Panel{X: Axis{Most: 10}, Y: Axis{Most: 4}, Height: 100}
	for i := range 5 {
		p.Series(i, fmt.Sprint("line ", i), 2, []Point{{0, 0}, {5, 4}, {math.NaN(), 0}})
	}
	svg, before := drawn(t, Figure{Columns: 1, Panels: []Panel{p}}), 0.0
	for _, found := range regexp.MustCompile(`y="([\d.]+)"[^>]*>line`).FindAllStringSubmatch(svg, -1) {
		y, err := strconv.ParseFloat(found[1], 64)
		if err != nil || y < before+labelHeight || y > margin+untitled+100 {
			t.Errorf("a label at %v after one at %v, %v", y, before, err)
		}
		before = y
	}
	if before == 0 || strings.Contains(svg, "NaN") {
		t.Error(svg)
	}
}

// Readers with deuteranopia can distinguish any two series, and all can see them: a difference of CIE76 is large from
// about 20 on, and WCAG wants a contrast of 3 to the paper.
func TestSeriesAreDistinct(t *testing.T) {
	for _, dark := range []bool{false, true} {
		ground := luminance(rgb(t, paper.Hex(dark)))
		for i := range seriesColors {
			a := rgb(t, Series(i).Hex(dark))
			if bright, dim := max(luminance(a), ground), min(luminance(a), ground); (bright+0.05)/(dim+0.05) < 3 {
				t.Errorf("%s is too near to the paper", Series(i).Hex(dark))
			}
			for j := range i {
				b := rgb(t, Series(j).Hex(dark))
				if d, seen := apart(a, b), apart(deuteranopia(a), deuteranopia(b)); d < 25 || seen < 25 {
					t.Errorf("%s and %s differ by %.0f, and with deuteranopia by %.0f, want 25", Series(i).Hex(dark), Series(j).Hex(dark), d, seen)
				}
			}
		}
	}
}

// rgb returns the linear components of a color.
func rgb(t *testing.T, hex string) (c [3]float64) {
	t.Helper()
	var parts [3]int
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &parts[0], &parts[1], &parts[2]); err != nil {
		t.Fatal(err)
	}
	for i, p := range parts {
		if x := float64(p) / 255; x <= 0.04045 {
			c[i] = x / 12.92
		} else {
			c[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return c
}

func times(m [3][3]float64, v [3]float64) (out [3]float64) {
	for i, row := range m {
		for j, x := range row {
			out[i] += x * v[j]
		}
	}
	return out
}

// deuteranopia returns the color as it is seen without green cones: Machado, Oliveira and Fernandes, "A
// Physiologically-based Model for Simulation of Color Vision Deficiency" (2009).
func deuteranopia(c [3]float64) [3]float64 {
	c = times([3][3]float64{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}, c)
	for i := range c {
		c[i] = min(max(c[i], 0), 1)
	}
	return c
}

// toXYZ leads from sRGB to XYZ with a white of D65.
var toXYZ = [3][3]float64{{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}

func luminance(c [3]float64) float64 { return times(toXYZ, c)[1] }

// apart returns the distance of two colors in CIELAB.
func apart(a, b [3]float64) float64 {
	lab := func(c [3]float64) [3]float64 {
		var f [3]float64
		for i, x := range times(toXYZ, c) {
			x /= [3]float64{0.95047, 1, 1.08883}[i]
			if f[i] = math.Cbrt(x); x <= 216.0/24389 {
				f[i] = (24389.0/27*x + 16) / 116
			}
		}
		return [3]float64{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])}
	}
	x, y, sum := lab(a), lab(b), 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}

func TestColors(t *testing.T) {
	if Series(0) != Series(seriesColors) || Series(1) == Series(0) {
		t.Error("series do not go round")
	}
	if Retry(0, 5) != firstRetry || Retry(4, 5) != firstRetry+retryColors-1 || Retry(1, 2) != firstRetry+retryColors-1 || Retry(0, 1) != firstRetry || Retry(99, 100) >= colors {
		t.Error("retries do not go from the first color to the last")
	}
}

// An entry of the legend needs room for its dots and its name. A row holds as many entries as fit.
func TestKeyRows(t *testing.T) {
	one, three := Key{"five5", []Color{Ink}}, Key{"five5", []Color{Ink, Ink, Ink}}
	for _, test := range []struct {
		keys  []Key
		room  float64
		first int // entries of the first row
	}{
		{[]Key{three, three}, 198, 2}, {[]Key{three, three}, 197, 1}, {[]Key{one, one, one}, 213, 3}, {[]Key{one, one, one}, 212, 2}, {[]Key{three}, 1, 1},
	} {
		rows := Figure{Width: left + test.room + right, Keys: test.keys}.keyRows()
		if len(rows[0]) != test.first || len(rows) == 1 != (test.first == len(test.keys)) {
			t.Errorf("%d entries in a room of %v: the rows %v, want %d in the first", len(test.keys), test.room, rows, test.first)
		}
	}
}
