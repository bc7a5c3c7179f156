package operators

import "testing"

// The path of pages that never repeat grows by an entry each time their number doubles.
func TestPath_Size(t *testing.T) {
	w := path[int]{first: -1}
	for page := range 4096 {
		if w.leadsBack(page) {
			t.Fatalf("page %d has come before", page)
		}
	}
	if len(w.kept) > 13 {
		t.Errorf("%d of 4096 positions are kept, want at most 13", len(w.kept))
	}
}
