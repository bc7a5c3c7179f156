package virtual

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
)

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
