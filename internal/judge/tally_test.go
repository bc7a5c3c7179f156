package judge

import (
	"slices"
	"testing"
)

// A comparison is linear when values come nearly in order: each is compared with few.
func TestReference_AValueIsComparedWithFew(t *testing.T) {
	const n = 10_000
	var ref Reference
	for i := range n {
		ref = append(ref, i)
	}
	for name, sequence := range map[string]func(i int) int{
		"in order":            func(i int) int { return i },
		"every third is lost": func(i int) int { return 3 * i / 2 % n },
		"each comes twice":    func(i int) int { return i / 2 },
		"once more":           func(i int) int { return i % (n / 2) },
		"in pairs, reversed":  func(i int) int { return i ^ 1 },
	} {
		compared, next := 0, 0
		for i := range n {
			next = ref.nearest(sequence(i), next, func(int) bool { compared++; return true })
			if next != sequence(i) {
				t.Fatalf("%s: value %d is at %d", name, sequence(i), next)
			}
			next++
		}
		if compared > 6*n {
			t.Errorf("%s: %d comparisons of %d values", name, compared, n)
		}
	}
}

func TestReference_Nearest(t *testing.T) {
	ref := Reference{"a", "b", []int{1}, "b", "c"}
	for _, test := range []struct {
		value      any
		from, want int
	}{{"b", 0, 1}, {"b", 2, 3}, {"b", 1, 1}, {"b", 5, 3}, {"a", 5, 0}, {"c", 0, 4}, {[]int{1}, 5, 2}, {"x", 2, -1}} {
		if got := ref.nearest(test.value, test.from, func(int) bool { return true }); got != test.want {
			t.Errorf("%v from %d on: got %d, want %d", test.value, test.from, got, test.want)
		}
	}
	if got := ref.nearest("b", 0, func(i int) bool { return i > 1 }); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

func TestTally(t *testing.T) {
	making := NewTally(nil, func() int { return 7 })
	buffer := []byte("a")
	for range 5 { // a buffer is used again
		making.Enter(buffer)
		buffer[0]++
	}
	if len(making.ref) != 5 || string(making.ref[4].([]byte)) != "e" || !slices.Equal(making.of, []int{7, 7, 7, 7, 7}) || making.Complete() {
		t.Errorf("made %q of %v", making.ref, making.of)
	}
	tally := NewTally(Reference{"a", "b", "b", "c", "d"}, nil) // values may be equal, although events are not
	for _, v := range []any{"b", "b", "b", "d", "c", "x"} {
		tally.Enter(v)
	}
	for _, test := range []struct {
		what      string
		got, want []any
	}{
		{"lost", tally.Lost(0), []any{"a"}}, {"lost from 1", tally.Lost(1), nil}, {"repeated", tally.repeated, []any{"b"}},
		{"foreign", tally.foreign, []any{"x"}}, {"swapped", tally.swapped, []any{"c"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", test.what, test.got, test.want)
		}
	}
	if tally.Complete() || tally.Count() != 6 {
		t.Error("it is complete")
	}
	if tally.Enter("a"); !tally.Complete() {
		t.Error("it is not complete")
	}
}
