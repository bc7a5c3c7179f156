package streamtest

import (
	"fmt"
	"reflect"
	"runtime"
	"time"
)

// rawTimer is a mockTimer with its place among what is armed.
type rawTimer struct {
	mockTimer
	rank
}

// String names the timer as well as can be: of an AfterFunc, its function.
func (t rawTimer) String() string {
	v := reflect.ValueOf(t.mockTimer).Elem()
	if v.FieldByName("d").IsValid() {
		return "a Ticker"
	}
	fn := v.FieldByName("fn")
	if !fn.IsValid() || fn.IsNil() {
		return "a Timer"
	}
	f := runtime.FuncForPC(uintptr(fn.UnsafePointer()))
	if f == nil {
		return "an AfterFunc"
	}
	file, line := f.FileLine(f.Entry())
	return fmt.Sprintf("the AfterFunc of %s (%s:%d)", shortFunc(f.Name()), shortFile(file), line)
}

// look notes what has become of the timers on the mock itself.
func (h *hand) look() {
	if !h.lent.Load() {
		return
	}
	now := h.gears.armed(h.spare[:0], h.first)
	if !carryOn(h.raw, now) {
		seen := make(map[mockTimer]rank, len(h.raw))
		for _, t := range h.raw {
			seen[t.mockTimer] = t.rank
		}
		for i, t := range now {
			if r := seen[t.mockTimer]; r.due.Equal(t.due) {
				now[i].rank = r
			}
		}
	}
	for i := range now {
		if now[i].seq == 0 {
			now[i].seq = h.nextSeq()
			h.usedAt = time.Now()
		}
	}
	h.raw, h.spare = now, h.raw
}

// carryOn gives the timers now the ranks that they had before. It reports false if there is more to it than that
// some are gone and others have come to the end.
func carryOn(before, now []rawTimer) bool {
	k := 0
	for i, t := range now {
		for k < len(before) && before[k].mockTimer != t.mockTimer && len(before)-k > len(now)-i {
			k++
		}
		switch {
		case k == len(before):
		case before[k].mockTimer != t.mockTimer:
			return false
		default:
			if before[k].due.Equal(t.due) {
				now[i].rank = before[k].rank
			}
			k++
		}
	}
	return true
}

// fine is for how many milliseconds after the mock was last used the hand moves it millisecond by millisecond.
const fine = 5000

// advance lets d pass.
func (h *hand) advance(d time.Duration) {
	if !h.lent.Load() {
		time.Sleep(d)
		return
	}
	// Code that has the mock itself reads its time without asking the hand. When the bubble's clock wakes such code, the
	// mock has to show that instant already; so the hand moves it a nanosecond ahead of each millisecond, and in longer
	// steps when nobody has used it for long.
	now := time.Now()
	end := now.Add(d)
	h.used(now)
	for ; now.Before(end); now = time.Now() {
		step := max(time.Millisecond, (now.Sub(h.lastUsed()) / fine).Truncate(time.Millisecond))
		next := now.Truncate(step).Add(step)
		if next.After(end) {
			next = end
		}
		time.Sleep(next.Sub(now) - 1)
		h.mu.Lock()
		h.sync()
		h.shown = h.gears.move(func(shown time.Time) time.Time { return shown.Add(time.Until(next)) })
		h.mu.Unlock()
		time.Sleep(time.Until(next))
		h.settle()
	}
}

func (h *hand) used(now time.Time) {
	h.mu.Lock()
	h.usedAt = now
	h.mu.Unlock()
}

func (h *hand) lastUsed() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.usedAt
}
