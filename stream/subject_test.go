package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// sentInto makes a subject into which a program sends what a diagram shows.
func sentInto(s *streamtest.Session, replay int, diagram string) *stream.Subject[string] {
	subject := stream.NewSubject[string](replay)
	src := streamtest.Cold[string](s, diagram)
	go func() {
		err := src.TryForEach(s.Context(), subject.Send)
		if s.Context().Err() == nil {
			subject.Close(err)
		}
	}()
	return subject
}

func TestSubject_Marbles(t *testing.T) {
	type subscriber struct{ during, want string }
	for name, c := range map[string]struct {
		replay      int
		sent        string
		subscribers []subscriber
	}{
		"all get what is sent while they are there": {0, "--a--b--c--|", []subscriber{
			{"", "--a--b--c--|"}, {"---^", "-----b--c--|"}, {"---^---!", "-----b--"}, {"------^", "--------c--|"},
		}},
		"and the error":                  {0, "--a--#", []subscriber{{"", "--a--#"}, {"---^", "-----#"}}},
		"one that comes after the end":   {0, "-a-|", []subscriber{{"----^", "----|"}, {"---------^", "---------|"}}},
		"one that comes after the error": {0, "-a-#", []subscriber{{"----^", "----#"}}},
		"the last values are replayed": {2, "--a--b------c-------|", []subscriber{
			{"", "--a--b------c-------|"}, {"---^", "---a-b------c-------|"}, {"------^", "------(ab)--c-------|"},
			{"-------------^", "-------------(bc)---|"},
		}},
		"one is replayed":                          {1, "--a--b--|", []subscriber{{"---^", "---a-b--|"}, {"------^", "------b-|"}}},
		"fewer than there may be":                  {5, "-a--b-------|", []subscriber{{"-------^", "-------(ab)-|"}}},
		"none was sent":                            {3, "-----|", []subscriber{{"--^", "-----|"}}},
		"replayed after the end":                   {2, "-a-b-c|", []subscriber{{"--------^", "--------(bc|)"}}},
		"replayed after the error":                 {2, "-a-b-c#", []subscriber{{"--------^", "--------(bc#)"}}},
		"one that is silent":                       {1, "-", []subscriber{{"", "---"}, {"-^-!", "----"}}},
		"all leave, and others come":               {0, "-a--b--c--d-|", []subscriber{{"--!", "-a"}, {"---^-!", "----b-"}, {"--------^", "----------d-|"}}},
		"one leaves in the middle of what it gets": {2, "-a-b-----c-|", []subscriber{{"-----^!", "-----(ab)"}, {"", "-a-b-----c-|"}}},
	} {
		session(t, name, func(s *streamtest.Session) {
			subject := sentInto(s, c.replay, c.sent)
			var all []*streamtest.Expectation[string]
			for _, each := range c.subscribers {
				all = append(all, streamtest.ExpectDuring(s, subject.Stream(), each.during))
			}
			for i, each := range c.subscribers {
				all[i].ToBe(each.want)
			}
		})
	}
}

