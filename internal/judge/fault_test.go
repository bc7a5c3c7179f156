package judge

import (
	"fmt"
	"slices"
	"testing"
)

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
