package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
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
			Rule{X: 3, Most: 4, Label: "back"},
		},
	}
	return Figure{Note: "note", Columns: 2, Panels: []Panel{p, p, {}}, Keys: []Key{{"one", Series(0)}, {"two\x00", Series(1)}}}
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
	var b bytes.Buffer
	if err := example().SVG(&b); err != nil {
		t.Fatal(err)
	}
	svg := b.String()
	got := strings.Join(labels(t, svg), "|")
	for _, want := range []string{"one|two", "a < b & c", "0|2|4|6|8|10|0|1|2|3|4|back|time|jobs", "note"} {
		if !strings.Contains(got, want) {
			t.Errorf("the texts are %q, want %q among them", got, want)
		}
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
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	bottom := margin + untitled + 200
	want := fmt.Sprintf(`d="M%d %dh0M%d %dh0M%d %dh0"`, left, bottom, left+100, bottom-200, left+50, bottom-50)
	if !strings.Contains(b.String(), want) {
		t.Errorf("want %s in\n%s", want, b.String())
	}
}

func TestEmptyFigure(t *testing.T) {
	for _, f := range []Figure{{Columns: 1}, {Columns: 2, Panels: []Panel{{Marks: []Mark{Dots{}, Line{}, Band{}, Bars{}, Rule{}}}}}} {
		var b bytes.Buffer
		if err := f.SVG(&b); err != nil {
			t.Error(err)
		}
		labels(t, b.String())
		if strings.Contains(b.String(), "NaN") {
			t.Error(b.String())
		}
	}
}

func TestColors(t *testing.T) {
	if Series(0) != Series(seriesColors) || Series(1) == Series(0) {
		t.Error("series do not go round")
	}
	if Retry(0, 5) != firstRetry || Retry(4, 5) != firstRetry+retryColors-1 || Retry(0, 1) != firstRetry || Retry(99, 100) >= colors {
		t.Error("retries do not go from the first color to the last")
	}
}
