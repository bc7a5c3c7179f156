package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheDocumentsAreWhatTheResultsSay writes them anew.
func TestTheDocumentsAreWhatTheResultsSay(t *testing.T) {
	r, err := load("../results.json")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := r.documents("..")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range documents {
		if got, err := os.ReadFile(filepath.Join("..", path)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s (%v) is not what results.json says; make charts writes it anew", path, err)
		}
	}
	for i, q := range ratios {
		if v, err := r.ratio(i); err != nil || v <= 0 {
			t.Errorf("%s is %v, %v", q.title, v, err)
		}
	}
	for _, target := range targets {
		if _, err := target.measure(r); err != nil {
			t.Errorf("%s: %v", target.title, err)
		}
	}
}

// TestEverythingMeasuredHasALabel: a new library is named in the documents.
func TestEverythingMeasuredHasALabel(t *testing.T) {
	r, err := load("../results.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"Items/plain/", "Items/retried/", "Resubscribe/", "Call/first-try/", "Call/ten-failures/", "Delay/"} {
		w := ways(prefix, r)
		if len(w) == 0 {
			t.Errorf("results.json has nothing under %s", prefix)
		}
		for _, way := range w {
			if !slices.ContainsFunc(labels, func(l struct{ way, label, module, rest string }) bool { return l.way == way }) {
				t.Errorf("%s%s has no label", prefix, way)
			}
		}
	}
	for _, l := range labels {
		if l.module != "" && r.Versions[l.module] == "" {
			t.Errorf("%s: results.json has no version of %s", l.way, l.module)
		}
	}
}

func TestParse(t *testing.T) {
	out := `goos: linux
pkg: p
,raw.txt,
,sec/op,CI
Call/first-try/retrywhen-2,7.5e-09,3%
Call/ten-failures/retrywhen-16,3e-07,∞
geomean,1e-08,

,raw.txt,
,allocs/op,CI
Call/first-try/retrywhen-2,0,0%
geomean,,
`
	got, err := parse([]byte(out), "raw.txt")
	want := []figure{
		{"Call/first-try/retrywhen", "sec/op", 7.5e-9, "3%"},
		{"Call/ten-failures/retrywhen", "sec/op", 3e-7, "∞"},
		{"Call/first-try/retrywhen", "allocs/op", 0, "0%"},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := parse([]byte("goos: linux\n"), "raw.txt"); err == nil {
		t.Error("no benchmark, no error")
	}
	if _, err := parse([]byte(",x,\n,sec/op,CI\nA,fast,1%\n"), "raw.txt"); err == nil {
		t.Error("a figure that is no number, no error")
	}
}

// made returns results in which the fifth ratio is v, and every other is 1.
func made(v float64) *results {
	r := &results{}
	for _, q := range ratios {
		r.Figures = append(r.Figures, figure{Name: q.over, Unit: q.unit, Median: 1}, figure{Name: q.under, Unit: q.unit, Median: 1})
	}
	r.Figures[2*4].Median = v
	return r
}

func TestCompare(t *testing.T) {
	before := made(2)
	for _, c := range []struct {
		now  *results
		fail bool
	}{{made(2), false}, {made(2.59), false}, {made(1), false}, {made(2.61), true}, {&results{}, true}} {
		if err := c.now.compare(io.Discard, before); (err != nil) != c.fail {
			t.Errorf("got %v, want an error: %v", err, c.fail)
		}
	}
	if err := made(2).compare(io.Discard, &results{}); err == nil {
		t.Error("nothing committed, no error")
	}
}

func TestABadRatioIsMeasuredAgain(t *testing.T) {
	for _, c := range []struct {
		values   []float64
		measured int
		fail     bool
	}{{[]float64{2}, 1, false}, {[]float64{9, 2}, 2, false}, {[]float64{9, 9, 9, 2}, 3, true}} {
		n := 0
		err := checkAgain(3, func() (*results, error) { n++; return made(c.values[n-1]), nil }, made(2), io.Discard)
		if n != c.measured || (err != nil) != c.fail {
			t.Errorf("%v: measured %d times, %v; want %d times, an error: %v", c.values, n, err, c.measured, c.fail)
		}
	}
}

func TestChartIsWellFormed(t *testing.T) {
	svg := chart(`a < b & "c"`, "", []bar{{"slow", 1234.5, "<note>", false}, {"none", 0, "", true}, {"fast", 2, "", true}})
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			break
		}
	}
	fast, slow := strings.Index(string(svg), ">fast<"), strings.Index(string(svg), ">slow<")
	if fast < 0 || slow < fast {
		t.Errorf("the bars are not in order: %d, %d", fast, slow)
	}
	if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
		t.Errorf("%s", svg)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.004: "0", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234.5: "1,234", 1234567: "1,234,567", -3.5: "-3.50"} {
		if got := digits(v); got != want {
			t.Errorf("digits(%v) is %q, want %q", v, got, want)
		}
	}
}
