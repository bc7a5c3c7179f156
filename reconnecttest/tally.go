package reconnecttest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
)

// reference is the values that a client delivered undisturbed. A place is an index in it.
type reference []any

// nearest returns the place nearest to from whose value is equal to v and that is good, or -1. Values come nearly in
// order, so that a comparison is linear.
func (r reference) nearest(v any, from int, good func(place int) bool) int {
	fits := func(i int) bool { return i >= 0 && i < len(r) && good(i) && reflect.DeepEqual(r[i], v) }
	for d := range len(r) + 1 {
		switch {
		case fits(from + d):
			return from + d
		case fits(from - d):
			return from - d
		}
	}
	return -1
}

// tally records what a run delivers, by its places in the reference. It is safe for concurrent use.
type tally struct {
	unit func() int // the last unit that was sent

	mu       sync.Mutex
	ref      reference
	making   bool  // the run makes the reference,
	of       []int // and notes the unit at each value
	count    int
	taken    []bool
	missing  int // values of the reference that have not come
	next     int // the place after that of the value before
	furthest int // of the values that have come
	lastAt   time.Time
	repeated []any
	foreign  []any // not in the reference
	swapped  []any // that came before one of an earlier place
}

// newTally makes a tally of a run that is compared with ref, or makes the reference if ref is nil.
func newTally(ref reference, unit func() int) *tally {
	return &tally{ref: ref, making: ref == nil, unit: unit, taken: make([]bool, len(ref)), missing: len(ref)}
}

// enter records a value, and returns how many have come.
func (t *tally) enter(v any) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	t.lastAt = time.Now()
	if t.making {
		if b, ok := v.([]byte); ok {
			v = slices.Clone(b) // a buffer may be used again
		}
		t.ref, t.of = append(t.ref, v), append(t.of, t.unit())
		return t.count
	}
	place := t.ref.nearest(v, t.next, func(i int) bool { return !t.taken[i] })
	if place >= 0 {
		t.taken[place] = true
		t.missing--
		if place < t.furthest {
			t.swapped = append(t.swapped, v)
		}
		t.furthest = max(t.furthest, place)
	} else if place = t.ref.nearest(v, t.next, func(int) bool { return true }); place >= 0 {
		t.repeated = append(t.repeated, v)
	} else {
		t.foreign = append(t.foreign, v)
	}
	if place >= 0 {
		t.next = place + 1
	}
	return t.count
}

// entered returns how many values have come.
func (t *tally) entered() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// quiet returns the time since the last value, or since start.
func (t *tally) quiet(start time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count > 0 {
		start = t.lastAt
	}
	return time.Since(start)
}

// complete reports whether all values of the reference have come.
func (t *tally) complete() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.making && t.missing == 0
}

// lost returns the values from a place of the reference on that have not come.
func (t *tally) lost(from int) (all []any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, taken := range t.taken {
		if i >= from && !taken {
			all = append(all, t.ref[i])
		}
	}
	return all
}

// atMost3 writes three values at most.
func atMost3(values []any) string {
	var words []string
	for _, v := range values {
		words = append(words, marble.Show(v))
	}
	return list(words)
}

// list writes three words at most.
func list(words []string) string {
	if more := len(words) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:3], ", "), more)
	}
	return strings.Join(words, ", ")
}
