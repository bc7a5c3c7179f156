package durable

import (
	"container/heap"
	"time"
)

// waiting is a heap of deliveries, ordered by the end of their waits.
type waiting []*delivery

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].ready.Before(w[j].ready) }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(d any)        { *w = append(*w, d.(*delivery)) }
func (w *waiting) Pop() any {
	s := *w
	d := s[len(s)-1]
	s[len(s)-1] = nil
	*w = s[:len(s)-1]
	return d
}

// hold keeps the job until it is due, at most for short: the due time is the server's, and a clock that was set meanwhile
// must hold nothing up. It returns false if the feed has stopped or there is no room.
func (f *feed) hold(d *delivery) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || len(f.waiting) >= maxHeld {
		return false
	}
	wait := min(f.a.until(d.state.due), short)
	d.ready = time.Now().Add(wait)
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
		if wait := time.Until(f.waiting[0].ready); wait > 0 {
			f.timer.Reset(wait)
			return
		}
		f.push(heap.Pop(&f.waiting).(*delivery))
	}
}
