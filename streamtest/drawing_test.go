package streamtest

import (
	"reflect"
	"testing"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// What Diagram draws, Cold does again.
func TestDiagram_RoundTrip(t *testing.T) {
	for _, text := range []string{
		"--a--b|", "|", "#", "-----", "-(ab)--c--#", "(abc|)", "a 1500ms b--|", "2s a", "--a 0.25ms b|", "-a-(bb)", "2m |",
	} {
		Run(t, func(s *Session) {
			d, _ := parse(text, false)
			if got, _ := Diagram(s, d.spans, Cold[string](s, text)); got != text && (text != "2s a" || got != "2000ms a") {
				t.Errorf("%q: drawn as %q", text, got)
			}
		})
	}
}

func TestDiagram_Letters(t *testing.T) {
	Run(t, func(s *Session) {
		got, lists := Diagram(s, 10*frame, operators.Batch(Cold[int](s, "-123-4|"), 2, 0))
		if want := map[string][]int{"A": {1, 2}, "B": {3, 4}}; got != "--A--B|" || !reflect.DeepEqual(lists, want) {
			t.Errorf("drawn as %q, %v", got, lists)
		}
		got, ints := Diagram(s, 10*frame, stream.Of(1, 2, 30), map[string]int{"x": 1})
		if want := map[string]int{"x": 1, "2": 2, "A": 30}; got != "(x2A|)" || !reflect.DeepEqual(ints, want) {
			t.Errorf("drawn as %q, %v, want %v", got, ints, want)
		}
	})
}