// Its stream keeps the contract, whatever it replays and whether or not it is closed.
func TestSubject_KeepsTheContract(t *testing.T) {
	for name, newStream := range map[string]func() stream.Stream[int]{
		"never closed": func() stream.Stream[int] { return replaying(t, 3).Stream() },
		"closed": func() stream.Stream[int] {
			s := replaying(t, 3)
			s.Close(nil)
			return s.Stream()
		},
		"failed": func() stream.Stream[int] {
			s := replaying(t, 3)
			s.Close(errBoom)
			return s.Stream()
		},
		"sent into by a run of its own": func() stream.Stream[int] {
			return func(ctx context.Context, yield func(int) bool) error {
				subject := stream.NewSubject[int](0)
				ctx, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				var sender sync.WaitGroup
				defer sender.Wait()
				defer cancel(nil)
				sender.Go(func() { subject.Close(stream.Range(0, 5).Delay(3*ms).TryForEach(ctx, subject.Send)) })
				return subject.Stream()(ctx, yield)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { streamtest.Check(t, newStream) })
	}
}

// replaying is a subject into which 1, 2, 3, 4 were sent.
func replaying(t *testing.T, replay int) *stream.Subject[int] {
	s := stream.NewSubject[int](replay)
	for v := 1; v <= 4; v++ {
		if err := s.Send(context.Background(), v); err != nil {
			t.Error(err)
		}
	}
	return s
}

func TestSubject_SendWaitsForTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subject := stream.NewSubject[int](0)
		var all sync.WaitGroup
		for _, busy := range []time.Duration{0, 3 * ms, 7 * ms} {
			all.Go(func() {
				n := 0
				err := subject.Stream().ForEach(t.Context(), func(v int) {
					if n++; v != n {
						t.Errorf("value %d is %d", n, v)
					}
					time.Sleep(busy)
				})
				if n != 3 || err != nil {
					t.Errorf("%d values, %v", n, err)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		for v := 1; v <= 3; v++ {
			if err := subject.Send(t.Context(), v); err != nil || time.Since(start) != time.Duration(v)*7*ms {
				t.Errorf("Send of %d has returned at %v: %v", v, time.Since(start), err)
			}
		}
		subject.Close(nil)
		all.Wait()
	})
}

// A Send that is cancelled while a subscriber works has sent its value; the next one waits for the subscriber.
func TestSubject_ACancelledSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subject := stream.NewSubject[int](0)
		var got []ev
		start := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			_ = subject.Stream().ForEach(t.Context(), func(v int) {
				got = append(got, ev{time.Since(start), v})
				time.Sleep(10 * ms)
			})
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*ms, errCause)
		defer cancel()
		if err := subject.Send(ctx, 1); !endedBy(ctx, err) || time.Since(start) != 3*ms {
			t.Errorf("at %v: %v", time.Since(start), err)
		}
		if err := subject.Send(ctx, 2); !endedBy(ctx, err) {
			t.Error(err)
		}
		late, cancelLate := context.WithTimeoutCause(t.Context(), 2*ms, errCause)
		defer cancelLate()
		if err := subject.Send(late, 3); !endedBy(late, err) || time.Since(start) != 5*ms {
			t.Errorf("while the first value is in hand, at %v: %v", time.Since(start), err)
		}
		if err := subject.Send(t.Context(), 4); err != nil || time.Since(start) != 20*ms {
			t.Errorf("at %v: %v", time.Since(start), err)
		}
		subject.Close(nil)
		all.Wait()
		if want := []ev{{0, 1}, {10 * ms, 4}}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// endsAtErr is a context that ends when it is looked at.
type endsAtErr struct {
	context.Context
	cancel context.CancelFunc
}

func (c endsAtErr) Err() error {
	err := c.Context.Err()
	c.cancel()
	return err
}

// A Send whose context ends fails if its value was not sent; it does not if nobody has the value in hand any more.
func TestSubject_TheContextEndsInASend(t *testing.T) {
	for range 100 { // whichever is seen first
		subject := stream.NewSubject[int](1)
		ctx, cancel := context.WithCancel(t.Context())
		err := subject.Send(endsAtErr{ctx, cancel}, 1)
		subject.Close(nil)
		if got, _ := subject.Stream().Collect(t.Context()); (err == nil) != slices.Equal(got, []int{1}) {
			t.Errorf("%v was sent, and Send has returned %v", got, err)
		}
	}
}

// A subscriber that leaves while it processes a value, in whatever way, delays nobody.
func TestSubject_SubscribersThatLeave(t *testing.T) {
	for name, leave := range map[string]func(ctx context.Context, s stream.Stream[int]){
		"stop": func(ctx context.Context, s stream.Stream[int]) { _, _ = s.Take(1).Collect(ctx) },
		"panic": func(ctx context.Context, s stream.Stream[int]) {
			recovered(func() { _ = s(ctx, func(int) bool { panic("mine") }) })
		},
		"cancel": func(ctx context.Context, s stream.Stream[int]) {
			ctx, cancel := context.WithCancel(ctx)
			_ = s.ForEach(ctx, func(int) { cancel() })
		},
		"failure behind": func(ctx context.Context, s stream.Stream[int]) {
			_ = s.TryForEach(ctx, func(context.Context, int) error { return errBoom })
		},
	} {
		bubble(t, name, func(t *testing.T) {
			subject := stream.NewSubject[int](0)
			var all sync.WaitGroup
			all.Go(func() { leave(t.Context(), subject.Stream()) })
			all.Go(func() {
				if got, err := subject.Stream().Collect(t.Context()); err != nil || !slices.Equal(got, []int{1, 2, 3}) {
					t.Errorf("the one that stayed got %v, %v", got, err)
				}
			})
			synctest.Wait()
			for v := 1; v <= 3; v++ {
				if err := subject.Send(t.Context(), v); err != nil {
					t.Error(err)
				}
			}
			subject.Close(nil)
			all.Wait()
		})
	}
}

// What is sent while a subscriber takes what is replayed comes after it.
func TestSubject_SentDuringTheReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subject := replaying(t, 2)
		start := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			var got []ev
			err := subject.Stream().ForEach(t.Context(), func(v int) {
				got = append(got, ev{time.Since(start), v})
				time.Sleep(5 * ms)
			})
			if want := []ev{{0, 3}, {5 * ms, 4}, {10 * ms, 5}, {15 * ms, 6}}; err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		})
		synctest.Wait()
		if err := subject.Send(t.Context(), 5); err != nil || time.Since(start) != 15*ms {
			t.Errorf("Send of 5 at %v: %v", time.Since(start), err)
		}
		_ = subject.Send(t.Context(), 6)
		subject.Close(nil)
		all.Wait()
	})
}

