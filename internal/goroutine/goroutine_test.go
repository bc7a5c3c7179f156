package goroutine_test

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/retrywhen/retrywhen/internal/goroutine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Goroutines that end, and those of other bubbles and of no bubble, are never counted.
func TestCount(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for range 10 {
		go func() { <-stop }()
	}
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			before, stop := goroutine.Count(), make(chan struct{})
			for range 5 {
				go func() {}()
				go func() { <-stop }()
			}
			synctest.Wait()
			if n := goroutine.Count() - before; n != 5 {
				t.Fatalf("%d goroutines more, want 5", n)
			}
			close(stop)
			synctest.Wait()
			if n := goroutine.Count() - before; n != 0 {
				t.Fatalf("%d goroutines more, want none", n)
			}
		})
	}
}

func TestCount_OutsideOfABubble(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	goroutine.Count()
}
