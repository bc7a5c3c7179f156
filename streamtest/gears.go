package streamtest

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/benbjohnson/clock"
)

// gears are the inside of a mock clock. Its public methods cannot do what a session needs: Add and Set sleep a
// millisecond for each timer, which moves the bubble's own clock, and nothing tells what is armed. So the gears reach
// for the three fields of a Mock; openGears checks that they are what they were in v1.3.5, the last version there is.
type gears struct {
	mu     *sync.Mutex
	now    *time.Time
	timers reflect.Value // the slice of armed timers; guarded by mu
}

// mockTimer is a timer or ticker that is armed on the mock.
type mockTimer interface {
	Next() time.Time
	Tick(now time.Time)
}

func openGears(mock *clock.Mock) (gears, error) {
	v := reflect.ValueOf(mock).Elem()
	mu, now, timers := v.FieldByName("mu"), v.FieldByName("now"), v.FieldByName("timers")
	switch {
	case !mu.IsValid() || mu.Type() != reflect.TypeFor[sync.Mutex](),
		!now.IsValid() || now.Type() != reflect.TypeFor[time.Time](),
		!timers.IsValid() || timers.Kind() != reflect.Slice || !timers.Type().Elem().Implements(reflect.TypeFor[mockTimer]()):
		return gears{}, fmt.Errorf("streamtest: a session needs github.com/benbjohnson/clock v1.3.5; this %v has other fields", v.Type())
	}
	return gears{
		mu:     (*sync.Mutex)(unsafe.Pointer(mu.UnsafeAddr())),
		now:    (*time.Time)(unsafe.Pointer(now.UnsafeAddr())),
		timers: reflect.NewAt(timers.Type(), unsafe.Pointer(timers.UnsafeAddr())).Elem(),
	}, nil
}

// move sets the time that the mock shows to what f makes of it, and returns that; it fires nothing.
func (g gears) move(f func(time.Time) time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	*g.now = f(*g.now)
	return *g.now
}

// rawTimer is a mockTimer with what there is to know of it.
type rawTimer struct {
	mockTimer
	due time.Time
}

// armed returns what is armed on the mock, in the mock's order, but for the timer own.
func (g gears) armed(own *clock.Timer) []rawTimer {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]rawTimer, 0, g.timers.Len())
	for i := range g.timers.Len() {
		t := g.timers.Index(i).Interface().(mockTimer)
		if reflect.ValueOf(t).UnsafePointer() != unsafe.Pointer(own) {
			all = append(all, rawTimer{t, t.Next()})
		}
	}
	return all
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