// A subscriber that comes while others process a value receives it once, as a replayed one.
func TestSubject_OneThatComesWhileAValueIsOnItsWay(t *testing.T) {
	for replay, want := range [][]int{{2}, {1, 2}} {
		bubble(t, fmt.Sprint("replay ", replay), func(t *testing.T) {
			subject := stream.NewSubject[int](replay)
			var all sync.WaitGroup
			all.Go(func() { _ = subject.Stream().ForEach(t.Context(), func(int) { time.Sleep(10 * ms) }) })
			all.Go(func() {
				time.Sleep(5 * ms)
				if got, err := subject.Stream().Collect(t.Context()); err != nil || !slices.Equal(got, want) {
					t.Errorf("got %v, %v, want %v", got, err, want)
				}
			})
			synctest.Wait()
			_ = subject.Send(t.Context(), 1)
			_ = subject.Send(t.Context(), 2)
			subject.Close(nil)
			all.Wait()
		})
	}
}

func TestSubject_Close(t *testing.T) {
	bubble(t, "a value that was sent before comes before the end", func(t *testing.T) {
		for range 50 {
			subject := stream.NewSubject[int](0)
			var all sync.WaitGroup
			all.Go(func() {
				if got, err := subject.Stream().Collect(t.Context()); err != errBoom || !slices.Equal(got, []int{1}) {
					t.Errorf("got %v, %v", got, err)
				}
			})
			synctest.Wait()
			all.Go(func() {
				if err := subject.Send(t.Context(), 1); err != nil {
					t.Error(err)
				}
				subject.Close(errBoom)
				subject.Close(nil)
			})
			all.Wait()
		}
	})
	bubble(t, "it does not wait, a Send before it does, and one that waits fails", func(t *testing.T) {
		subject := stream.NewSubject[int](0)
		start := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			err := subject.Stream().ForEach(t.Context(), func(int) { time.Sleep(10 * ms) })
			if err != nil || time.Since(start) != 10*ms {
				t.Errorf("ended at %v: %v", time.Since(start), err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if err := subject.Send(t.Context(), 1); err != nil || time.Since(start) != 10*ms {
				t.Errorf("the first Send at %v: %v", time.Since(start), err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if err := subject.Send(t.Context(), 2); err != stream.ErrClosed || time.Since(start) != 3*ms {
				t.Errorf("the second Send at %v: %v", time.Since(start), err)
			}
		})
		time.Sleep(3 * ms)
		subject.Close(nil)
		if d := time.Since(start); d != 3*ms {
			t.Errorf("Close has returned at %v", d)
		}
		all.Wait()
	})
	for range 20 { // whichever of the turn and the end is seen first
		subject := replaying(t, 1)
		subject.Close(errBoom)
		if err := subject.Send(t.Context(), 9); err != stream.ErrClosed {
			t.Errorf("after Close: %v", err)
		}
		if got, err := subject.Stream().Collect(t.Context()); !slices.Equal(got, []int{4}) || !errors.Is(err, errBoom) || err.Error() != "boom" {
			t.Errorf("after Close: %v, %v", got, err)
		}
	}
}

// An ended context comes before all else.
func TestSubject_UnderAContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCause)
	subject := stream.NewSubject[int](1)
	for range 20 {
		if err := subject.Send(ctx, 1); !endedBy(ctx, err) {
			t.Error(err)
		}
	}
	if got, err := subject.Stream().Take(0).Collect(t.Context()); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	subject.Close(nil)
	if got, err := subject.Stream().Collect(ctx); got != nil || !endedBy(ctx, err) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := subject.Stream().Collect(t.Context()); got != nil || err != nil {
		t.Errorf("what was not sent is replayed: %v, %v", got, err)
	}
}

