package virtual

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
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
			bubble.Store(int64(Current().Bubble))
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

func TestMain(m *testing.M) { check.Main(m) }

// All others have come as far as they can, however many turns that takes; no time has passed, and synctest.Wait of
// another goroutine returns later.
func TestRest(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var n, rests atomic.Int32 // a goroutine's end is no synchronization
			c := make(chan int)
			for i := range 5 {
				go func() {
					for range 1000 * i {
						runtime.Gosched()
					}
					c <- i
				}()
			}
			go func() {
				for range 5 {
					<-c
					n.Add(1)
				}
			}()
			rest()
			if n := n.Load(); n != 5 {
				t.Fatalf("%d of 5 have come when all should be at rest", n)
			}
			go func() {
				for range 10 {
					rest()
					rests.Add(1)
				}
			}()
			synctest.Wait()
			if rests := rests.Load(); rests != 10 {
				t.Fatalf("Wait has returned after %d of 10 rests", rests)
			}
			if d := time.Since(start); d != 0 {
				t.Fatalf("%v have passed", d)
			}
		})
	}
}

// Two that rest at once are told at once.
func TestRest_Two(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := make(chan struct{})
		go func() {
			rest()
			close(other)
		}()
		rest()
		<-other
	})
}
