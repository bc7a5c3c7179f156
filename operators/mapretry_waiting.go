package operators

import "iter"

// waitingRoom holds the items that wait for their next call: each in a slot, and the slots in a heap by the time they
// are due. Slots are in blocks that are never moved, so that growing copies nothing, and are given back all at once
// when the room is empty.
type waitingRoom[T any] struct {
	heap   dueHeap
	blocks []*[slotsPerBlock]job[T]
	free   []uint32 // slots below used that are free
	used   uint32   // slots that have been handed out
	turn   uint32
}

const slotsPerBlock = 512

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
			w.blocks = append(w.blocks, new([slotsPerBlock]job[T]))
		}
	}
	*w.at(place) = *j
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
	*j = *s
	if len(w.heap) == 0 && len(w.blocks) > 1 {
		w.heap, w.blocks, w.free, w.used = nil, nil, nil, 0
		return
	}
	*s = job[T]{} // lets go of the item
	w.free = append(w.free, place)
}

// restart ends the waits that began before the policy's signals had fired so often, and starts their rows again.
func (w *waitingRoom[T]) restart(fires uint64, now int64) {
	for i := range w.heap {
		e := &w.heap[i]
		if j := w.at(e.slot); j.row.fires != uint32(fires) {
			j.row.restart(fires)
			e.at = min(e.at, now)
		}
	}
	w.heap.init()
}

// all returns what waits.
func (w *waitingRoom[T]) all() iter.Seq[*job[T]] {
	return func(yield func(*job[T]) bool) {
		for _, e := range w.heap {
			if !yield(w.at(e.slot)) {
				return
			}
		}
	}
}

func (w *waitingRoom[T]) at(place uint32) *job[T] {
	return &w.blocks[place/slotsPerBlock][place%slotsPerBlock]
}
