package rx_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/stream"
)

func TestFromStream_IsCold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		o := rx.FromStream(stream.Defer(func(context.Context) stream.Stream[int] {
			runs++
			return stream.Of(runs, 10*runs)
		}))
		synctest.Wait()
		if runs != 0 {
			t.Errorf("%d runs before Observe", runs)
		}
		expect(t, o.Observe(), []any{1, 10}, nil)
		expect(t, o.Observe(), []any{2, 20}, nil)
		got, err := o.Filter(func(v any) bool { return v.(int) >= 10 }).ToSlice(0)
		if !slices.Equal(got, []any{30}) || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// Items pass through the whole bridge unchanged.
func TestItemsKeepTheirIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pointer, slice, ch := new(int), []int{1, 2}, make(chan int)
		sent := []rxgo.Item{
			{V: pointer}, {V: nil}, {V: errBoom}, {V: slice}, {V: ch}, {V: rxgo.Of(1)}, {V: (*int)(nil)}, {V: 7, E: errCause},
		}
		src := func(ctx context.Context) rxgo.Observable {
			return rxgo.Defer([]rxgo.Producer{func(ctx context.Context, next chan<- rxgo.Item) {
				for _, item := range sent {
					item.SendContext(ctx, next)
				}
			}})
		}
		refuse := stream.RetryHandlerFunc(func(stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			return stream.Empty[stream.Failure]()
		})
		for name, o := range map[string]rxgo.Observable{
			"ToStream and FromStream": rx.FromStream(rx.ToStream[any](src)),
			"RetryWhen":               rx.RetryWhen(src, refuse),
			"Wrap":                    rx.Wrap(src(nil)).RetryWhen(refuse),
		} {
			var got []rxgo.Item
			for item := range o.Observe() {
				got = append(got, item)
			}
			if len(got) != len(sent) {
				t.Fatalf("%s: got %v", name, got)
			}
			for i, item := range got {
				want := sent[i]
				switch {
				case i == 3:
					if s, ok := item.V.([]int); !ok || &s[0] != &slice[0] {
						t.Errorf("%s: item %d is %v, want the slice itself", name, i, item)
					}
				case i == 7:
					if item != (rxgo.Item{E: errCause}) {
						t.Errorf("%s: the last item is %v, want the error alone", name, item)
					}
				case item != want:
					t.Errorf("%s: item %d is %v, want %v", name, i, item, want)
				}
			}
		}
	})
}

func TestFromStream_Cancel(t *testing.T) {
	waits := stream.Of(1).Concat(stream.Never[int]())
	bubble(t, "a waiting reader receives the error", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		start := time.Now()
		expect(t, rx.FromStream(waits).Observe(rxgo.WithContext(ctx)), []any{1}, errCause)
		if time.Since(start) != time.Second {
			t.Errorf("it took %v", time.Since(start))
		}
	})
	bubble(t, "without a reader it does not wait", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		items := rx.FromStream(stream.Range(0, 1000)).Observe(rxgo.WithContext(ctx))
		<-items
		synctest.Wait()
		cancel()
		synctest.Wait()
		if item, ok := <-items; ok {
			t.Errorf("got %v, want a closed channel", item)
		}
	})
	bubble(t, "a stream that has ended without an error has none", func(t *testing.T) {
		for _, values := range [][]any{nil, {1}} {
			ctx, cancel := context.WithCancel(t.Context())
			ends := func(_ context.Context, yield func(int) bool) error {
				for range values {
					yield(1)
				}
				cancel()
				return nil
			}
			expect(t, rx.FromStream(stream.Stream[int](ends)).Observe(rxgo.WithContext(ctx)), values, nil)
		}
	})
	bubble(t, "room in the buffer keeps the error", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		items := rx.FromStream(waits).Observe(rxgo.WithContext(ctx), rxgo.WithBufferedChannel(2))
		synctest.Wait()
		cancel(errCause)
		synctest.Wait()
		expect(t, items, []any{1}, errCause)
	})
	bubble(t, "before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		ran := false
		o := rx.FromStream(stream.Of(1).Tap(func(int) { ran = true }), rxgo.WithBufferedChannel(1))
		expect(t, o.Observe(rxgo.WithContext(ctx)), nil, errCause)
		if ran {
			t.Error("the stream continued under a context that had ended")
		}
	})
	bubble(t, "a stream that looks only at yield", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		expect(t, rx.FromStream(func(_ context.Context, yield func(int) bool) error {
			for yield(1) {
				time.Sleep(2 * time.Second)
			}
			return nil
		}, rxgo.WithContext(ctx)).Observe(), []any{1}, errCause)
	})
	bubble(t, "a deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		expect(t, rx.FromStream(waits, rxgo.WithContext(ctx)).Observe(), []any{1}, context.DeadlineExceeded)
	})
}

