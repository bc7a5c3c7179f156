package streamtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestGears_RefuseAnotherMock(t *testing.T) {
	if _, err := openGears(&struct{ mu sync.Mutex }{}); err == nil || !strings.Contains(err.Error(), "clock v1.3.5") {
		t.Errorf("got %v", err)
	}
}

// The test's own goroutine may wait on the mock clock: time moves by itself then, as the bubble's own does.
func TestSession_TimeMovesWhileTheTestWaits(t *testing.T) {
	Run(t, func(s *Session) {
		for range 3 {
			got, err := stream.Interval(time.Second).Take(3).Collect(s.Context())
			if len(got) != 3 || err != nil {
				t.Error(got, err)
			}
			synctest.Wait()
		}
		if d := s.Elapsed(); d != 9*time.Second {
			t.Errorf("%v have passed, want 9s", d)
		}
	})
}

// The policy has the mock itself, and the attempts take their time on the system's clock.
func TestSession_TheMockItselfBesideTheSystemsClock(t *testing.T) {
	Run(t, func(s *Session) {
		p := retry.New(backoff.Linear(100*ms), retry.Limit(3), retry.WithClock(s.Clock()), retry.ResetAfter(time.Hour))
		var at, shown []time.Duration
		src := stream.FromFunc(func(context.Context) (int, error) {
			at = append(at, s.Elapsed())
			time.Sleep(7 * ms)
			shown = append(shown, s.Clock().Since(bubbleStart))
			return 0, errBoom
		})
		done := make(chan error, 1)
		go func() { done <- src.RetryWhen(p).ForEach(s.T().Context(), func(int) {}) }()
		s.Advance(time.Hour)
		if err := <-done; !errors.Is(err, retry.ErrExhausted) {
			t.Error(err)
		}
		if want := []time.Duration{0, 107 * ms, 314 * ms, 621 * ms}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
		if want := []time.Duration{7 * ms, 114 * ms, 321 * ms, 628 * ms}; !slices.Equal(shown, want) {
			t.Errorf("the mock shows %v, want %v", shown, want)
		}
	})
}

func TestSession_TheMocksOwnTimers(t *testing.T) {
	Run(t, func(s *Session) {
		c := s.Clock()
		ticker := c.Ticker(10 * ms)
		var ticks []time.Duration
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case now := <-ticker.C:
					ticks = append(ticks, now.Sub(bubbleStart))
				case <-stop:
					return
				}
			}
		}()
		timer := c.Timer(25 * ms)
		var nothing atomic.Bool
		c.AfterFunc(0, func() { nothing.Store(true) }) // the mock does not fire it by itself
		s.Advance(0)
		if !nothing.Load() {
			t.Error("what is due at once has not fired")
		}
		s.Advance(30 * ms)
		if want := []time.Duration{10 * ms, 20 * ms, 30 * ms}; !slices.Equal(ticks, want) {
			t.Errorf("ticks at %v, want %v", ticks, want)
		}
		if now := <-timer.C; now.Sub(bubbleStart) != 25*ms {
			t.Errorf("the timer went off at %v", now)
		}
		if s.Elapsed() != 30*ms || !c.Now().Equal(time.Now()) {
			t.Errorf("%v have passed, the mock shows %v", s.Elapsed(), c.Now())
		}
		ticker.Stop()
		close(stop)
	})
}

func TestSession_TheMockMovedByHand(t *testing.T) {
	Run(t, func(s *Session) {
		c := s.Clock()
		var got []string
		carried := stream.ClockFrom(s.Context())
		for i, name := range strings.Split("abcdefghijklmnop", "") {
			carried.AfterFunc(time.Second+time.Duration(i/4)*time.Second, func() { got = append(got, name) })
		}
		synctest.Wait()
		c.Add(999 * ms)
		synctest.Wait()
		if len(got) > 0 {
			t.Errorf("fired %v before their time", got)
		}
		c.Add(1001 * ms)
		synctest.Wait()
		if text := strings.Join(got, ""); text != "abcdefgh" || !c.Now().Equal(bubbleStart.Add(2*time.Second)) {
			t.Errorf("fired %s; the mock shows %v", text, c.Now())
		}
		s.Advance(time.Second)
		if text := strings.Join(got, ""); text != "abcdefghijkl" {
			t.Errorf("fired %s", text)
		}
		c.WaitForAllTimers()
		s.Advance(0)
		if text := strings.Join(got, ""); text != "abcdefghijklmnop" {
			t.Errorf("fired %s", text)
		}
	})
}

func TestSession_StopAndNothing(t *testing.T) {
	Run(t, func(s *Session) {
		for _, ctx := range []context.Context{s.Context(), s.SystemContext()} {
			c := stream.ClockFrom(ctx)
			fired := make(chan int, 10)
			stopped := c.AfterFunc(time.Second, func() { fired <- 1 })
			if !stopped.Stop() || stopped.Stop() {
				t.Error("Stop is wrong")
			}
			once := c.AfterFunc(time.Second, func() { fired <- 2 })
			s.Advance(time.Second)
			if once.Stop() || len(fired) != 1 || <-fired != 2 {
				t.Error("Stop of what has fired is wrong")
			}
			atOnce := c.AfterFunc(0, func() { fired <- 3 })
			c.AfterFunc(-1, func() { fired <- 4 })
			if a, b := <-fired, <-fired; a+b != 7 || atOnce.Stop() {
				t.Error("what is due at once is wrong")
			}
			func() {
				defer func() {
					if text := fmt.Sprint(recover()); text != "streamtest: AfterFunc: f is nil" {
						t.Errorf("AfterFunc of nil panics with %q", text)
					}
				}()
				c.AfterFunc(time.Second, nil)
			}()
		}
	})
}

func TestRun_InABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Run":   func() { Run(t, func(*Session) {}) },
			"Check": func() { Check(t, func() stream.Stream[int] { return stream.Of(1) }) },
		} {
			func() {
				defer func() {
					if text, _ := recover().(string); !strings.HasPrefix(text, "streamtest: ") || !strings.Contains(text, "inside a synctest bubble") {
						t.Errorf("%s panicked with %q", name, text)
					}
				}()
				f()
			}()
		}
	})
}

func TestRun_TheTestFailsAndLeavesGoroutines(t *testing.T) {
	leavesGoroutines(t)
	got := reports(t, func(s *Session) {
		leakGoroutine()
		s.report.Fatalf("the test's own failure")
	})
	if len(got) == 0 || got[0] != "the test's own failure" {
		t.Error(got)
	}
}

func TestFreeze(t *testing.T) {
	var mu sync.Mutex
	mu.Lock() // held outside: the bubble stands still
	var text bytes.Buffer
	var bubble atomic.Int64
	looked := make(chan struct{})
	go func() { // outside, in real time
		defer close(looked)
		defer mu.Unlock()
		for len(frozenIn(int(bubble.Load()))) == 0 {
			time.Sleep(time.Millisecond)
		}
		reportFreeze(&text, "TestX", 10*time.Second, int(bubble.Load()))
	}()
	synctest.Test(t, func(t *testing.T) {
		bubble.Store(int64(current().bubble))
		go time.Sleep(time.Hour)
		go func() {
			mu.Lock()
			defer mu.Unlock()
		}()
		time.Sleep(2 * time.Hour)
	})
	<-looked
	for _, want := range []string{"streamtest: TestX stands still since 10s", "[sync.Mutex.Lock]", "streamtest.TestFreeze", "hand_test.go"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "sleep") {
		t.Errorf("it lists what is not to blame:\n%s", text.String())
	}
}
