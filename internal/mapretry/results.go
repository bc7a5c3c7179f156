package mapretry

// result is the result of an item for the consumer.
type result[T, U any] struct {
	seq   int64
	calls int
	item  T
	kind  kind
	value U     // the value of a success
	err   error // the error of a failure; a *retry.Error for a dead letter
}

type kind uint8

const (
	success    kind = iota
	failure         // ends the stream
	deadLetter      // goes to DeadLetter
	dropped         // its own context has ended, and there is no DeadLetter
)

// results are the results that the consumer receives next, and under Ordered also those that wait for the result of an
// earlier item.
type results[T, U any] struct {
	ready   []result[T, U]
	ordered bool
	next    int64                // the next seq to deliver
	late    queue[*result[T, U]] // the results of the items from next on; nil if there is none yet
	held    int                  // number of results in late
}

func (s *results[T, U]) put(r *result[T, U]) {
	if !s.ordered {
		s.ready = append(s.ready, *r)
		return
	}
	if r.seq == s.next && s.late.len() == 0 {
		s.ready = append(s.ready, *r)
		s.next++
		return
	}
	s.hold(r)
	for s.late.len() > 0 && *s.late.at(0) != nil {
		s.ready = append(s.ready, *s.late.pop())
		s.held--
		s.next++
	}
}

func (s *results[T, U]) hold(r *result[T, U]) {
	i := int(r.seq - s.next)
	for s.late.len() <= i {
		s.late.push(nil)
	}
	held := *r
	*s.late.at(i) = &held
	s.held++
}

// rest returns the results that were not taken.
func (s *results[T, U]) rest() []result[T, U] {
	all := s.ready
	for _, r := range s.late.all() {
		if r != nil {
			all = append(all, *r)
		}
	}
	return all
}
