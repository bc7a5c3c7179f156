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
		most := q.most
		if most == 0 {
			most = 1.3 * before
		}
		t.Logf("%-55s %7.2f, committed %7.2f", q.title, v, before)
		if v > most {
			t.Errorf("%s: %.2f, want at most %.2f; the committed ratio is %.2f", q.title, v, most, before)
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

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.004: "0", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234.5: "1234"} {
		if got := digits(v); got != want {
			t.Errorf("digits(%v) is %q, want %q", v, got, want)
		}
	}
}
