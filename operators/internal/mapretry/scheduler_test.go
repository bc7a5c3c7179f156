package mapretry

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
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
