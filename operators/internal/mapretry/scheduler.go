package mapretry

import (
	"math"
	"time"
)

// scheduler decides which item is called next and which goroutine is woken. Its methods are the events of a run, one at
// a time. They receive the time, and record in todo what must be done about an event. The scheduler reads no clock,
// starts no goroutine and calls no other code.
//
// There is one source, one consumer, and any number of workers. A worker comes (it was started or woken, and has not
// looked for an item yet), calls, or idles until it is woken. While items wait, an idle worker can also watch: it waits
// for the timer and for the policy's signals too.
type scheduler[T, U any] struct {
	maxWorkers int
	maxPending int
	buffer     int // the maximum number of items that are not called yet, and of results

	fresh      queue[T] // taken from the source, not called yet
	nextSeq    int64    // of the first item in fresh
	waiting    heap[waiting[T]]
	waits      uint64 // that have begun
	calls      int    // that are running
	results    results[T, U]
	taken      int        // number of results that the consumer has taken and not processed yet
	unfinished []*item[T] // items that will not be called again
	lastSeq    int64      // of the item that ends the stream: no later one is called

	workers  int // that were started
	coming   int
	idle     int // and not woken yet
	watching int // of those that idle, or were woken since

	sourceEnded   bool
	sourceWaits   bool
	consumerWaits bool
	workersWait   bool // a worker has found no room for another result

	arming bool          // the timer is being set
	armed  time.Duration // when it ticks; never if it is not set
	fires  uint64        // how often the policy's signals have fired, as far as the waiting items know

	todo todo
}

// todo is the work after an event.
type todo struct {
	start    uint8 // number of new workers to start
	wake     uint8 // number of idle workers to wake
	source   bool
	consumer bool
}

// step is the next step of a worker.
type step uint8

const (
	makeCall step = iota
	setTimer      // and call next again
	idle          // until it is woken
	watch         // until it is woken, the timer ticks or a signal fires
)

// worker is a worker as the scheduler sees it.
type worker[T any] struct {
	item *item[T] // nil or a zero item if it has none to call
	busy bool     // it has an item to call
}

func newScheduler[T, U any](workers, maxPending int, ordered bool) scheduler[T, U] {
	s := scheduler[T, U]{
		maxWorkers: workers,
		maxPending: maxPending,
		buffer:     max(workers, 4),
		lastSeq:    math.MaxInt64,
		armed:      never,
	}
	if ordered {
		s.results.late = make(map[int64]result[T, U])
	}
	return s
}

// The source.

// offer takes an item if there is room for it. If not, the source must wait until it is woken, and then offer the item
// again.
func (s *scheduler[T, U]) offer(v T) bool {
	if !s.hasRoom() {
		s.sourceWaits = true
		return false
	}
	s.fresh.push(v)
	s.delegate(unknown)
	return true
}

// endSource records that the source has ended.
func (s *scheduler[T, U]) endSource() {
	s.sourceEnded = true
	s.tellConsumer()
}

func (s *scheduler[T, U]) hasRoom() bool {
	pending := s.fresh.len() + s.calls + len(s.waiting) + len(s.results.late)
	return s.fresh.len() < s.buffer && pending < s.maxPending
}

// admit wakes the source if there is room again, for several items at once if possible.
func (s *scheduler[T, U]) admit() {
	if s.sourceWaits && s.fresh.len() <= s.buffer/2 && s.hasRoom() {
		s.sourceWaits = false
		s.todo.source = true
	}
}

// The consumer.

// take returns the results that are ready, and reuses the slice of used results. If there are none, more reports
// whether there may be some when the consumer is woken.
func (s *scheduler[T, U]) take(used []result[T, U]) (ready []result[T, U], more bool) {
	s.consumerWaits = len(s.results.ready) == 0 && !s.done()
	ready = s.results.ready
	clear(used)
	s.results.ready = used[:0]
	s.taken = len(ready)
	return ready, s.consumerWaits || len(ready) > 0
}

// comeTo records how many of the taken results the consumer has not processed yet.
func (s *scheduler[T, U]) comeTo(left int) {
	s.taken = left
	if s.workersWait && s.hasCapacity() {
		s.workersWait = false
		s.wakeWorker()
	}
}

func (s *scheduler[T, U]) done() bool {
	return s.sourceEnded && s.fresh.len() == 0 && s.calls == 0 && len(s.waiting) == 0
}

// tellConsumer wakes the consumer if it waits and there is something for it.
func (s *scheduler[T, U]) tellConsumer() {
	if s.consumerWaits && (len(s.results.ready) > 0 || s.done()) {
		s.consumerWaits = false
		s.todo.consumer = true
	}
}

// The workers.

// next returns the next step of a worker. Before setTimer, which the worker calls for the returned time, the worker
// calls next again only after timerIsSet.
func (s *scheduler[T, U]) next(w *worker[T], now time.Duration) (step, time.Duration) {
	w.busy = w.busy || s.choose(w, now)
	if !w.busy || s.watching > 0 {
		if due, ok := s.arm(now); ok {
			return setTimer, due
		}
	}
	switch {
	case w.busy:
		s.delegate(now)
		return makeCall, 0
	case len(s.waiting) > 0:
		s.idle++
		s.watching++
		return watch, 0
	default:
		s.idle++
		return idle, 0
	}
}

