package mapretry

import "testing"

// A queue that is rarely empty uses memory in proportion to its values, and keeps no removed value.
func TestQueue_StaysSmall(t *testing.T) {
	var q queue[*int]
	q.push(new(int))
	for range 1000 {
		q.push(new(int))
		q.push(new(int))
		q.pop()
		q.pop()
		for i, v := range q.values[:cap(q.values)] {
			if there := i >= q.first && i < len(q.values); there != (v != nil) {
				t.Fatalf("place %d: a value is there: %v, want %v", i, v != nil, there)
			}
		}
	}
	if cap(q.values) > 8 {
		t.Errorf("room for %d values, of which there are 3 at most", cap(q.values))
	}
	if n := testing.AllocsPerRun(100, func() { q.push(nil); q.pop() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
