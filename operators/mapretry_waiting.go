package operators

import (
	"iter"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// waitingRoom holds the items that wait for their next call: each in a slot, and the slots in a heap by the time they
// are due. Slots are in blocks that are never moved, so that growing copies nothing, and are given back all at once
// when the room is empty.
type waitingRoom[T any] struct {
	base   time.Time // what times are reckoned from
	heap   dueHeap
	blocks []*[slotsPerBlock]slot[T]
	free   []uint32 // slots below used that are free
	used   uint32   // slots that have been handed out
	turn   uint32
}

const slotsPerBlock = 512

// job is an item of the source, and where its retries stand.
type job[T any] struct {
	item T
	row  retry.Row
	seq  int64 // its place in the source, from 0
}

// slot is a job while it waits, with a retry.Row in 56 bytes.
type slot[T any] struct {
	seq      int64
	attempts int64
	retries  int64
	first    int64 // since base
	since    int64 // since base, noTime for the zero time
	previous time.Duration
	u        float64 // -1 for not placed
	fires    uint64
	item     T
}

const noTime = math.MinInt64

func (w *waitingRoom[T]) len() int { return len(w.heap) }

// add puts j aside until the given time.
func (w *waitingRoom[T]) add(j *job[T], due int64) {
	var place uint32
	if n := len(w.free); n > 0 {
		place = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		place = w.used
		w.used++
		if int(place/slotsPerBlock) == len(w.blocks) {
			w.blocks = append(w.blocks, new([slotsPerBlock]slot[T]))
		}
	}
	w.pack(w.at(place), j)
	w.turn++
	w.heap.push(dueEntry{at: due, turn: w.turn, slot: place})
}

// due returns when the first job is due. There must be one.
func (w *waitingRoom[T]) due() int64 { return w.heap[0].at }

// take removes the job that is due first into j. There must be one.
func (w *waitingRoom[T]) take(j *job[T]) {
	place := w.heap[0].slot
	w.heap.pop()
	s := w.at(place)
	w.unpack(j, s)
	if len(w.heap) == 0 && len(w.blocks) > 1 {
		w.heap, w.blocks, w.free, w.used = nil, nil, nil, 0
		return
	}
	*s = slot[T]{} // lets go of the item
	w.free = append(w.free, place)
}

// restart ends the waits that began before the policy's signals had fired so often, and starts their rows again.
func (w *waitingRoom[T]) restart(fires uint64, now int64) {
	for i := range w.heap {
		e := &w.heap[i]
		if s := w.at(e.slot); s.fires != fires {
			s.retries, s.since, s.previous, s.u, s.fires = 0, noTime, 0, -1, fires
			e.at = min(e.at, now)
		}
	}
	w.heap.init()
}

// all returns the items that wait, with their attempts.
func (w *waitingRoom[T]) all() iter.Seq2[T, int] {
	return func(yield func(T, int) bool) {
		for _, e := range w.heap {
			if s := w.at(e.slot); !yield(s.item, int(s.attempts)) {
				return
			}
		}
	}
}

func (w *waitingRoom[T]) at(place uint32) *slot[T] {
	return &w.blocks[place/slotsPerBlock][place%slotsPerBlock]
}

func (w *waitingRoom[T]) pack(s *slot[T], j *job[T]) {
	*s = slot[T]{
		seq:      j.seq,
		attempts: int64(j.row.Attempts),
		retries:  int64(j.row.Retries),
		first:    w.nanos(j.row.First),
		since:    w.nanos(j.row.Since),
		previous: j.row.Previous,
		u:        -1,
		fires:    j.row.Fires,
		item:     j.item,
	}
	if j.row.Placed {
		s.u = j.row.U
	}
}

func (w *waitingRoom[T]) unpack(j *job[T], s *slot[T]) {
	*j = job[T]{item: s.item, seq: s.seq, row: retry.Row{
		Attempts: int(s.attempts),
		Retries:  int(s.retries),
		First:    w.time(s.first),
		Since:    w.time(s.since),
		Previous: s.previous,
		Fires:    s.fires,
	}}
	if s.u >= 0 {
		j.row.U, j.row.Placed = s.u, true
	}
}

func (w *waitingRoom[T]) nanos(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return int64(t.Sub(w.base))
}

func (w *waitingRoom[T]) time(nanos int64) time.Time {
	if nanos == noTime {
		return time.Time{}
	}
	return w.base.Add(time.Duration(nanos))
}
