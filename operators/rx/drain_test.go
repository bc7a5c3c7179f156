package rx_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
)

// first takes one value of what src opens.
func first(t *testing.T, src func(context.Context) rxgo.Observable) {
	t.Helper()
	got, err := rx.ToStream[int](src).Take(1).Collect(t.Context())
	if len(got) != 1 || got[0] != 1 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// sending sends the numbers from 1 to n, with a pause after each, and ignores its context.
func sending(n int, pause func()) []rxgo.Producer {
	return []rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
		for i := range n {
			next <- rxgo.Of(i + 1)
			pause()
		}
	}}
}

// Items that a source sends long after its run has ended are received, so its goroutines end. Otherwise the bubble
// would not end.
func TestLateItemsAreReceived(t *testing.T) {
	late := sending(3, func() { time.Sleep(time.Minute) })
	just := func(i rxgo.Item) rxgo.Observable {
		return rxgo.Create([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) { next <- i }})
	}
	for name, open := range map[string]func(context.Context) rxgo.Observable{
		"Create":  func(context.Context) rxgo.Observable { return rxgo.Create(late) },
		"Defer":   func(context.Context) rxgo.Observable { return rxgo.Defer(late) },
		"FlatMap": func(context.Context) rxgo.Observable { return rxgo.Defer(late).FlatMap(just) },
	} {
		bubble(t, name, func(t *testing.T) {
			first(t, open)
			time.Sleep(time.Hour)
		})
	}
}

// The items of a producer that checks its context only between two items are received until it does so.
func TestAProducerThatLooksAtItsContextLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		first(t, func(ctx context.Context) rxgo.Observable {
			return rxgo.Create([]rxgo.Producer{func(ctx context.Context, next chan<- rxgo.Item) {
				for ctx.Err() == nil {
					next <- rxgo.Of(1)
					time.Sleep(time.Minute)
					next <- rxgo.Of(2)
					sent++
				}
			}}, rxgo.WithContext(ctx))
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		if sent != 1 {
			t.Errorf("%d rounds, want 1", sent)
		}
	})
}

// An event source that is cancelled while another observer blocks it ends without closing its channels. No goroutine
// waits for that.
func TestAnEventSourceThatDoesNotCloseIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan rxgo.Item)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			events <- rxgo.Of(1)
			time.Sleep(time.Second)
			cancel(errCause)
		}()
		_, err := rx.ToStream[int](func(ctx context.Context) rxgo.Observable {
			o := rxgo.FromEventSource(events, rxgo.WithContext(ctx))
			o.Observe() // nobody receives from this one
			return o
		}).Collect(ctx)
		if !errors.Is(err, errCause) {
			t.Error(err)
		}
	})
}

// From an unknown observable, items that are about to be sent are received, also on one processor.
func TestItemsOnTheirWayAreReceived(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		first(t, func(context.Context) rxgo.Observable { return others{rxgo.Create(sending(5, runtime.Gosched))} })
	})
}
