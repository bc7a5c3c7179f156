package goroutine_test

import (
	"context"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

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

func TestCount_OutsideOfABubble(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	goroutine.Count()
}