// choose gives the worker an item to call: one that is due, else a fresh one.
func (s *scheduler[T, U]) choose(w *worker[T], now time.Duration) bool {
	if !s.hasCapacity() {
		s.workersWait = true
		return false
	}
	for s.isDue(now) {
		it := s.waiting.Pop().item
		if it.seq <= s.lastSeq {
			w.item = it
			s.calls++
			return true
		}
		s.unfinished = append(s.unfinished, it)
	}
	if !s.callsFresh() {
		return false
	}
	if w.item == nil {
		w.item = new(item[T])
	}
	w.item.value, w.item.seq = s.fresh.pop(), s.nextSeq
	s.nextSeq++
	s.calls++
	s.admit()
	return true
}

// hasCapacity reports whether there is room for the result of one more call.
func (s *scheduler[T, U]) hasCapacity() bool { return s.calls+len(s.results.ready)+s.taken < s.buffer }

func (s *scheduler[T, U]) isDue(now time.Duration) bool {
	return len(s.waiting) > 0 && s.waiting[0].due <= now
}

func (s *scheduler[T, U]) callsFresh() bool { return s.fresh.len() > 0 && s.nextSeq <= s.lastSeq }

// delegate makes one more worker come if there is work for it. That worker delegates too, so a thousand due items get
// all workers.
func (s *scheduler[T, U]) delegate(now time.Duration) {
	jobs := 0
	if s.callsFresh() {
		jobs = s.fresh.len()
	}
	if s.isDue(now) {
		jobs++
	}
	switch {
	case jobs > s.coming && s.hasCapacity():
		s.wakeWorker()
	case jobs > s.coming:
		s.workersWait = true
	case jobs == 0 && s.coming+s.watching == 0 && len(s.waiting) > 0:
		s.wakeWorker() // one worker must watch
	}
}

// wakeWorker makes a worker come: an idle one, else a new one if the limit allows it.
func (s *scheduler[T, U]) wakeWorker() {
	switch {
	case s.idle > 0:
		s.idle--
		s.todo.wake++
	case s.workers < s.maxWorkers:
		s.workers++
		s.todo.start++
	default:
		return
	}
	s.coming++
}

// arrive records that a started or woken worker has come.
func (s *scheduler[T, U]) arrive() { s.coming-- }

// stopWatching records that a worker has stopped watching.
func (s *scheduler[T, U]) stopWatching(woken bool) {
	s.watching--
	if woken {
		s.coming--
	} else {
		s.idle--
	}
}

// The result of a call.

// finish records the result of the worker's item.
func (s *scheduler[T, U]) finish(w *worker[T], r *result[T, U]) {
	if r.kind == fatal {
		if s.results.late != nil {
			s.lastSeq = min(s.lastSeq, r.seq)
		} else {
			s.lastSeq = -1
		}
	}
	s.results.put(r)
	*w.item = item[T]{}
	s.callEnded(w)
}

// wait makes the worker's item wait until it is due. The policy's signals had fired seen times before its failure and
// have fired the given number of times: a signal since the failure ends the wait.
func (s *scheduler[T, U]) wait(w *worker[T], now, due time.Duration, seen, fires uint64) {
	s.signal(fires, now)
	if seen != fires {
		due = now
	}
	s.waits++
	s.waiting.Push(waiting[T]{due: due, order: s.waits, item: w.item})
	w.item = nil
	s.callEnded(w)
}

// abandon leaves the worker's item unfinished.
func (s *scheduler[T, U]) abandon(w *worker[T]) {
	s.unfinished = append(s.unfinished, w.item)
	w.item = nil
	s.callEnded(w)
}

func (s *scheduler[T, U]) callEnded(w *worker[T]) {
	w.busy = false
	s.calls--
	s.admit()
	s.tellConsumer()
}

// The timer and the signals.

// arm returns the time at which the timer must tick, if the timer must be set: it is not yet set for the first due
// item, nor being set, and that item is not due yet.
func (s *scheduler[T, U]) arm(now time.Duration) (time.Duration, bool) {
	if s.arming || len(s.waiting) == 0 || s.isDue(now) || s.armed <= s.waiting[0].due {
		return 0, false
	}
	// armed is recorded before the timer is set, so that the tick, which clears it, comes later.
	s.arming, s.armed = true, s.waiting[0].due
	return s.armed, true
}

// timerIsSet records that the timer is set for the time that arm returned.
func (s *scheduler[T, U]) timerIsSet() { s.arming = false }

// tick records that the timer has ticked.
func (s *scheduler[T, U]) tick() { s.armed = never }

// signal ends the waits that began before the policy's signals had fired the given number of times.
func (s *scheduler[T, U]) signal(fires uint64, now time.Duration) {
	if s.fires == fires {
		return
	}
	s.fires = fires
	for i := range s.waiting {
		w := &s.waiting[i]
		w.due = min(w.due, now)
	}
	s.waiting.Init()
}

// The end.

// notFinished returns the items that were called, or accepted too late, and have no result.
func (s *scheduler[T, U]) notFinished() []*item[T] {
	all := s.unfinished
	for _, w := range s.waiting {
		all = append(all, w.item)
	}
	return all
}
