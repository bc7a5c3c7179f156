package streamtest

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
)

// reference is the values that a client delivered undisturbed, each with its place.
type reference struct {
	values []any
	byHash map[uint64][]int
}

func newReference() *reference { return &reference{byHash: map[uint64][]int{}} }

func (r *reference) add(v any) {
	if b, ok := v.([]byte); ok {
		v = slices.Clone(b) // a buffer may be used again
	}
	h := hash(v)
	r.byHash[h] = append(r.byHash[h], len(r.values))
	r.values = append(r.values, v)
}

// cut leaves the first n values.
func (r *reference) cut(n int) {
	values := r.values[:n]
	*r = *newReference()
	for _, v := range values {
		r.add(v)
	}
}

// places returns the places of the values that are equal to v.
func (r *reference) places(v any) []int {
	same := r.byHash[hash(v)]
	if slices.ContainsFunc(same, func(i int) bool { return !reflect.DeepEqual(r.values[i], v) }) {
		same = slices.DeleteFunc(slices.Clone(same), func(i int) bool { return !reflect.DeepEqual(r.values[i], v) })
	}
	return same
}

// seed is that of all hashes: they are compared within the process only.
var seed = maphash.MakeSeed()

// hash returns the same number for values that reflect.DeepEqual calls equal. That they are looked up by it keeps a
// comparison from being quadratic.
func hash(v any) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	write(&h, reflect.ValueOf(v), 0)
	return h.Sum64()
}

// write adds a value to the hash. What it leaves out only makes the hash worse: the order of maps, what lies deep.
func write(h *maphash.Hash, v reflect.Value, depth int) {
	if depth > 10 || !v.IsValid() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		write(h, v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		fmt.Fprint(h, v.Len())
		for i := range v.Len() {
			write(h, v.Index(i), depth+1)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			write(h, field, depth+1)
		}
	case reflect.String:
		h.WriteString(v.String())
	case reflect.Map:
		fmt.Fprint(h, v.Len())
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default: // a number or a bool; 0 and -0 are equal
		if v.CanFloat() && v.Float() == 0 {
			return
		}
		fmt.Fprint(h, v)
	}
	h.WriteByte(0)
}

// tally records what a run delivers, by its places in the reference. It is safe for concurrent use.
type tally struct {
	ref *reference // nil for the run that makes it

	mu       sync.Mutex
	count    int
	taken    []bool
	missing  int        // values of the reference that have not come
	last     int        // the place of the value before
	made     *reference // by the run without one
	unit     func() int // the last unit that was sent,
	of       []int      // at each value
	lastAt   time.Time
	repeated []any
	foreign  []any // not in the reference
	swapped  []any // that came before one of an earlier place
}

func newTally(ref *reference) *tally {
	if ref == nil {
		return &tally{made: newReference()}
	}
	return &tally{ref: ref, taken: make([]bool, len(ref.values)), missing: len(ref.values), last: -1}
}

// enter records a value, and returns how many have come.
func (t *tally) enter(v any) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	t.lastAt = time.Now()
	if t.ref == nil {
		t.made.add(v)
		if t.unit != nil {
			t.of = append(t.of, t.unit())
		}
		return t.count
	}
	places := t.ref.places(v)
	free := slices.IndexFunc(places, func(i int) bool { return !t.taken[i] })
	switch {
	case len(places) == 0:
		t.foreign = append(t.foreign, v)
	case free < 0:
		t.repeated = append(t.repeated, v)
	default:
		place := places[free]
		t.taken[place] = true
		t.missing--
		if place < t.last {
			t.swapped = append(t.swapped, v)
		}
		t.last = max(t.last, place)
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
	return t.ref != nil && t.missing == 0
}

// lost returns the values from a place of the reference on that have not come.
func (t *tally) lost(from int) (all []any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, taken := range t.taken {
		if i >= from && !taken {
			all = append(all, t.ref.values[i])
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
