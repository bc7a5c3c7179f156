package sim

import "time"

// request is a request to the server. Its caller has left if the call's turn has changed since.
type request struct {
	who     int32
	version uint32
	at      time.Duration
}

// request sends a call's request to the server.
func (s *overload) request(who int32) {
	s.still++
	s.res.Offered++
	s.res.Flow.bump(s.res.Flow.Offered, s.now)
	r := request{who, s.calls[who].version, s.now}
	switch {
	case !s.busy:
		s.serve(r)
	case s.Queue == 0 || s.queue.len() < s.Queue:
		s.queue.push(r)
	default:
		s.res.Refused++
		s.res.Flow.bump(s.res.Flow.Refused, s.now)
		if s.Refusal > 0 {
			s.schedule(add(s.now, s.Refusal), refused, who, r.version)
			return
		}
		s.failed(who, errFailed)
	}
}

// serve starts the work on a request; the server must be free.
func (s *overload) serve(r request) {
	s.busy, s.at = true, r
	s.wait.add(int64(s.now - r.at))
	s.schedule(s.Trigger.finish(s.now, s.Service.Mean), finishes, none, 0)
}

// finished ends the work on a request and starts the next one.
func (s *overload) finished() {
	done := s.at
	s.busy = false
	for s.queue.len() > 0 && !s.busy {
		r := s.queue.pop()
		if s.Drop && s.abandoned(r) {
			s.res.Dropped++
			continue
		}
		s.serve(r)
	}
	if s.abandoned(done) {
		s.res.Wasted++
		s.res.Flow.bump(s.res.Flow.Wasted, s.now)
		return
	}
	if s.Failures > 0 && s.failing.Float64() < s.Failures {
		s.res.Failed++
		top := done.who
		for s.calls[top].above != none {
			top = s.calls[top].above
		}
		s.answered(&s.calls[top])
		s.failed(done.who, errFailed)
		return
	}
	s.res.Served++
	s.succeeded(done.who)
}

// abandoned reports whether a request's caller has left.
func (s *overload) abandoned(r request) bool { return s.calls[r.who].version != r.version }

// fifo is a queue of requests.
type fifo struct {
	all  []request
	head int
}

func (q *fifo) len() int { return len(q.all) - q.head }

func (q *fifo) push(r request) {
	if q.head > 1024 && 2*q.head > len(q.all) {
		n := copy(q.all, q.all[q.head:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, r)
}

func (q *fifo) pop() request {
	r := q.all[q.head]
	q.head++
	return r
}
