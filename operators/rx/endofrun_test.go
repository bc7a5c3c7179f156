package rx_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/stream"
)

// withNil runs a source of one nil item as a stream of T.
func withNil[T any]() error {
	n := 0
	err := rx.ToStream[T](func(context.Context) rxgo.Observable {
		return rxgo.Just(1)().Map(func(context.Context, any) (any, error) { return nil, nil })
	}).ForEach(context.Background(), func(T) { n++ })
	if err == nil && n != 1 {
		return errors.New("the item is lost")
	}
	return err
}

func TestToStream_NilItems(t *testing.T) {
	for name, run := range map[string]func() error{
		"any": withNil[any], "error": withNil[error], "*int": withNil[*int], "[]int": withNil[[]int],
		"map": withNil[map[string]int], "func": withNil[func()], "chan": withNil[chan int], "unsafe.Pointer": withNil[unsafe.Pointer],
	} {
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, run := range map[string]func() error{"int": withNil[int], "struct {}": withNil[struct{}], "[1]int": withNil[[1]int]} {
		if err, want := run(), "rx: ToStream: item 1 is <nil>, want "+name; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// countedContext is a parent that counts the contexts made of it that have not been cancelled.
type countedContext struct {
	context.Context
	done     chan struct{}
	children atomic.Int64
}

func (c *countedContext) Done() <-chan struct{} { return c.done }

func (c *countedContext) AfterFunc(func()) func() bool {
	c.children.Add(1)
	var stopped atomic.Bool
	return func() bool {
		first := !stopped.Swap(true)
		if first {
			c.children.Add(-1)
		}
		return first
	}
}

func TestTheContextsOfARunEndWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := &countedContext{Context: context.Background(), done: make(chan struct{})}
		given := &countedContext{Context: context.Background(), done: make(chan struct{})}
		o := rx.FromStream(stream.Of(1, 2, 3), rxgo.WithContext(made))
		for range 3 {
			var got []int
			for item := range o.Observe(rxgo.WithContext(given)) {
				if item.E != nil {
					t.Fatal(item.E)
				}
				got = append(got, item.V.(int))
			}
			if !slices.Equal(got, []int{1, 2, 3}) {
				t.Error(got)
			}
		}
		synctest.Wait()
		if n, m := made.children.Load(), given.children.Load(); n != 0 || m != 0 {
			t.Errorf("%d and %d contexts are left", n, m)
		}
	})
}
