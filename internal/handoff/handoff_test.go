package handoff_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

var (
	errBoom  = errors.New("boom")
	errCause = errors.New("cause")
)

type source = func(ctx context.Context, yield func(int) bool) error

// count yields 1, 2, 3 … forever.
func count(_ context.Context, yield func(int) bool) error {
	for i := 1; yield(i); i++ {
	}
	return nil
}

// waiting yields nothing and runs until its context ends; it records its end in done.
func waiting(done *bool) source {
	return func(ctx context.Context, _ func(int) bool) error {
		defer func() { *done = true }()
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// merge is the loop of the package comment.
func merge(ctx context.Context, sources []source, yield func(int) bool) error {
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[int]) error {
		in := handoff.NewReceiver[int](scope)
		for _, s := range sources {
			in.Start(s)
		}
		for open := len(sources); open > 0 && !out.Stopped(); {
			event, err := in.Next()
			if err != nil {
				return err
			}
			if ended, err := event.Ended(); err != nil {
				return err
			} else if ended {
				open--
			} else if out.Deliver(event.Value) {
				event.From.Request()
			}
		}
		return nil
	})(ctx, yield)
}

// receive waits for an event without the scope's context.
func receive[T any](in *handoff.Receiver[T]) handoff.Event[T] {
	event, _, _ := in.NextOr(context.Background(), nil, nil)
	return event
}

// inScope calls f with a scope.
func inScope(ctx context.Context, f func(*handoff.Scope) error) error {
	return handoff.Stream(func(scope *handoff.Scope, _ *ending.Consumer[int]) error { return f(scope) })(ctx, nil)
}

// What tests of several packages need, under short names.
var (
	bubble    = check.Bubble
	recovered = check.Recovered
)

func TestReceiver(t *testing.T) {
	bubble(t, "a source stays in its yield until the next value is requested", func(t *testing.T) {
		var made int
		var seen []int
		src := func(_ context.Context, yield func(int) bool) error {
			for made = 1; yield(made); made++ {
			}
			return nil
		}
		err := merge(t.Context(), []source{src}, func(v int) bool {
			time.Sleep(time.Second) // until all other goroutines wait
			seen = append(seen, made)
			return v < 3
		})
		if want := []int{1, 2, 3}; err != nil || !slices.Equal(seen, want) {
			t.Errorf("while each value was in hand %v were made, want %v; error %v", seen, want, err)
		}
	})
	bubble(t, "a source in its yield sees the end of its context although nothing receives", func(t *testing.T) {
		for n := range 40 {
			ctx, cancel := context.WithCancelCause(t.Context())
			start := time.Now()
			var freed [2]time.Duration
			src := func(which int) source {
				return func(_ context.Context, yield func(int) bool) error {
					for i := 0; yield(i); i++ {
					}
					freed[which] = time.Since(start)
					return nil
				}
			}
			time.AfterFunc(time.Second, func() { cancel(errCause) })
			got := 0
			err := merge(ctx, []source{src(0), src(1)}, func(int) bool {
				if got++; got == n+1 {
					time.Sleep(time.Hour)
				}
				return true
			})
			if got != n+1 || !errors.Is(err, errCause) {
				t.Errorf("%d of %d values, %v", got, n+1, err)
			}
			if first, last := min(freed[0], freed[1]), max(freed[0], freed[1]); first != time.Second || last != time.Hour {
				t.Errorf("freed at %v, want 1s for the source whose value was not received, 1h for the other", freed)
			}
		}
	})
	bubble(t, "a value that comes after the cancel is not taken", func(t *testing.T) {
		for range 50 {
			ctx, cancel := context.WithCancelCause(t.Context())
			var got []int
			err := merge(ctx, []source{count, count}, func(v int) bool {
				got = append(got, v)
				if len(got) == 3 {
					cancel(errCause)
					synctest.Wait() // the other source has a value ready
				}
				return true
			})
			if !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) || len(got) != 3 {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
	bubble(t, "the context of a source ends with it", func(t *testing.T) {
		var kept context.Context
		keep := func(ctx context.Context, _ func(int) bool) error { kept = ctx; return nil }
		if err := merge(t.Context(), []source{keep}, nil); err != nil || kept.Err() == nil {
			t.Errorf("%v; the context's error: %v", err, kept.Err())
		}
	})
	bubble(t, "a value in hand stays the consumer's when the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		returned := false
		src := func(_ context.Context, yield func(int) bool) error {
			yield(1)
			returned = true
			return nil
		}
		err := merge(ctx, []source{src}, func(int) bool {
			cancel()
			time.Sleep(time.Second)
			if returned {
				t.Error("yield has returned while the consumer had the value in hand")
			}
			return true
		})
		if err != context.Canceled || !returned {
			t.Errorf("got %v; the source has returned: %v", err, returned)
		}
	})
}

// Tasks may end in any order. The end of the run stops those that still run, and only those.
func TestTasks_ThatComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make([]bool, 60)
		err := inScope(t.Context(), func(scope *handoff.Scope) error {
			ends, tasks := make([]chan struct{}, len(ended)), make([]*handoff.Task, len(ended))
			for i := range ended {
				ends[i] = make(chan struct{})
				tasks[i] = scope.Go(func(ctx context.Context) error {
					defer func() { ended[i] = true }()
					select {
					case <-ends[i]:
						return errBoom
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				})
			}
			for i := range 45 {
				next := i * 7 % len(ended) // in a mixed order
				if ended[next] {
					t.Errorf("function %d ended too early", next)
				}
				close(ends[next])
				for range 2 { // the second time the scope no longer owns it
					if err := tasks[next].End(); err != errBoom || !ended[next] {
						t.Errorf("function %d has ended: %v, with %v", next, ended[next], err)
					}
				}
			}
			return nil
		})
		if err != nil || slices.Contains(ended, false) {
			t.Errorf("%v, ended: %v", err, ended)
		}
	})
}