func TestFromStream_Panic(t *testing.T) {
	stderr, survived := inChild(t, "stream panics")
	if survived || !strings.Contains(stderr, "panic: the stream's own panic") || !strings.Contains(stderr, "rx_test.panicking") {
		t.Errorf("survived: %v, want a crash with the panic and its stack; stderr:\n%s", survived, stderr)
	}
}

func TestRetryWhen_ExitIsNoGoodEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := received(t, rx.RetryWhen(func(context.Context) rxgo.Observable {
			runtime.Goexit()
			return nil
		}, atOnce(1)).Observe())
		if err == nil || err.Error() != "rx: RetryWhen: runtime.Goexit was called in the stream" {
			t.Error(err)
		}
	})
}

// panicking is a stream that panics.
func panicking(context.Context, func(int) bool) error { panic("the stream's own panic") }

func TestFromStream_ExitIsNoGoodEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values, err := received(t, rx.FromStream(func(_ context.Context, yield func(int) bool) error {
			yield(1)
			runtime.Goexit()
			return nil
		}).Observe())
		if !slices.Equal(values, []any{1}) || err == nil || err.Error() != "rx: FromStream: runtime.Goexit was called in the stream" {
			t.Errorf("got %v, %v", values, err)
		}
	})
}

func TestMistakesPanicAtConstruction(t *testing.T) {
	src := func(context.Context) rxgo.Observable { return rxgo.Empty() }
	h := quadratic(1)
	for want, build := range map[string]func(){
		"rx: RetryWhen: src is nil":          func() { rx.RetryWhen(nil, h) },
		"rx: RetryWhen: h is nil":            func() { rx.RetryWhen(src, nil) },
		"rx: RetryWhen: opts[1] is nil":      func() { rx.RetryWhen(src, h, rxgo.WithPool(1), nil) },
		"rx: Wrap: o is nil":                 func() { rx.Wrap(nil) },
		"rx: Observable.RetryWhen: o is nil": func() { rx.Observable{}.RetryWhen(h) },
		"rx: Observable.RetryWhen: h is nil": func() { rx.Wrap(rxgo.Empty()).RetryWhen(nil) },
		"rx: ToStream: src is nil":           func() { rx.ToStream[int](nil) },
		"rx: FromStream: s is nil":           func() { rx.FromStream[int](nil) },
		"rx: FromStream: opts[0] is nil":     func() { rx.FromStream(stream.Of(1), nil) },
		"rx: FromStream: opts: WithBufferedChannel: makechan: size out of range": func() {
			rx.FromStream(stream.Of(1), rxgo.WithBufferedChannel(-1))
		},
	} {
		t.Run(want, func(t *testing.T) { check.Panics(t, want, build) })
	}
	t.Run("nil handler function", func(t *testing.T) {
		check.Panics(t, "rx: RetryWhen: h is nil", func() { rx.RetryWhen(src, stream.RetryHandlerFunc(nil)) })
	})
	t.Run("nil pointer", func(t *testing.T) {
		check.Panics(t, "rx: Wrap: o is nil", func() { rx.Wrap((*rxgo.ObservableImpl)(nil)) })
	})
}

// The options are copied: the caller may use its slice again.
func TestFromStream_CopiesTheOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := []rxgo.Option{rxgo.WithBufferedChannel(1)}
		o := rx.FromStream(stream.Of(1, 2), opts...)
		opts[0] = nil
		expect(t, o.Observe(), []any{1, 2}, nil)
	})
}
