package report

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
)

// written is a text of a picture, with the box that it needs.
type written struct {
	text                     string
	left, right, top, bottom float64
}

// texts returns the texts of an SVG, as wide as a usual font makes them, and the size of its view box.
func texts(t *testing.T, svg string) (all []written, width, height float64) {
	t.Helper()
	number := func(attributes map[string]string, name string) float64 {
		x, err := strconv.ParseFloat(attributes[name], 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	var last *written
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, width, height
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			attributes := map[string]string{}
			for _, a := range x.Attr {
				attributes[a.Name.Local] = a.Value
			}
			if x.Name.Local == "svg" {
				width, height = number(attributes, "width"), number(attributes, "height")
			}
			if last = nil; x.Name.Local != "text" || attributes["aria-hidden"] != "" {
				continue
			}
			var at, size = number(attributes, "x"), number(attributes, "font-size")
			var y = number(attributes, "y")
			all = append(all, written{"", at, size * map[string]float64{"": 0.51, "600": 0.57}[attributes["font-weight"]], y - 0.75*size, y + 0.2*size})
			last = &all[len(all)-1]
			if a := attributes["text-anchor"]; a != "start" {
				last.text = a
			}
		case xml.CharData:
			if last == nil {
				continue
			}
			wide := last.right * float64(len([]rune(string(x)))) // until now the width of a letter
			switch last.text {
			case "end":
				last.left -= wide
			case "middle":
				last.left -= wide / 2
			}
			last.text, last.right = string(x), last.left+wide
			last = nil
		}
	}
}

// No text of a picture is cut off, and none lies over another.
func TestTextsOfPictures(t *testing.T) {
	cases := goldenCases(t)
	cases["the five of herd"] = func(ctx context.Context) (Result, error) { h := DefaultHerd(); h.Runs = 1; return h.Run(ctx) }
	cases["overload of the documents"] = func(ctx context.Context) (Result, error) {
		o := DefaultOverload()
		o.Runs, o.Strategies = 2, o.Strategies[:2]
		return o.Run(ctx)
	}
	cases["long names"] = func(ctx context.Context) (Result, error) {
		return Herd{Strategies: strategies(t, strings.Repeat("long ", 20)+": linear d=1s", strings.Repeat("x", 90)+": linear d=2s"), Jobs: 9, Retries: 2, Runs: 1}.Run(ctx)
	}
	for name, run := range cases {
		r, err := run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var svg strings.Builder
		if err := r.Figure().SVG(&svg); err != nil {
			t.Fatal(err)
		}
		all, width, height := texts(t, svg.String())
		if len(all) < 5 {
			t.Errorf("%s: %d texts", name, len(all))
		}
		for i, x := range all {
			if x.left < 0 || x.right > width || x.top < 0 || x.bottom > height {
				t.Errorf("%s: %q is cut off: %+v in %v by %v", name, x.text, x, width, height)
			}
			for _, y := range all[:i] {
				if x.left < y.right && y.left < x.right && x.top < y.bottom && y.top < x.bottom {
					t.Errorf("%s: %q lies over %q", name, x.text, y.text)
				}
			}
		}
	}
}
