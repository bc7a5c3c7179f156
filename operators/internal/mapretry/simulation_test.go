package mapretry

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

type intResult = result[int, int]

// Events come in any order: calls of any length, a slow consumer, a source with gaps, signals, late ticks. In every
// case no worker idles while an item is due and its result has a place, neither the source nor the consumer waits
// without a reason, all limits hold, and each item has exactly one end.
func TestScheduler_InAnyOrder(t *testing.T) {
	runs := uint64(5000)
	if testing.Short() {
		runs /= 10
	}
	for seed := range runs {
		m := newSimulation(t, rand.New(rand.NewPCG(seed, 0)))
		m.run()
		if t.Failed() {
			t.Fatalf("with seed %d, %+v", seed, &m.s)
		}
	}
}

// simulation is a run without goroutines. It chooses at random what they would do next.
type simulation struct {
	*testing.T
	r *rand.Rand
	s scheduler[int, int]

	now        time.Duration
	timer      time.Duration // when it ticks; never if it is not set
	ticked     bool          // and no worker has seen it
	fires      uint64
	fired      bool // and no worker has seen it
	failing    int  // of 100 calls
	ending     int  // of 1000
	longest    int
	workers    []*simWorker
	wakes      int // that no worker has received yet
	offered, n int
	source     waiter
	consumer   waiter
	batch      int  // results that the consumer has not processed yet
	over       bool // a failure has ended the stream
	ends       []int
	last       int64 // the seq delivered last
}

// waiter is the state of the source or the consumer.
type waiter uint8

const (
	runs waiter = iota
	waits
	ended
)

type simWorker struct {
	worker[int]
	state simState
	now   time.Duration // the time as it knows it
	due   time.Duration // while it sets the timer
}

type simState uint8

const (
	simComing simState = iota
	simSetting
	simCalling
	simIdle
	simWatching
)

func newSimulation(t *testing.T, r *rand.Rand) *simulation {
	m := &simulation{
		T: t, r: r, timer: never, last: -1,
		n:       r.IntN(40),
		failing: r.IntN(100),
		longest: 1 + r.IntN(20),
		s:       newScheduler[int, int](1+r.IntN(6), 1+r.IntN(12), r.IntN(2) == 0),
	}
	if r.IntN(4) == 0 {
		m.ending = 20
	}
	m.ends = make([]int, m.n)
	return m
}

// run continues until the consumer learns that nothing more comes.
func (m *simulation) run() {
	for range 100_000 {
		if m.Failed() || m.consumer == ended {
			break
		}
		m.step()
		m.checkLimits()
	}
	if m.Failed() || m.over {
		return
	}
	if m.consumer != ended {
		m.Error("the run does not end")
	}
	for i, n := range m.ends {
		if n != 1 {
			m.Errorf("item %d has %d ends", i, n)
		}
	}
}

// step does one of the things that are possible now, or lets time pass.
func (m *simulation) step() {
	var can []func()
	if m.source == runs {
		can = append(can, m.offer)
	}
	if m.consumer == runs && m.batch == 0 {
		can = append(can, m.take)
	}
	busy := len(can) > 0
	for _, w := range m.workers {
		if f := m.canDo(w); f != nil {
			can = append(can, f)
			busy = busy || w.state != simCalling
		}
	}
	if !busy {
		m.checkRest()
	}
	if m.batch > 0 {
		can = append(can, m.comeTo)
	}
	can = append(can, m.pass)
	if m.r.IntN(20) == 0 {
		can = append(can, m.fire)
	}
	can[m.r.IntN(len(can))]()
	m.do()
}

// canDo returns what the worker can do now, nil if it must wait.
func (m *simulation) canDo(w *simWorker) func() {
	switch {
	case w.state == simComing:
		return func() { m.s.arrive(); m.next(w) }
	case w.state == simSetting:
		return func() { m.set(w) }
	case w.state == simCalling:
		return func() { m.endCall(w); m.next(w) }
	case w.state == simIdle && m.wakes > 0:
		return func() { m.wakes--; m.s.arrive(); w.now = unknown; m.next(w) }
	case w.state == simWatching && (m.wakes > 0 || m.ticked || m.fired):
		return func() { m.stopWatching(w) }
	}
	return nil
}

// do does the scheduler's todo.
func (m *simulation) do() {
	now := m.s.todo
	m.s.todo = todo{}
	for range now.start {
		m.workers = append(m.workers, &simWorker{now: unknown})
	}
	m.wakes += int(now.wake)
	if now.source {
		m.wake(&m.source, "source")
	}
	if now.consumer {
		m.wake(&m.consumer, "consumer")
	}
}

func (m *simulation) wake(w *waiter, name string) {
	if *w != waits {
		m.Errorf("the %s is woken, but does not wait", name)
	}
	*w = runs
}

func (m *simulation) offer() {
	switch {
	case m.offered == m.n:
		m.s.endSource()
		m.source = ended
	case m.s.offer(m.offered):
		m.offered++
	default:
		m.source = waits
	}
}

