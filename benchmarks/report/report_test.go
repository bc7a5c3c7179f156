package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
)

var fresh = flag.String("fresh", "", "raw results that the committed ones are compared with")

// TestRatios compares the ratios of a fresh run with the committed ones, for make bench-check.
func TestRatios(t *testing.T) {
	committed, err := load("../bench.txt")
	if err != nil {
		t.Fatal(err)
	}
	now := committed
	if *fresh != "" {
		if now, err = load(*fresh); err != nil {
			t.Fatal(err)
		}
	}
	for i, q := range ratios {
		before, err1 := committed.ratio(i)
		v, err2 := now.ratio(i)
		if err := errors.Join(err1, err2); err != nil {
			t.Error(err)
			continue
		}
		most, err := now.bound(i, before.Center)
		t.Logf("%-55s %7.2f, committed %7.2f, at most %7.2f", q.title, v.Center, before.Center, most)
		if err != nil || v.Center > most {
			t.Errorf("%s: %.2f, want at most %.2f; the committed ratio is %.2f (%v)", q.title, v.Center, most, before.Center, err)
		}
	}
}

// TestResults makes RESULTS.md again and compares it with the file.
func TestResults(t *testing.T) {
	r, err := load("../bench.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := r.markdown()
	if got, err := os.ReadFile("../RESULTS.md"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("RESULTS.md (%v) is not what bench.txt says; make documents writes it", err)
	}
	if bytes.Contains(want, []byte("NaN")) || bytes.Contains(want, []byte("Inf")) {
		t.Error("RESULTS.md has a figure that is no number")
	}
	for _, s := range sections {
		if len(r.under(s.prefix, s.columns[0].unit)) == 0 {
			t.Errorf("bench.txt has nothing under %s", s.prefix)
		}
	}
}

const example = `cpu: a <machine>
BenchmarkItems/plain/retrywhen-2 1 7.5 ns/item 3 B-held/failure
BenchmarkItems/plain/retrywhen-2 1 8.5 ns/item 3 B-held/failure
BenchmarkItems/plain/retrywhen-2 1 9.5 ns/item 3 B-held/failure
BenchmarkItems/plain/samber-ro-2 1 2.0 ns/item 450 B-held/failure
`

func TestRead(t *testing.T) {
	r, err := read(strings.NewReader(example))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := r.summary("Items/plain/retrywhen", "sec/item"); !ok || v.Center != 8.5e-9 {
		t.Errorf("the median is %v, %v; want 8.5e-09", v, ok)
	}
	if _, ok := r.summary("Items/plain/retrywhen", "allocs/op"); ok {
		t.Error("a unit that was not measured has a summary")
	}
	if got := r.under("Items/", "sec/item"); len(got) != 2 || got[0] != "Items/plain/samber-ro" {
		t.Errorf("in order of time: %v", got)
	}
	if _, err := read(strings.NewReader("PASS\n")); err == nil {
		t.Error("no benchmark, no error")
	}
}

// A ratio is that of the rounds, so a slow round does not change it. It may be 1.15 times the committed one, and more
// only if the run is noisy.
func TestBound(t *testing.T) {
	q := ratios[0]
	run := func(over ...float64) *raw {
		r := &raw{values: map[string]map[string][]float64{q.over: {}, q.under: {}}}
		for i, v := range over {
			slow := float64(1 + i%3)
			r.values[q.over][q.unit] = append(r.values[q.over][q.unit], v*slow)
			r.values[q.under][q.unit] = append(r.values[q.under][q.unit], slow)
		}
		return r
	}
	for want, r := range map[float64]*raw{
		2.3: run(2, 2, 2, 2, 2, 2, 2, 2),
		2.4: run(1.6, 1.6, 1.6, 2, 2, 2.4, 2.4, 2.4),
		2.6: run(1, 1, 1, 2, 2, 4, 4, 4),
	} {
		v, err1 := r.ratio(0)
		most, err2 := r.bound(0, 2)
		if err1 != nil || err2 != nil || v.Center != 2 || most < want-0.001 || most > want+0.001 {
			t.Errorf("%v, %v; bound %v, %v, want %v", v, err1, most, err2, want)
		}
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.004: "0", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234.5: "1234"} {
		if got := digits(v); got != want {
			t.Errorf("digits(%v) is %q, want %q", v, got, want)
		}
	}
}
