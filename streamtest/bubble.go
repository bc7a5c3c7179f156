package streamtest

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// deadlock is what the runtime says of a bubble in which nothing can happen any more, with what waits there.
type deadlock struct {
	reason  string
	waiting []goroutine
}

func (d *deadlock) Error() string {
	return d.reason + "; what waits:" + list(d.waiting)
}

// runBubble runs f in a bubble. A deadlock there is returned; the goroutines in it stay as they are.
func runBubble(t *testing.T, f func(t *testing.T)) (dead *deadlock) {
	t.Helper()
	me := current()
	if me.bubble != 0 {
		panic("streamtest: called inside a synctest bubble: a bubble cannot be in another; call it from the test itself")
	}
	freezing := watchForFreeze(freezeAfter, os.Stderr, t.Name())
	defer freezing.Stop()
	id := 0
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		err, ok := v.(error)
		if !ok || !strings.HasPrefix(err.Error(), "deadlock: ") {
			panic(v)
		}
		dead = &deadlock{reason: err.Error()}
		for _, g := range inBubble(id) {
			if !g.machinery() && g.id != me.id {
				dead.waiting = append(dead.waiting, g)
			}
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		id = current().bubble
		freezing.watch(id)
		f(t)
	})
	return nil
}

// freezeAfter is how long a bubble may stand still, in real time, before Run says why.
const freezeAfter = 10 * time.Second