func (m *simulation) take() {
	ready, more := m.s.take(nil)
	m.batch = len(ready)
	for _, r := range ready {
		m.ends[r.item]++
		if m.s.results.late != nil && r.seq != m.last+1 {
			m.Errorf("%d comes after %d", r.seq, m.last)
		}
		m.last = r.seq
		if r.kind == fatal {
			m.over, m.consumer = true, ended
			return
		}
	}
	switch {
	case m.batch > 0:
	case more:
		m.consumer = waits
	default:
		m.consumer = ended
	}
}

// comeTo makes the consumer process its next result.
func (m *simulation) comeTo() {
	m.batch--
	m.s.comeTo(m.batch)
}

func (m *simulation) next(w *simWorker) {
	if w.now == unknown && len(m.s.waiting) > 0 {
		w.now = m.now
	}
	if w.now != unknown {
		m.s.signal(m.fires, w.now)
	}
	first := m.s.nextSeq
	step, due := m.s.next(&w.worker, w.now)
	switch step {
	case makeCall:
		w.state = simCalling
	case setTimer:
		w.state, w.due = simSetting, due
	case idle:
		w.state = simIdle
	case watch:
		w.state = simWatching
	}
	if m.s.nextSeq > first && w.now != unknown && m.s.isDue(w.now) {
		m.Error("a new item is called while another one is due")
	}
}

// set sets the timer, which ticks at once if it is due.
func (m *simulation) set(w *simWorker) {
	if m.timer = w.due; m.timer <= m.now {
		m.timer, m.ticked = never, true
	}
	m.s.timerIsSet()
	if !w.busy {
		w.now = unknown
	}
	m.next(w)
}

func (m *simulation) stopWatching(w *simWorker) {
	woken, ticked := m.wakes > 0, m.ticked && m.r.IntN(2) == 0
	switch {
	case ticked:
		m.ticked = false
	case m.fired:
		m.fired = false
	case !woken:
		ticked, m.ticked = true, false
	}
	if woken {
		m.wakes--
	}
	m.s.stopWatching(woken)
	if ticked {
		m.s.tick()
	}
	w.now = unknown
	m.next(w)
}

// endCall ends a call.
func (m *simulation) endCall(w *simWorker) {
	it := w.item
	it.attempts++
	r := &intResult{seq: it.seq, item: it.value, kind: []kind{success, deadLetter, dropped}[m.r.IntN(3)]}
	switch {
	case m.r.IntN(1000) < m.ending:
		r.kind = fatal
		m.s.finish(&w.worker, r)
	case it.attempts < 20 && m.r.IntN(100) < m.failing:
		w.now = m.now
		seen := m.fires
		if seen > 0 && m.r.IntN(2) == 0 {
			seen-- // a signal has fired since the policy decided
		}
		m.s.wait(&w.worker, m.now, m.now+time.Duration(m.r.IntN(m.longest)), seen, m.fires)
		return
	default:
		m.s.finish(&w.worker, r)
	}
	w.now = unknown
}

// pass lets time pass, and makes the timer tick.
func (m *simulation) pass() {
	m.now += time.Duration(m.r.IntN(4))
	if m.timer <= m.now {
		m.timer, m.ticked = never, true
	}
}

func (m *simulation) fire() {
	m.fires++
	m.fired = true
}

func (m *simulation) checkLimits() {
	calling := 0
	for _, w := range m.workers {
		if w.busy {
			calling++
		}
	}
	s := &m.s
	if calling != s.calls || len(m.workers) > s.maxWorkers || s.fresh.len() > s.buffer ||
		s.results.late == nil && s.calls+len(s.results.ready)+s.taken > s.buffer ||
		s.fresh.len()+s.calls+len(s.waiting)+len(s.results.late) > s.maxPending {
		m.Errorf("a limit does not hold, with %d calls", calling)
	}
}

// checkRest is called when nothing is possible except that time passes, a call ends or the consumer continues.
func (m *simulation) checkRest() {
	if m.over {
		return
	}
	s := &m.s
	idles := s.calls < s.maxWorkers && s.calls+len(s.results.ready)+m.batch < s.buffer && s.nextSeq <= s.lastSeq
	watched := false
	for _, w := range m.workers {
		watched = watched || w.state == simWatching
	}
	switch {
	case m.wakes > 0 && m.s.idle != 0:
		m.Errorf("%d wakes reach no worker", m.wakes)
	case idles && (s.fresh.len() > 0 || s.isDue(m.now)):
		m.Errorf("a worker idles at %v", m.now)
	case idles && len(s.waiting) > 0 && (!watched || m.timer > s.waiting[0].due):
		m.Errorf("no worker will come for the item that is due first: the timer is set to %v", m.timer)
	case m.source == waits && s.lastSeq == math.MaxInt64 && s.fresh.len() <= s.buffer/2 && s.hasRoom():
		m.Error("the source waits without a reason")
	case m.consumer == waits && (len(s.results.ready) > 0 || s.done()):
		m.Error("the consumer waits without a reason")
	}
}