// Senders and subscribers that come and go side by side: what each subscriber gets from one sender is in order and
// whole.
func TestSubject_SideBySide(t *testing.T) {
	const senders, each = 4, 200
	subject := stream.NewSubject[[2]int](0)
	var sending, all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			var next [senders]int
			err := subject.Stream().ForEach(t.Context(), func(v [2]int) {
				want := next[v[0]]
				if want%10 == 9 && v[1] == want+1 { // a Send that was cancelled
					want++
				}
				if next[v[0]] != 0 && v[1] != want {
					t.Errorf("sender %d: got %d, want %d", v[0], v[1], want)
				}
				next[v[0]] = v[1] + 1
			})
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			for range 50 {
				_, _ = subject.Stream().Take(3).Collect(t.Context())
			}
		})
	}
	for id := range senders {
		sending.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if i%10 == 9 {
					go cancel()
				}
				if err := subject.Send(ctx, [2]int{id, i}); err != nil && !endedBy(ctx, err) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	sending.Wait()
	subject.Close(nil)
	all.Wait()
}

// What was sent before Close is delivered before the end, also to a subscriber that comes to it later.
func TestSubject_SentBeforeCloseAndTakenAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 { // a subscriber that finds both picks one of them
			subject := stream.NewSubject[int](1)
			_ = subject.Send(t.Context(), 1)
			var got []int
			var all sync.WaitGroup
			all.Go(func() {
				err := subject.Stream().ForEach(t.Context(), func(v int) {
					got = append(got, v)
					if v == 1 {
						time.Sleep(5 * ms)
					}
				})
				if err != nil || !slices.Equal(got, []int{1, 2}) {
					t.Errorf("got %v, %v, want both values", got, err)
				}
			})
			synctest.Wait()
			all.Go(func() { _ = subject.Send(t.Context(), 2) })
			synctest.Wait()
			subject.Close(nil)
			all.Wait()
		}
	})
}

// A subscriber that was done with a value, and leaves, does not count as another one that is done with it.
func TestSubject_OneLeavesWhileAnotherIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subject := stream.NewSubject[int](0)
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = subject.Stream().ForEach(ctx, func(int) {}) })
		for _, busy := range []time.Duration{3 * ms, 5 * ms} {
			all.Go(func() { _ = subject.Stream().ForEach(t.Context(), func(int) { time.Sleep(busy) }) })
		}
		synctest.Wait()
		time.AfterFunc(2*ms, leave)
		start := time.Now()
		if err := subject.Send(t.Context(), 1); err != nil || time.Since(start) != 5*ms {
			t.Errorf("Send returned %v after %v, want 5ms", err, time.Since(start))
		}
		subject.Close(nil)
		all.Wait()
	})
}

// A subject that was not made by NewSubject says so, and does not wait.
func TestSubject_Zero(t *testing.T) {
	for _, subject := range []*stream.Subject[int]{nil, {}} {
		for method, call := range map[string]func(){
			"Send":   func() { _ = subject.Send(t.Context(), 1) },
			"Close":  func() { subject.Close(nil) },
			"Stream": func() { subject.Stream() },
		} {
			expectPanic(t, "stream: Subject."+method+": the subject is not made by NewSubject", call)
		}
	}
}
