package mapretry

// result is what has become of an item, on its way to the consumer.
type result[T, U any] struct {
	seq   int64
	calls int
	item  T
	kind  kind
	value U     // of a success
	err   error // of a failure; of a dead letter it is a *retry.Error
}

type kind uint8

const (
	success    kind = iota
	failure         // ends the stream
	deadLetter      // goes to DeadLetter
	dropped         // its own context has ended, and there is no DeadLetter
)

// results are what the consumer is to see next, and under Ordered what has to wait for the result of an earlier item.
type results[T, U any] struct {
	ready   []result[T, U]
	ordered bool
	next    int64                // the seq that comes next
	late    queue[*result[T, U]] // of the items from next on; nil: not there yet
	held    int                  // how many are in late
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

// all yields the results that nobody has taken.
func (s *results[T, U]) all(yield func(*result[T, U]) bool) {
	for i := range s.ready {
		if !yield(&s.ready[i]) {
			return
		}
	}
	for i := range s.late.len() {
		if r := *s.late.at(i); r != nil && !yield(r) {
			return
		}
	}
}