func TestCancelOthers(t *testing.T) {
	bubble(t, "stops all but one, of every receiver, at once", func(t *testing.T) {
		_ = inScope(t.Context(), func(scope *handoff.Scope) error {
			numbers, words := handoff.NewReceiver[int](scope), handoff.NewReceiver[string](scope)
			causes := make([]error, 3)
			slow := func(ctx context.Context, i int) error {
				<-ctx.Done()
				causes[i] = context.Cause(ctx)
				time.Sleep(time.Second)
				return nil
			}
			start := time.Now()
			numbers.Start(func(ctx context.Context, _ func(int) bool) error { return slow(ctx, 0) })
			winner := numbers.Start(count)
			words.Start(func(ctx context.Context, _ func(string) bool) error { return slow(ctx, 1) })
			scope.Go(func(ctx context.Context) error { return slow(ctx, 2) })
			receive(numbers)
			winner.CancelOthers()
			if want := slices.Repeat([]error{context.Canceled}, 3); !slices.Equal(causes, want) {
				t.Errorf("the others saw %v, want %v", causes, want)
			}
			if d := time.Since(start); d != time.Second {
				t.Errorf("it took %v, want the others to end side by side", d)
			}
			winner.Request()
			if event := receive(numbers); event.From != winner || event.Value != 2 {
				t.Errorf("got %v, want 2 of the source that continues", event)
			}
			return nil
		})
	})
	bubble(t, "frees sources in their yields, taken or not, and that one continues", func(t *testing.T) {
		err := inScope(t.Context(), func(scope *handoff.Scope) error {
			in := handoff.NewReceiver[int](scope)
			in.Start(count)
			receive(in)
			in.Start(count)
			synctest.Wait()
			last := in.Start(count)
			last.CancelOthers()
			last.CancelOthers() // has no effect
			for want := 1; want < 4; want++ {
				event := receive(in)
				if over, _ := event.Ended(); over || event.From != last || event.Value != want {
					t.Fatalf("got %v, want %d of the last", event, want)
				}
				last.Request()
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestPanics(t *testing.T) {
	bubble(t, "of a source are raised on the consumer's goroutine, with their stack", func(t *testing.T) {
		var done bool
		v := recovered(func() {
			_ = merge(t.Context(), []source{waiting(&done), explode}, func(int) bool { return true })
		})
		p, ok := v.(*handoff.Panic)
		if !ok || p.Value != errBoom || !errors.Is(p, errBoom) {
			t.Fatalf("panicked with %v, want a *Panic with boom", v)
		}
		if !strings.HasPrefix(p.Error(), "boom\n") || !strings.Contains(p.Error(), "handoff_test.explode") {
			t.Errorf("the text does not tell where it comes from: %s", p)
		}
		if !done {
			t.Error("the other source has not returned")
		}
	})
	bubble(t, "that pass through two operators keep the first stack", func(t *testing.T) {
		nested := func(ctx context.Context, yield func(int) bool) error {
			return merge(ctx, []source{explode}, yield)
		}
		v := recovered(func() { _ = merge(t.Context(), []source{nested}, func(int) bool { return true }) })
		if p := v.(*handoff.Panic); p.Value != errBoom || strings.Count(p.Error(), "boom") != 1 {
			t.Errorf("panicked with %v", p)
		}
	})
}

func explode(context.Context, func(int) bool) error { panic(errBoom) }

func TestGoexit(t *testing.T) {
	bubble(t, "of a source is called on the consumer's goroutine", func(t *testing.T) {
		var done bool
		exit := func(context.Context, func(int) bool) error { runtime.Goexit(); return nil }
		if !check.Exits(func() {
			_ = merge(t.Context(), []source{waiting(&done), exit}, func(int) bool { return true })
		}) || !done {
			t.Errorf("no Goexit; the other source has returned: %v", done)
		}
	})
}

func TestStream_UnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	err := inScope(ctx, func(*handoff.Scope) error { t.Error("it is run"); return nil })
	if !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { check.Main(m) }
