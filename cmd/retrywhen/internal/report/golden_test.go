package report

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

var update = flag.Bool("update", false, "write the results into testdata")

// narrow has the cases whose text is that of a narrow terminal.
var narrow = map[string]bool{"herd": true, "boundary": true, "show": true}

// goldenCases are small simulations, one of each model. Most compare two policies or more, one of which has no result
// or no end.
func goldenCases(t *testing.T) map[string]func(context.Context) (Result, error) {
	t.Helper()
	full, tiled := "a: exponential base=1s factor=2 jitter=full", "b: linear d=3s tiled"
	o := DefaultOverload()
	o.Strategies, o.Load, o.Service.Mean = strategies(t, "three: constant d=1s limit=3", "budget: constant d=1s limit=3 budget=1,1,0.1", "none: constant d=1s limit=0"), 8, 100*time.Millisecond
	o.Runs, o.Horizon, o.Failures = 2, 50*time.Second, 0.02
	choose := DefaultChoose()
	choose.Clients, choose.Capacity, choose.Runs, choose.Outages, choose.Served = 40, 5, 1, []time.Duration{2 * time.Second, 9 * time.Second}, time.Minute
	network := sim.Network{Mean: 10 * time.Millisecond, SD: 2 * time.Millisecond}
	return map[string]func(context.Context) (Result, error){
		"show": func(context.Context) (Result, error) {
			return Show{Strategies: strategies(t, full, "c: decorrelated base=1s limit=3", "d: linear d=4s stopat=10s"), Retries: 4}.Run(), nil
		},
		"herd": func(ctx context.Context) (Result, error) {
			return Herd{Strategies: strategies(t, full, tiled), Jobs: 7, Retries: 3, Runs: 3}.Run(ctx)
		},
		"outage": func(ctx context.Context) (Result, error) {
			return Outage{Strategies: strategies(t, full, tiled, "gone: constant d=1s limit=1", "stuck: constant d=0s"),
				Outage: sim.Outage{Clients: 9, Down: 7 * time.Second, Capacity: 2}}.Run(ctx)
		},
		"contention": func(ctx context.Context) (Result, error) {
			return Contention{Strategies: strategies(t, "a: exponential base=10ms factor=2 jitter=full", "b: linear d=30ms tiled"), Clients: 6, Points: 3, Runs: 3,
				Network: network, Horizon: time.Minute}.Run(ctx)
		},
		"overload": func(ctx context.Context) (Result, error) { return o.Run(ctx) },
		"boundary": func(ctx context.Context) (Result, error) {
			b := Boundary{Overload: o, Points: 3}
			b.Overload.Horizon = 0
			return b.Run(ctx)
		},
		"choose": func(ctx context.Context) (Result, error) { return choose.Run(ctx) },
	}
}

// Text, picture, JSON and page of a small simulation of each model are those in testdata; go test -update writes them.
func TestGolden(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may differ in the last digit")
	}
	for name, run := range goldenCases(t) {
		r, err := run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var out strings.Builder
		width := 100
		if narrow[name] {
			width = 44
		}
		out.WriteString(strings.Join(r.Text(width), "\n") + "\n\n")
		if !slices.Equal(r.Text(maxWidth), r.Text(maxWidth+50)) {
			t.Errorf("%s: the text becomes wider than %d", name, maxWidth)
		}
		if err := r.Incomplete(); err != nil {
			out.WriteString("incomplete: " + err.Error() + "\n\n")
		}
		for _, s := range r.Compared() {
			out.WriteString(s.String() + "\n")
		}
		out.WriteString("\n")
		forms := []any{r.JSON()}
		if page, ok := r.(Paged); ok {
			forms = append(forms, page.Page())
		}
		for _, form := range forms {
			text, err := json.Marshal(form)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out.WriteString(strings.ReplaceAll(string(text), "},{", "},\n{") + "\n\n")
		}
		if err := r.Figure().SVG(&out); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := must(os.ReadFile(file))
		got, all := strings.Split(out.String(), "\n"), strings.Split(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n")
		for i := range max(len(got), len(all)) {
			if i >= len(got) || i >= len(all) || got[i] != all[i] {
				t.Errorf("%s:%d differs: %.200q, want %.200q", file, i+1, append(got, make([]string, len(all))...)[i], append(all, make([]string, len(got))...)[i])
				break
			}
		}
	}
}

// written is a text of a picture, with the box that it needs.
type written struct {
	text                     string
	left, right, top, bottom float64
}

// texts returns the texts of an SVG, as wide as a usual font makes them, and the size of its view box.
func texts(t *testing.T, svg string) (all []written, width, height float64) {
	t.Helper()
	number := func(attributes map[string]string, name string) float64 {
		x := must(strconv.ParseFloat(attributes[name], 64))
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
		r := must(run(t.Context()))
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
