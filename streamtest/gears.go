package streamtest

import (
	"fmt"
	"reflect"
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
	timers *[]mockTimer // what is armed; guarded by mu
}

// mockTimer is a timer or ticker that is armed on the mock.
type mockTimer interface {
	Next() time.Time
	Tick(now time.Time)
}

func openGears(mock any) (gears, error) {
	v := reflect.ValueOf(mock).Elem()
	mu, now, timers := v.FieldByName("mu"), v.FieldByName("now"), v.FieldByName("timers")
	if !mu.IsValid() || mu.Type() != reflect.TypeFor[sync.Mutex]() ||
		!now.IsValid() || now.Type() != reflect.TypeFor[time.Time]() ||
		!timers.IsValid() || timers.Kind() != reflect.Slice || !sameMethods(timers.Type().Elem(), reflect.TypeFor[mockTimer]()) {
		return gears{}, fmt.Errorf("streamtest: a session needs github.com/benbjohnson/clock v1.3.5; this %v has other fields", v.Type())
	}
	return gears{
		mu:     (*sync.Mutex)(unsafe.Pointer(mu.UnsafeAddr())),
		now:    (*time.Time)(unsafe.Pointer(now.UnsafeAddr())),
		timers: (*[]mockTimer)(unsafe.Pointer(timers.UnsafeAddr())),
	}, nil
}

// sameMethods reports whether two interfaces have the same methods: their values look the same in memory then.
func sameMethods(a, b reflect.Type) bool {
	return a.Kind() == reflect.Interface && b.Kind() == reflect.Interface && a.Implements(b) && b.Implements(a)
}

// move sets the time that the mock shows to what f makes of it, and returns that; it fires nothing.
func (g gears) move(f func(time.Time) time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	*g.now = f(*g.now)
	return *g.now
}

// armed appends to all what is armed on the mock, in the mock's order, but for the timer own.
func (g gears) armed(all []rawTimer, own *clock.Timer) []rawTimer {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range *g.timers {
		if reflect.ValueOf(t).UnsafePointer() != unsafe.Pointer(own) {
			all = append(all, rawTimer{t, rank{due: t.Next()}})
		}
	}
	return all
}
