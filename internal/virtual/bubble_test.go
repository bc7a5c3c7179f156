package virtual

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
)

// A bubble stands still while something in it waits for what is outside; the report says what.
func TestFreeze(t *testing.T) {
	var mu sync.Mutex
	mu.Lock()
	var bubble atomic.Int64
	var frozen []Goroutine
	over := make(chan struct{})
	looked := make(chan struct{})
	go func() { // outside, in real time
		defer close(looked)
		defer mu.Unlock()
		frozen = Blocking(watch{still: 20 * time.Millisecond}.await(&bubble, over))
	}()
	synctest.Test(t, func(t *testing.T) {
		go time.Sleep(time.Hour)
		go func() {
			bubble.Store(int64(goroutine.Current().Bubble))
			mu.Lock()
			defer mu.Unlock()
		}()
		time.Sleep(2 * time.Hour)
	})
	<-looked
	text := List(frozen)
	for _, want := range []string{"[sync.Mutex.Lock]", "virtual.TestFreeze", "bubble_test.go"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if strings.Contains(text, "sleep") {
		t.Errorf("it lists what is not to blame:\n%s", text)
	}
	if frozen := standing(0); frozen != nil {
		t.Errorf("frozen in no bubble: %v", frozen)
	}
	close(over)
	if frozen := (watch{still: time.Hour}).await(&bubble, over); frozen != nil {
		t.Errorf("frozen: %v", frozen)
	}
}

// The callers that are shown are those of the code under test.
func TestCallers_AreThoseOfTheTest(t *testing.T) {
	func() {
		text := func() Callers { return Here() }().String()
		if lines := strings.Split(text, "\n"); len(lines) != 3 || lines[0] != "" || !strings.Contains(text, "virtual.TestCallers_AreThoseOfTheTest.func1") {
			t.Errorf("got %q, want two calls of this test", text)
		}
	}()
}

// A state that passes without help from another goroutine is no standstill, however long it takes.
func TestGoroutine_Waits(t *testing.T) {
	for state, want := range map[string]bool{
		"sync.Mutex.Lock": true, "sync.RWMutex.RLock": true, "sync.WaitGroup.Wait": true, "chan receive": true, "chan send": true,
		"select": true, "IO wait": true, "running": false, "runnable": false, "syscall": false, "semacquire": false,
		"GC assist wait": false, "copystack": false, "preempted": false,
	} {
		if got := (Goroutine{State: state}).blocked(); got != want {
			t.Errorf("%s: got %v, want %v", state, got, want)
		}
	}
}
