package streamtest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

type tallied struct {
	ID    int
	Words []string
	More  map[string]int
	Next  *tallied
	Any   any
	f     float64
}

// A comparison is linear: a value is compared with those of its hash, and these are few.
func TestReference_AValueIsComparedWithFew(t *testing.T) {
	const n = 20_000
	for name, make := range map[string]func(i int) any{
		"numbers":  func(i int) any { return i },
		"floats":   func(i int) any { return float64(i) / 3 },
		"strings":  func(i int) any { return fmt.Sprint("event ", i) },
		"bytes":    func(i int) any { return fmt.Append(nil, "event ", i) },
		"structs":  func(i int) any { return tallied{ID: i, Words: []string{"a", fmt.Sprint(i % 7)}} },
		"pointers": func(i int) any { return &tallied{Next: &tallied{Any: &tallied{f: float64(i)}}} },
		"arrays":   func(i int) any { return [2]any{i % 10, uint8(i)} },
	} {
		ref, most := newReference(), 0
		for i := range n {
			ref.add(make(i))
		}
		for _, same := range ref.byHash {
			most = max(most, len(same))
		}
		if equal := len(ref.places(make(0))); most > equal+3 {
			t.Errorf("%s: %d values have one hash, %d are equal", name, most, equal)
		}
		if places := ref.places(make(77)); !slices.Contains(places, 77) {
			t.Errorf("%s: value 77 is at %v", name, places)
		}
	}
}

// Values that reflect.DeepEqual calls equal have one hash.
func TestReference_EqualValuesHaveOneHash(t *testing.T) {
	one, other := 1, 1
	loop := &tallied{}
	loop.Next = loop
	for _, pair := range [][2]any{
		{&one, &other}, {0.0, math.Copysign(0, -1)}, {map[string]int{"a": 1, "b": 2}, map[string]int{"b": 2, "a": 1}},
		{tallied{More: map[string]int{"a": 1}}, tallied{More: map[string]int{"a": 1}}}, {nil, nil}, {loop, loop},
		{[]any{1, nil, "x"}, []any{1, nil, "x"}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) || hash(pair[0]) != hash(pair[1]) {
			t.Errorf("%v and %v have different hashes", pair[0], pair[1])
		}
	}
}

func TestTally(t *testing.T) {
	ref := newReference()
	for _, v := range []any{"a", "b", "b", "c", "d"} { // values may be equal, although events are not
		ref.add(v)
	}
	tally := newTally(ref)
	for _, v := range []any{"b", "b", "b", "d", "c", "x"} {
		tally.enter(v)
	}
	for _, test := range []struct {
		what      string
		got, want []any
	}{
		{"lost", tally.lost(0), []any{"a"}}, {"lost from 1", tally.lost(1), nil}, {"repeated", tally.repeated, []any{"b"}},
		{"foreign", tally.foreign, []any{"x"}}, {"swapped", tally.swapped, []any{"c"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", test.what, test.got, test.want)
		}
	}
	if tally.complete() || tally.entered() != 6 {
		t.Error("it is complete")
	}
	if tally.enter("a"); !tally.complete() {
		t.Error("it is not complete")
	}
}
