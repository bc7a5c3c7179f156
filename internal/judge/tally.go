package judge

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Reference is the values that a client delivered undisturbed.
type Reference []any

// nearest returns the index nearest to from whose value is equal to v and that is good, or -1. Values come nearly in
// order, so that a comparison is linear.
func (r Reference) nearest(v any, from int, good func(index int) bool) int {
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

// Tally records what a run delivers, as a multiset, by its indexes in the reference. It is safe for concurrent use.
type Tally struct {
	unit func() int

	mu       sync.Mutex
	ref      Reference
	making   bool  // the run makes the reference,
	of       []int // and notes the unit at each value
	count    int
	taken    []bool
	missing  int // values of the reference that have not come
	next     int // the index after that of the value before
	furthest int // of the values that have come
	lastAt   time.Time
	repeated []any // values that came more often than in the reference
	foreign  []any // that are not in it
	swapped  []any // that came after one of a later index
	older    []any // those repeated that came after one of a later index
}

// NewTally makes a tally of a run that is compared with ref, or makes the reference if ref is nil: then unit returns
// the last unit that the server has sent.
func NewTally(ref Reference, unit func() int) *Tally {
	return &Tally{ref: ref, making: ref == nil, unit: unit, taken: make([]bool, len(ref)), missing: len(ref)}
}

// Enter records a value, and returns how many have come.
func (t *Tally) Enter(v any) int {
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
	index := t.ref.nearest(v, t.next, func(i int) bool { return !t.taken[i] })
	if index >= 0 {
		t.taken[index] = true
		t.missing--
		if index < t.furthest {
			t.swapped = append(t.swapped, v)
		}
		t.furthest = max(t.furthest, index)
	} else if index = t.ref.nearest(v, t.next, func(int) bool { return true }); index >= 0 {
		t.repeated = append(t.repeated, v)
		if index < t.furthest {
			t.older = append(t.older, v)
		}
	} else {
		t.foreign = append(t.foreign, v)
	}
	if index >= 0 {
		t.next = index + 1
	}
	return t.count
}

// Made returns the values so far of a run that makes the reference, and the unit of each.
func (t *Tally) Made() (Reference, []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.ref), slices.Clone(t.of)
}

// Count returns how many values have come.
func (t *Tally) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// Quiet returns the time since the last value, or since start.
func (t *Tally) Quiet(start time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count > 0 {
		start = t.lastAt
	}
	return time.Since(start)
}

// Complete reports whether all values of the reference have come.
func (t *Tally) Complete() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.making && t.missing == 0
}

// LastCame reports whether the last value of the reference has come: all that a feed of states must deliver, and after
// which none comes that comes in order.
func (t *Tally) LastCame() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.making && t.taken[len(t.taken)-1]
}

// Lost returns the values from an index of the reference on that have not come.
func (t *Tally) Lost(from int) (all []any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, taken := range t.taken {
		if i >= from && !taken {
			all = append(all, t.ref[i])
		}
	}
	return all
}

// Foreign returns the values that came and are not in the reference.
func (t *Tally) Foreign() []any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.foreign)
}

// AtMost3 writes three values at most. Strings are quoted, so that they differ from numbers.
func AtMost3(values []any) string {
	var words []string
	for _, v := range values {
		if text, ok := v.(string); ok {
			v = strconv.Quote(text)
		}
		words = append(words, fmt.Sprintf("%+v", v))
	}
	return List(words)
}

// Suffix writes values behind a text, if there are any.
func Suffix(text string, values []any) string {
	if len(values) == 0 {
		return ""
	}
	return text + AtMost3(values)
}

// List writes three words at most.
func List(words []string) string {
	text := strings.Join(words[:min(len(words), 3)], ", ")
	if len(words) > 3 {
		text += fmt.Sprintf(" and %d more", len(words)-3)
	}
	return text
}

// Count writes a number of things.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
