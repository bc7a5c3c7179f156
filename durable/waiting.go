package durable

import (
	"container/heap"
	"time"
)

// waiting is a heap of deliveries, ordered by due time.
type waiting []*delivery

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].state.due.Before(w[j].state.due) }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(d any)        { *w = append(*w, d.(*delivery)) }
func (w *waiting) Pop() any {
	s := *w
	d := s[len(s)-1]
	s[len(s)-1] = nil
	*w = s[:len(s)-1]
	return d
}

// mayHold reports whether there is room for another waiting job.
func (f *feed) mayHold() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.stopped && len(f.waiting) < maxHeld
}

// hold keeps the job until it is due. It returns false if the feed has stopped or there is no room.
func (f *feed) hold(d *delivery) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || len(f.waiting) >= maxHeld {
		return false
	}
	wait := f.a.until(d.state.due)
	if wait <= 0 {
		f.push(d)
		return true
	}
	heap.Push(&f.waiting, d)
	if f.waiting[0] == d {
		if f.timer == nil {
			f.timer = time.AfterFunc(wait, f.due)
		} else {
			f.timer.Reset(wait)
		}
	}
	return true
}

// due makes the jobs ready whose due time has come.
func (f *feed) due() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	for len(f.waiting) > 0 {
		if wait := f.a.until(f.waiting[0].state.due); wait > 0 {
			f.timer.Reset(wait)
			return
		}
		f.push(heap.Pop(&f.waiting).(*delivery))
	}
}
