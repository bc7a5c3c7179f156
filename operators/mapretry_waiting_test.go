package operators

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/retry"
)

func TestMapRetryHeapYieldsByTimeThenByTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h dueHeap
		var want []dueEntry
		turn := rapid.Uint32().Draw(t, "first turn") // it may wrap around
		compare := func(a, b dueEntry) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(int32(a.turn-b.turn), 0))
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if len(h) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				if h[0] != want[0] {
					t.Fatalf("root %v, want %v", h[0], want[0])
				}
				h.pop()
				want = want[1:]
				continue
			}
			turn++
			e := dueEntry{at: rapid.Int64Range(-3, 10).Draw(t, "at"), turn: turn, slot: turn}
			h.push(e)
			want = append(want, e)
			slices.SortFunc(want, compare)
		}
		if rapid.Bool().Draw(t, "init") {
			for i := range h {
				h[i].at = min(h[i].at, 4)
				want[i].at = min(want[i].at, 4)
			}
			slices.SortFunc(want, compare)
			h.init()
		}
		for _, e := range want {
			if h[0] != e {
				t.Fatalf("root %v, want %v", h[0], e)
			}
			h.pop()
		}
		if len(h) != 0 {
			t.Fatalf("%d entries left", len(h))
		}
	})
}

const mostRetries = min(math.MaxInt, math.MaxUint32) // that a compactRow can hold

func TestMapRetryCompactRowIsTheRow(t *testing.T) {
	base := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, want := range map[string]retry.State{
		"zero": {},
		"full": {Attempts: math.MaxInt, Retries: mostRetries, First: base.Add(time.Second),
			Since: base.Add(-time.Second), Previous: math.MaxInt64, Place: 0.25, Placed: true, Fires: math.MaxUint64},
		"placed at 0": {Attempts: 2, First: base, Placed: true},
		"reset":       {Attempts: 2, First: base, Fires: 1},
		"signals":     {Attempts: 2, First: base, Fires: 1 << 32},
	} {
		c := compact(&want, base)
		for _, later := range []uint64{0, 1, math.MaxUint32} {
			if want.Attempts == 0 {
				later = -want.Fires
			}
			if got := c.row(base, want.Fires+later); got != want {
				t.Errorf("%s, %d signals later:\n got %+v\nwant %+v", name, later, got, want)
			}
		}
		want = retry.State{Attempts: want.Attempts, First: want.First, Fires: 7}
		if c.restart(7); want.Attempts > 0 && c.row(base, 7) != want {
			t.Errorf("%s, again:\n got %+v\nwant %+v", name, c.row(base, 7), want)
		}
	}
	if got := new(compactRow).row(base, 7); got != (retry.State{}) {
		t.Errorf("the zero compactRow is %+v", got)
	}
	most := retry.State{Attempts: 1, First: base, Since: base, Retries: math.MaxInt}
	c := compact(&most, base)
	if got := c.row(base, 0); got.Retries != mostRetries {
		t.Errorf("%d retries became %d", most.Retries, got.Retries)
	}
}

func TestMapRetryWaitingRoomReusesAndReleases(t *testing.T) {
	var w waitingRoom[*int]
	j := job[*int]{item: new(int)}
	for range 10 * slotsPerBlock {
		w.add(&j, 0)
		w.add(&j, 0)
		w.take(&j)
	}
	if most := 10 * slotsPerBlock; int(w.used) > most+1 {
		t.Errorf("%d slots for %d items", w.used, most)
	}
	for w.len() > 1 {
		w.take(&j)
	}
	for _, block := range w.blocks {
		for i := range block {
			if block[i].item != nil && w.at(w.heap[0].slot) != &block[i] {
				t.Fatal("a slot that is free holds on to its item")
			}
		}
	}
	w.take(&j)
	if w.blocks != nil || w.heap != nil || w.free != nil {
		t.Error("an empty room keeps its memory")
	}
}

func TestMapRetryRestartEndsOlderWaits(t *testing.T) {
	base := time.Now()
	var w waitingRoom[int]
	for i := range 10 {
		row := retry.State{Attempts: 3, Retries: 3, First: base, Since: base, Previous: 5, Place: 0.5, Placed: true, Fires: uint64(i % 2)}
		j := job[int]{item: i, row: compact(&row, base)}
		w.add(&j, int64(100-i))
	}
	w.restart(1, 50)
	var order []int
	for w.len() > 0 {
		var j job[int]
		due := w.due()
		w.take(&j)
		order = append(order, j.item)
		switch old := j.item%2 == 0; {
		case old && (due != 50 || j.row.row(base, 1) != retry.State{Attempts: 3, Fires: 1, First: base}):
			t.Errorf("item %d is due at %d with %+v", j.item, due, j.row)
		case !old && (due != int64(100-j.item) || j.row.retries != 3):
			t.Errorf("item %d, whose wait began after the signal, is due at %d with %+v", j.item, due, j.row)
		}
	}
	if want := []int{0, 2, 4, 6, 8, 9, 7, 5, 3, 1}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// What an item costs while it waits: its slot and its heap entry, whose slice has up to a quarter to spare, and the
// place in the list of free slots.
func TestMapRetryWaitingItemIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(job[int64]{}) - 8 + unsafe.Sizeof(dueEntry{})*5/4 + 4; size > 80 {
		t.Errorf("%d bytes for a waiting item, want at most 80", size)
	}
}

func TestMapRetryOutcomesComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range n {
				yield(i)
			}
		})).Draw(t, "order")
		s := outcomes[int, string]{ordered: true}
		for put, i := range order {
			s.put(&outcome[int, string]{seq: int64(i), value: fmt.Sprint(i)})
			if len(s.ready)+s.held != put+1 {
				t.Fatalf("%d ready and %d held of %d", len(s.ready), s.held, put+1)
			}
			if got := len(slices.Collect(s.all())); got != put+1 {
				t.Fatalf("all yields %d of %d", got, put+1)
			}
		}
		for i, o := range s.ready {
			if o.value != fmt.Sprint(i) {
				t.Fatalf("outcome %d is %q", i, o.value)
			}
		}
	})
}

func TestMapRetryQueueIsFirstInFirstOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue[int]
		var want []int
		for i := range rapid.IntRange(0, 100).Draw(t, "steps") {
			if len(want) > 0 && rapid.Bool().Draw(t, "pop") {
				if got := q.pop(); got != want[0] {
					t.Fatalf("pop is %d, want %d", got, want[0])
				}
				want = want[1:]
			} else {
				q.push(i)
				want = append(want, i)
			}
			if got := slices.Collect(q.all()); q.len() != len(want) || !slices.Equal(got, want) {
				t.Fatalf("%d values %v, want %v", q.len(), got, want)
			}
		}
	})
}
