package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
