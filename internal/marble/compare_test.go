package marble

import (
	"reflect"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

// Parse reads what Draw has drawn.
func TestDraw_RoundTrip(t *testing.T) {
	for text, want := range map[string]string{
		"--a--b|": "", "|": "", "#": "", "-----": "", "-(ab)--c--#": "", "(abc|)": "", "a 1500ms b--|": "", "--a 0.25ms b|": "",
		"-a-(bb)": "", "2m |": "", "2s a": "", "3s |": "", "a--b 3ms --": "a--b-----", "a 99ms": "", "100ms": "",
	} {
		if want == "" {
			want = text
		}
		d, err := Parse[string](text, false, nil, nil)
		check.Must(t, err)
		for i := range d.Events {
			d.Events[i].letter = "" // Draw finds them
		}
		if got, _ := Draw(d.Events, d.Spans); got != want {
			t.Errorf("%q: drawn as %q, want %q", text, got, want)
		}
	}
}

func TestDraw_Letters(t *testing.T) {
	lists := []Event[[]int]{{At: 2 * ms, Value: []int{1, 2}}, {At: 5 * ms, Value: []int{3, 4}}, {At: 6 * ms, Value: []int{1, 2}}, {At: 7 * ms, Kind: End}}
	got, values := Draw(lists, 3*ms)
	if want := map[string][]int{"A": {1, 2}, "B": {3, 4}}; got != "--A--BA|" || !reflect.DeepEqual(values, want) {
		t.Errorf("drawn as %q, %v", got, values)
	}
	if got, values = Draw(lists[:2], ms); got != "-" || len(values) > 0 {
		t.Errorf("drawn as %q, %v, before the first event", got, values)
	}
	got, values = Draw(lists[:2], 5*ms) // the stream continues: the event at 5ms is too late
	if want := map[string][]int{"A": {1, 2}}; got != "--A--" || !reflect.DeepEqual(values, want) {
		t.Errorf("drawn as %q, %v", got, values)
	}
}

// A row that has ended has no padding, a time neither, and two letters may have one value.
func TestCompare(t *testing.T) {
	want, err := Parse("ab|", false, map[string]int{"a": 1, "b": 1}, nil)
	check.Must(t, err)
	got := []Event[int]{{Value: 1}, {At: ms, Value: 1}, {At: 100 * ms, Value: 2}}
	const text = `    want  ab|
    got   ab- 97ms 2
            ^
    first difference: want the end at 2ms, got the value 2 at 100ms
    a = 1
    b = 1`
	if drawn := Compare(want, got, 2); drawn != text {
		t.Errorf("got\n%s", drawn)
	}
	if got[0].letter != "" {
		t.Error("it has changed its argument")
	}
}
