package console

import (
	"strings"
	"testing"
	"time"
)

func lines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTable(t *testing.T) {
	lines(t, Table([]string{"name", "n", "µ"}, [][]string{{"a", "1", "10"}, {"bcdef", "22", ""}}, 1),
		"name    n   µ",
		"a       1  10",
		"bcdef  22")
}

func TestFit(t *testing.T) {
	header, rows := []string{"name", "first", "second"}, [][]string{{"the name of a policy", "1", "22"}, {"b", "333", "4"}}
	whole := []string{
		"name                  first  second",
		"the name of a policy      1      22",
		"b                       333       4",
	}
	blocks := []string{
		"name the name of a …",
		"  first    1",
		"  second  22",
		"name b",
		"  first   333",
		"  second    4",
	}
	for width, want := range map[int][]string{
		80: whole,
		35: whole, // as wide as the table
		32: {
			"name               first  second",
			"the name of a po…      1      22",
			"b                    333       4",
		},
		29: { // 14 characters are left for the name
			"name            first  second",
			"the name of a…      1      22",
			"b                 333       4",
		},
		28: append([]string{"name the name of a policy"}, blocks[1:]...),
		20: blocks,
	} {
		lines(t, Fit(width, header, rows, 1), want...)
	}
}

// A short name, or its header, needs less than 14 characters, but all of its own.
func TestFit_ShortNames(t *testing.T) {
	for _, names := range [][]string{{"name", "b"}, {"n", "abcd"}} {
		header, rows := []string{names[0], "first", "second"}, [][]string{{names[1], "1", "22"}}
		lines(t, Fit(19, header, rows, 1), Table(header, rows, 1)...)
		lines(t, Fit(18, header, rows, 1), names[0]+" "+names[1], "  first    1", "  second  22")
	}
}

func TestLabels(t *testing.T) {
	lines(t, []string{Span{Most: 40 * time.Second, Width: 41}.Labels(), Span{Most: 0, Width: 10}.Labels(), Span{Most: time.Minute, Width: 3}.Labels(), Span{Most: 40 * time.Second, Width: 39}.Labels(), Span{Most: 40 * time.Second, Width: 41, Origin: 10 * time.Second}.Labels(),
		Span{Most: 400 * time.Millisecond, Width: 40, Origin: 2 * time.Minute}.Labels()},
		"0        10s       20s       30s      40s", "0", "0", "0            15s            30s", "-10s      0        10s       20s      30s", "-2m   -1m59.9s  -1m59.8s -1m59.7s")
}

func TestRange(t *testing.T) {
	s := Span{Most: 10 * time.Second, Width: 11}
	lines(t, []string{s.Range(0, 0, 0), s.Range(2*time.Second, 5*time.Second, 8*time.Second), s.Range(9*time.Second, 10*time.Second, 100*time.Second)},
		"●", "  ├──●──┤", "         ├●")
}

func TestMarks(t *testing.T) {
	at := []time.Duration{0, 5 * time.Second, 10 * time.Second, 11 * time.Second, -1}
	lines(t, []string{Span{Most: 10 * time.Second, Width: 11}.Marks(at, func(i int) rune { return '1' + rune(i) })}, "1····2····3")
}

func TestBars(t *testing.T) {
	lines(t, Bars([]int64{0, 1, 8, 12, 16, 1000}, 16, 2),
		"   ▄██",
		" ▁████")
	lines(t, Bars([]int64{0, 0}, 0, 1), "")
	lines(t, Bars([]int64{0, 1, 0}, 1_000_000, 1), " ▁")
}

func TestColumns(t *testing.T) {
	lines(t, Columns(2, []string{"a", "bcd"}, []string{"1", "", "3"}), "a    1", "bcd", "     3")
}

func TestPad(t *testing.T) {
	lines(t, []string{Pad("äb", 4) + "|", Pad("äb", 2) + "|", Pad("äb", 1) + "|"}, "äb  |", "äb|", "äb|")
}

func TestWrap(t *testing.T) {
	lines(t, Wrap(7, "abc", "def", "ghi", "longer than that", "x"), "abc def", "ghi", "longer than that", "x")
	lines(t, Wrap(7))
}
