package mapretry

import (
	"maps"
	"slices"
)

// result is the result of an item for the consumer.
type result[T, U any] struct {
	seq      int64
	attempts int
	item     T
	kind     kind
	value    U     // the value of a success
	err      error // the error of a failure; a *retry.Error for a dead letter
}

type kind uint8

const (
	success    kind = iota
	fatal           // ends the stream
	deadLetter      // goes to DeadLetter
	dropped         // its own context has ended, and there is no DeadLetter
)

// results are the results that the consumer receives next, and under Ordered also those that wait for the result of an
// earlier item.
type results[T, U any] struct {
	ready []result[T, U]
	next  int64                  // under Ordered the next seq to deliver
	late  map[int64]result[T, U] // those that wait, by seq; nil without Ordered
}

func (s *results[T, U]) put(r *result[T, U]) {
	if s.late != nil && r.seq != s.next {
		s.late[r.seq] = *r
		return
	}
	s.ready = append(s.ready, *r)
	s.next++
	for len(s.late) > 0 {
		r, is := s.late[s.next]
		if !is {
			return
		}
		delete(s.late, s.next)
		s.ready = append(s.ready, r)
		s.next++
	}
}

// rest returns the results that were not taken.
func (s *results[T, U]) rest() []result[T, U] {
	all := s.ready
	for _, seq := range slices.Sorted(maps.Keys(s.late)) {
		all = append(all, s.late[seq])
	}
	return all
}
