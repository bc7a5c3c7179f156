package virtual

import (
	"context"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// A bubble's goroutines are listed with what they do, and those that inherit a label with what they began with.
func TestGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := Count()
		over := make(chan struct{})
		wait := func() { <-over }
		pprof.Do(t.Context(), pprof.Labels("key", "value"), func(context.Context) {
			go wait()
			go wait()
		})
		synctest.Wait()
		if n := Count(); n != before+2 {
			t.Errorf("got %d goroutines, want 2 more than %d", n, before)
		}
		const name = "virtual.TestGoroutines.func1.1"
		isWait := func(g Goroutine) bool {
			return g.State == "chan receive" && g.Durable && len(g.Calls) == 1 && strings.HasSuffix(g.Calls[0].Function, name) &&
				strings.Contains(g.Calls[0].Place, "/listing_test.go:") && strings.HasSuffix(g.StartedBy.Function, "TestGoroutines.func1.2")
		}
		all := slices.DeleteFunc(InBubble(Current().Bubble), func(g Goroutine) bool { return !isWait(g) })
		if len(all) != 2 {
			t.Errorf("got %+v", InBubble(Current().Bubble))
		}
		labelled := Labelled("key", "value")
		if len(labelled) != 2 || !strings.HasSuffix(labelled[0], name) || labelled[1] != labelled[0] || len(Labelled("key", "other")) > 0 {
			t.Errorf("labelled are %q", labelled)
		}
		close(over)
	})
}
