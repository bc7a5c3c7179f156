package mapretry

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/stream"
)

// Package operators tests a run. These tests are for what cannot be seen from there.

func TestMain(m *testing.M) { check.Main(m) }

// No worker comes without work, and no timer is set that nobody watches.
func TestScheduler_DoesNothingInVain(t *testing.T) {
	s := newScheduler[int, int](9, 9, false)
	var w worker[int]
	s.offer(0)
	s.arrive()
	if step, _ := s.next(&w, unknown); step != makeCall || s.todo != (todo{start: 1}) {
		t.Errorf("the first worker's step is %d, to do is %+v", step, s.todo)
	}
	s.wait(&w, 1, 9, 0, 0)
	s.offer(1)
	if step, _ := s.next(&w, 1); step != makeCall {
		t.Errorf("before a call, nobody watches, and the step is %d", step)
	}
}

// The source waits when four items are not called yet, until two of them are.
func TestScheduler_WakesTheSourceForSeveralItems(t *testing.T) {
	s := newScheduler[int, int](1, 99, false)
	for i := range 5 {
		if took := s.offer(i); took != (i < 4) {
			t.Errorf("there is room for item %d: %v", i, took)
		}
	}
	var w worker[int]
	s.arrive()
	for calls := 1; calls <= 2; calls++ {
		if step, _ := s.next(&w, unknown); step != makeCall || s.todo.source != (calls == 2) {
			t.Errorf("step %d for call %d, the source is woken: %v", step, calls, s.todo.source)
		}
		s.finish(&w, &intResult{item: calls})
	}
}

// After a failure that ends the stream an item that is due is not called.
func TestScheduler_CallsNothingAfterTheEnd(t *testing.T) {
	s := newScheduler[int, int](2, 9, false)
	var a, b worker[int]
	for i, w := range []*worker[int]{&a, &b} {
		s.offer(i)
		s.arrive()
		s.next(w, unknown)
	}
	s.wait(&a, 1, 2, 0, 0)
	s.finish(&b, &intResult{seq: 1, kind: fatal})
	if step, _ := s.next(&a, 2); step != idle {
		t.Errorf("the next step is %d", step)
	}
	if left := s.notFinished(); len(left) != 1 || left[0].value != 0 {
		t.Errorf("not finished are %v", left)
	}
}

// A queue that is rarely empty uses memory in proportion to its values, and keeps no removed value.
func TestQueue_StaysSmall(t *testing.T) {
	var q queue[*int]
	q.push(new(int))
	for range 1000 {
		q.push(new(int))
		q.push(new(int))
		q.pop()
		q.pop()
		for i, v := range q.values[:cap(q.values)] {
			if there := i >= q.first && i < len(q.values); there != (v != nil) {
				t.Fatalf("place %d: a value is there: %v, want %v", i, v != nil, there)
			}
		}
	}
	if cap(q.values) > 8 {
		t.Errorf("room for %d values, of which there are 3 at most", cap(q.values))
	}
	if n := testing.AllocsPerRun(100, func() { q.push(nil); q.pop() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// movedClock stands still, except that arming a timer moves it by step.
type movedClock struct {
	at, step time.Duration
	armed    []time.Duration
	stopped  int
}

var start = time.Unix(0, 0)

func (c *movedClock) Now() time.Time { return start.Add(c.at) }

func (c *movedClock) AfterFunc(d time.Duration, _ func()) stream.Stopper {
	c.armed = append(c.armed, d)
	c.at += c.step
	return c
}

func (c *movedClock) Stop() bool {
	c.stopped++
	return true
}

func TestTimer_OnAClock(t *testing.T) {
	for name, c := range map[string]struct {
		clock  movedClock
		armed  int
		ticked bool
	}{
		"later":                {movedClock{at: 4}, 1, false},
		"now":                  {movedClock{at: 5}, 0, true},
		"past":                 {movedClock{at: 6}, 0, true},
		"moved up to the time": {movedClock{at: 4, step: 1}, 1, true},
		"moved past it":        {movedClock{at: 4, step: 2}, 1, true},
	} {
		timer := newTicker(&c.clock, start)
		timer.set(5)
		if len(c.clock.armed) != c.armed || len(timer.C) == 1 != c.ticked {
			t.Errorf("%s: armed %v, ticked %v", name, c.clock.armed, len(timer.C) == 1)
		}
		if c.armed == 1 && c.clock.armed[0] != 1 {
			t.Errorf("%s: armed for %v, want 1 ns", name, c.clock.armed)
		}
		timer.tick() // a second tick does not block
		timer.set(10)
		timer.stop()
		timer.stop()
		if c.clock.stopped != len(c.clock.armed) {
			t.Errorf("%s: %d timers armed and %d stopped", name, len(c.clock.armed), c.clock.stopped)
		}
	}
}

func TestTimer_OnTheSystemsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		timer := newTicker(stream.ClockFrom(t.Context()), begin)
		time.Sleep(2 * time.Hour)
		select {
		case <-timer.C:
			t.Error("it ticks before it is set")
		default:
		}
		timer.set(4 * time.Hour)
		timer.set(3 * time.Hour)
		if <-timer.C; time.Since(begin) != 3*time.Hour {
			t.Errorf("it ticked after %v, want 3 h", time.Since(begin))
		}
		timer.set(4 * time.Hour)
		timer.stop()
		time.Sleep(2 * time.Hour)
		select {
		case <-timer.C:
			t.Error("it ticks after it was stopped")
		default:
		}
	})
}
