package goroutine_test

import (
	"context"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/goroutine"
)

func TestMain(m *testing.M) { check.Main(m) }

// A goroutine inherits the label, and those without it do not count.
func TestLabelled(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	wait := func() { <-stop }
	go wait()
	started := make(chan struct{})
	pprof.Do(t.Context(), pprof.Labels("key", "a \"value\""), func(context.Context) {
		go func() {
			go wait()
			go wait()
			close(started)
			wait()
		}()
	})
	<-started
	runtime.Gosched()
	left := goroutine.Labelled("key", `a "value"`)
	if len(left) != 3 || len(left[0].Calls) == 0 || !strings.Contains(left[0].Calls[len(left[0].Calls)-1].Function, "goroutine_test.TestLabelled") {
		t.Errorf("got %+v", left)
	}
	if left := goroutine.Labelled("key", "value"); len(left) != 0 {
		t.Errorf("got %+v", left)
	}
}

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
