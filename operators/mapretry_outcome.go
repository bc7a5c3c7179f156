package operators

import (
	"iter"

	"github.com/retrywhen/retrywhen/retry"
)

// outcome is what has become of an item, on its way to the consumer.
type outcome[T, U any] struct {
	seq      int64
	attempts int
	item     T
	value    U
	// One of these is set if the item failed.
	dead    *retry.Error // for DeadLetter
	err     error        // ends the stream
	dropped bool         // its own context has ended, and there is no DeadLetter
}

// outcomes are what the consumer is to see next, and under Ordered what has to wait for an earlier one.
type outcomes[T, U any] struct {
	ready   []outcome[T, U]
	ordered bool
	next    int64            // the seq that comes next
	ring    []*outcome[T, U] // by seq modulo its length, a power of two; nil: not there yet
	held    int              // how many are in ring
}

// put adds the outcome of an item.
func (s *outcomes[T, U]) put(o *outcome[T, U]) {
	if !s.ordered {
		s.ready = append(s.ready, *o)
		return
	}
	if o.seq != s.next {
		s.hold(o)
		return
	}
	s.ready = append(s.ready, *o)
	s.next++
	for s.held > 0 {
		place := &s.ring[s.next&int64(len(s.ring)-1)]
		if *place == nil {
			return
		}
		s.ready = append(s.ready, **place)
		*place = nil
		s.held--
		s.next++
	}
}

// all returns what is there.
func (s *outcomes[T, U]) all() iter.Seq[*outcome[T, U]] {
	return func(yield func(*outcome[T, U]) bool) {
		for i := range s.ready {
			if !yield(&s.ready[i]) {
				return
			}
		}
		for _, o := range s.ring {
			if o != nil && !yield(o) {
				return
			}
		}
	}
}

// hold keeps an outcome until its turn has come.
func (s *outcomes[T, U]) hold(o *outcome[T, U]) {
	if span := o.seq - s.next + 1; span > int64(len(s.ring)) {
		size := max(16, 2*len(s.ring))
		for int64(size) < span {
			size *= 2
		}
		ring := make([]*outcome[T, U], size)
		for _, kept := range s.ring {
			if kept != nil {
				ring[kept.seq&int64(size-1)] = kept
			}
		}
		s.ring = ring
	}
	kept := *o
	s.ring[o.seq&int64(len(s.ring)-1)] = &kept
	s.held++
}
