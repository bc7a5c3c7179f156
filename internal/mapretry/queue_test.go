package mapretry

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestQueue_IsFirstInFirstOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			q    queue[int]
			want []int
		)
		for i := range rapid.IntRange(0, 100).Draw(t, "steps") {
			if len(want) > 0 && rapid.Bool().Draw(t, "pop") {
				if got := q.pop(); got != want[0] {
					t.Fatalf("pop is %d, want %d", got, want[0])
				}
				want = want[1:]
			} else {
				q.push(i + 1)
				want = append(want, i+1)
			}
			if got := q.all(); q.len() != len(want) || !slices.Equal(got, want) {
				t.Fatalf("%d values %v, want %v", q.len(), got, want)
			}
		}
	})
}

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
