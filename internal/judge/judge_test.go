package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

func TestGroup(t *testing.T) {
	var g Group
	g.Add("first", []string{"t1"})
	g.Add("second", []string{"t2"}, Fault{Kind: "lost", What: "lost 1", Mend: "a"}, Fault{Kind: "late"})
	g.Add("third", []string{"t3"}, Fault{Kind: "lost", What: "lost 2", Mend: "b"})
	if len(g.Faults) != 2 || g.Scenarios != 3 {
		t.Fatalf("%+v", g)
	}
	lost := g.Faults[0]
	if lost.Where != "second" || lost.What != "lost 1" || lost.Shown != 2 || !slices.Equal(lost.Timeline, []string{"t2"}) {
		t.Errorf("%+v", lost)
	}
	if g.Add("more", nil); lost.Mend != "b" || g.Scenarios != 4 {
		t.Errorf("%+v", lost)
	}
}

func TestAllowed(t *testing.T) {
	tally := NewTally(Reference{"a", "b", "c"}, nil)
	for _, v := range []any{"b", "a", "b", "c", "b", "x"} {
		tally.Enter(v)
	}
	for _, test := range []struct {
		allowed Allowed
		want    []string
	}{
		{Allowed{}, []string{`repeated: repeated "b", "b"`, `foreign: it delivered "x", which it does not deliver undisturbed`, `order: it delivered "a" after later values`}},
		{Allowed{AtLeastOnce: true, AnyOrder: true}, []string{`foreign: it delivered "x", which it does not deliver undisturbed`}},
		{Allowed{AtLeastOnce: true, Latest: true}, []string{`foreign: it delivered "x", which it does not deliver undisturbed`, `order: it delivered "a", "b" after later values`}},
	} {
		var got []string
		for _, f := range test.allowed.Values(tally) {
			got = append(got, f.Kind+": "+f.What)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: got %q, want %q", test.allowed, got, test.want)
		}
	}
}

func TestAllowed_Lost(t *testing.T) {
	for delivered, want := range map[string]string{"": "[a b c] [c]", "ab": "[c] [c]", "c": "[a b] []", "abc": "[] []"} {
		tally := NewTally(Reference{"a", "b", "c"}, nil)
		for _, v := range delivered {
			tally.Enter(string(v))
		}
		if got := fmt.Sprint(Allowed{}.Lost(tally), " ", Allowed{Latest: true}.Lost(tally)); got != want {
			t.Errorf("%q: got %s, want %s", delivered, got, want)
		}
	}
}

// What a client with 12 values does during two breaks is whole. Of what a client does that spins, the first and the
// last notes remain.
func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			notes, lines int
			middle       string
		}{{400, 400, "3m20s note 201"}, {401, 301, "… 101 more"}, {1050, 350, "… 701 more"}} {
			l := NewTimeline(time.Millisecond)
			for n := range test.notes {
				l.Note("note %d", n+1)
				time.Sleep(time.Second)
			}
			got, last := l.Lines(), time.Duration(test.notes-1)*time.Second
			if len(got) != test.lines || got[0] != "0s note 1" || got[200] != test.middle || got[len(got)-1] != fmt.Sprintf("%v note %d", last, test.notes) {
				t.Errorf("%d notes: %d lines from %q to %q, with %q", test.notes, len(got), got[0], got[len(got)-1], got[200])
			}
		}
	})
}

// What follows a mark is whole, and what is left out comes before it or at the end.
func TestTimeline_Marks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTimeline(time.Millisecond)
		for n := range 1000 {
			if n == 500 {
				l.Mark()
			}
			l.Note("note %d", n+1)
			time.Sleep(time.Second)
		}
		text := "\n" + strings.Join(l.Lines(), "\n") + "\n"
		for n := 501; n <= 700; n++ {
			if want := fmt.Sprintf("\n%v note %d\n", time.Duration(n-1)*time.Second, n); !strings.Contains(text, want) {
				t.Fatalf("there is no %q in %s", want, text)
			}
		}
		left := 0
		for _, line := range l.Lines() {
			more := 0
			if _, err := fmt.Sscanf(line, "… %d more", &more); err == nil {
				left += more - 1
			}
		}
		if left+len(l.Lines()) != 1000 || !strings.HasSuffix(text, "note 1000\n") {
			t.Errorf("%d are left out of %s", left, text)
		}
	})
}

// What happens again with nothing between is one line.
func TestTimeline_Again(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTimeline(time.Millisecond)
		for n := range 1500 {
			l.Note("dial %d", n+1)
			time.Sleep(time.Second)
			switch {
			case n == 1:
				l.Note("works")
			default:
				l.Again("refused")
			}
		}
		want := []string{"0s dial 1", "1s refused, dial 2", "2s works, dial 3 and 1497 more", "3s refused"}
		if got := l.Lines(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
