package judge

import (
	"fmt"
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
		}{{399, 399, "3m20s note 201"}, {400, 301, "… 100 more"}, {1050, 351, "… 700 more"}} {
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
