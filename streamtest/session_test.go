package streamtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/retrywhen/retrywhen/backoff"
	checks "github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

const ms = time.Millisecond

func TestAdvance_TimersOfOneInstantFireInTheOrderArmed(t *testing.T) {
	Run(t, func(s *Session) {
		var got, want []int
		for i := range 40 {
			want = append(want, i)
			s.Clock().AfterFunc(10*ms, func() { got = append(got, i) })
			if i%3 == 0 {
				stream.ClockFrom(s.Context()).AfterFunc(time.Duration(i%7)*ms+ms, func() {})
			}
		}
		s.Advance(9 * ms)
		if len(got) > 0 {
			t.Errorf("%v fired early", got)
		}
		s.Advance(ms)
		if !slices.Equal(got, want) {
			t.Errorf("fired %v", got)
		}
	})
}

func TestAdvance_WhatIsArmedOnTheWayFiresOnTime(t *testing.T) {
	Run(t, func(s *Session) {
		benbjohnson, carried := clock.New(), stream.ClockFrom(s.Context())
		start := time.Now()
		var at []time.Duration
		note := func() {
			at = append(at, time.Since(start))
			for _, now := range []time.Time{benbjohnson.Now(), carried.Now(), s.Clock().Now()} {
				if !now.Equal(time.Now()) {
					t.Errorf("a clock shows %v, want %v", now, time.Now())
				}
			}
		}
		carried.AfterFunc(3*ms, func() {
			note()
			time.AfterFunc(4*ms, func() {
				note()
				benbjohnson.AfterFunc(5*ms, func() {
					note()
					s.Clock().AfterFunc(6*ms, func() {
						note()
						carried.AfterFunc(7*ms, note)
					})
				})
			})
		})
		s.Advance(time.Second)
		if want := []time.Duration{3 * ms, 7 * ms, 12 * ms, 18 * ms, 25 * ms}; !slices.Equal(at, want) {
			t.Errorf("at %v, want %v", at, want)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("%v have passed, want 1s", d)
		}
	})
}

// What is due on the session's clock comes after what is due then on the system's, and all is at rest before each.
func TestClock_ComesAfterTheSystemsOfTheSameInstant(t *testing.T) {
	for range 20 {
		Run(t, func(s *Session) {
			var got []string
			done := make(chan struct{})
			for _, name := range []string{"a", "b"} {
				s.Clock().AfterFunc(ms, func() { got = append(got, name) })
			}
			time.AfterFunc(ms, func() {
				go func() {
					defer close(done)
					runtime.Gosched()
					got = append(got, "system")
				}()
			})
			s.Advance(ms)
			<-done
			if want := []string{"system", "a", "b"}; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
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

// Code that takes a clock of benbjohnson's gets its real one, which shows the bubble's time.
func TestSession_BenbjohnsonsRealClock(t *testing.T) {
	Run(t, func(s *Session) {
		p := retry.New(backoff.Linear(100*ms), retry.Limit(3), retry.WithClock(clock.New()))
		var at []time.Duration
		src := stream.FromFunc(func(context.Context) (int, error) {
			at = append(at, s.Elapsed())
			time.Sleep(7 * ms)
			return 0, errBoom
		})
		done := make(chan error, 1)
		go func() { done <- src.RetryWhen(p).ForEach(s.T().Context(), func(int) {}) }()
		ticker := clock.New().Ticker(10 * ms)
		s.Advance(10 * ms)
		if now := <-ticker.C; now.Sub(virtual.Start) != 10*ms {
			t.Errorf("ticked at %v", now)
		}
		ticker.Stop()
		s.Advance(time.Hour)
		if err := <-done; !errors.Is(err, retry.ErrExhausted) {
			t.Error(err)
		}
		if want := []time.Duration{0, 107 * ms, 314 * ms, 621 * ms}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

func TestSession_StopAndNothing(t *testing.T) {
	Run(t, func(s *Session) {
		for _, c := range []stream.Clock{s.Clock(), stream.ClockFrom(s.Context())} {
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
			checks.Panics(t, "streamtest: AfterFunc: f is nil", func() { c.AfterFunc(time.Second, nil) })
		}
	})
}

func TestRun_InABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Run":   func() { Run(t, func(*Session) {}) },
			"Check": func() { Check(t, func() stream.Stream[int] { return stream.Of(1) }) },
		} {
			text := fmt.Sprint(checks.Recovered(f))
			if !strings.HasPrefix(text, "streamtest: ") || !strings.Contains(text, "inside a synctest bubble") {
				t.Errorf("%s panicked with %q", name, text)
			}
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

// A failure of the test's own is not followed by the runtime's text about a deadlock.
func TestRun_TheTestFailsByItselfAndLeavesGoroutines(t *testing.T) {
	out := inProcess(t, func() {
		Run(t, func(s *Session) {
			leakGoroutine()
			s.T().Fatal("the test's own failure")
		})
	})
	expectReports(t, []string{out}, []string{"the test's own failure", "streamtest: the test has ended, but not everything that it started"})
	if strings.Contains(out, "deadlock") {
		t.Errorf("a deadlock is reported:\n%s", out)
	}
}

// No failure says what a skipped test has left, so the report lists it.
func TestRun_TheTestIsSkippedAndLeavesGoroutines(t *testing.T) {
	out := inProcess(t, func() {
		Run(t, func(s *Session) {
			leakGoroutine()
			s.T().SkipNow()
		})
	})
	expectReports(t, []string{out}, []string{"streamtest: deadlock: ", "started by streamtest.leakGoroutine"})
}

// What waits for the context of the test outside freezes the bubble. The test fails with a sentence, and its end ends
// the wait. A context derived from that one is a bubble's own.
func TestRun_TheContextOfTheTestOutside(t *testing.T) {
	after := virtual.FreezeAfter
	virtual.FreezeAfter = 100 * ms
	defer func() { virtual.FreezeAfter = after }()
	r := new(recorder)
	went := false
	t.Run("inner", func(t *testing.T) {
		ended := make(chan struct{})
		go func() { // which r.Fatalf ends
			defer close(ended)
			run(t, r, func(s *Session) {
				ctx, cancel := context.WithCancel(t.Context())
				go stream.Never[int]()(ctx, nil)
				s.Advance(time.Hour)
				cancel()
				_ = stream.Never[int]()(t.Context(), nil)
				went = s.Elapsed() == time.Hour
			})
		}()
		<-ended
	})
	expectReports(t, r.texts, []string{"streamtest: the test stands still", "the Context of the test around the session", "[chan receive]", "session_test.go:"})
	if !went {
		t.Error("the test has not gone on when its context had ended")
	}
}

func leakGoroutine() { go func() { select {} }() }

func leakDeepGoroutine() { go deep(200) }

func deep(n int) {
	if n == 0 {
		select {}
	}
	deep(n - 1)
}

func TestSession_WhatIsLeftFails(t *testing.T) {
	leavesGoroutines(t)
	for name, test := range map[string]struct {
		f    func(s *Session)
		want [][]string
	}{
		"goroutine": {func(*Session) { leakGoroutine() }, [][]string{
			{"1 goroutine left running", "[select (no cases)]", "started by streamtest.leakGoroutine  streamtest/session_test.go:"}, {"not everything"}}},
		"goroutine that sleeps": {func(*Session) { go time.Sleep(time.Hour) }, [][]string{{"1 goroutine left running", "[sleep]"}, {"not everything"}}},
		"goroutine with more calls than are listed": {func(*Session) { leakDeepGoroutine() }, [][]string{
			{"1 goroutine left running", "started by streamtest.leakDeepGoroutine  streamtest/session_test.go:"}, {"not everything"}}},
		"AfterFunc of the context": {func(s *Session) {
			stream.ClockFrom(s.Context()).AfterFunc(time.Hour, func() {})
		}, [][]string{{"1 timer left armed", "1h0m0s, armed at 0s by", "TestSession_WhatIsLeftFails", "session_test.go:"}}},
		"AfterFunc of the clock": {func(s *Session) {
			s.Advance(time.Second)
			s.Clock().AfterFunc(time.Minute, func() {})
			s.Clock().AfterFunc(time.Second, func() {})
		}, [][]string{{"2 timers left armed", "1s, armed at 1s by", "session_test.go:", "1m0s, armed at 1s by"}}},
		"what ends with the context is not left": {func(s *Session) {
			go stream.Never[int]().Collect(s.Context())
			go stream.Interval(ms).Collect(s.T().Context())
			s.T().Cleanup(func() { time.Sleep(time.Second) })
			s.Advance(ms)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) { expectReports(t, reports(t, test.f), test.want...) })
	}
}

func TestSession_DeadlockSaysWhatWaits(t *testing.T) {
	leavesGoroutines(t)
	got := reports(t, func(s *Session) { <-make(chan int) })
	expectReports(t, got, []string{"a deadlock", "chan receive", "session_test.go:"}, []string{"was stopped"})
}

func TestSession_TimeEnds(t *testing.T) {
	t.Run("Advance", func(t *testing.T) {
		expectReports(t, reports(t, func(s *Session) {
			for n := range 40 {
				s.Advance(time.Second << n)
			}
		}), []string{"streamtest: Advance:", "from 2136-02-07 06:28:15 leads past 2262-01-01 00:00:00", "n = 32"})
	})
	t.Run("code that waits", func(t *testing.T) {
		expectReports(t, reports(t, func(s *Session) {
			err := stream.Fail[int](errors.New("down")).RetryWhen(stream.RetryHandlerFunc(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
				d := time.Second
				return func(ctx context.Context, yield func(stream.Failure) bool) error {
					return f(ctx, func(x stream.Failure) bool {
						d *= 2
						_, err := stream.Timer(d).Collect(ctx)
						return err == nil && yield(x)
					})
				}
			})).ForEach(s.Context(), func(int) {})
			if !errors.Is(err, virtual.ErrEndOfTime) {
				t.Error(err)
			}
		}), []string{"a wait of centuries", "stream/timer.go"})
	})
}

// A goroutine that sleeps on at the end of time cannot be stopped; the process ends before the runtime crashes it.
func TestSession_SleepsOnAtTheEndOfTime(t *testing.T) {
	out := inProcess(t, func() {
		Run(t, func(*Session) {
			for n := range 40 {
				time.Sleep(time.Second << n)
			}
		})
	})
	expectReports(t, []string{out}, []string{"a wait of centuries", "[sleep]", "session_test.go:", "panic: streamtest: " + t.Name() + ": the bubble's time has come to its end"})
}

func TestRand(t *testing.T) {
	Run(t, func(s *Session) {
		random := s.Rand(0, 0.5, 0.999)
		if got := []float64{random(), random(), random()}; !slices.Equal(got, []float64{0, 0.5, 0.999}) {
			t.Error(got)
		}
	})
	expectReports(t, reports(t, func(s *Session) {
		random := s.Rand(0.5)
		random()
		if random() != 0 {
			t.Error("not 0")
		}
	}), []string{"Rand: call 2, but the test gives only 1 number", "session_test.go:"})
	for u, want := range map[float64]string{1: "1", -0.1: "-0.1", math.NaN(): "NaN"} {
		expectReports(t, reports(t, func(s *Session) { s.Rand(0, u) }), []string{"Rand: number 2 is " + want + ", want one in [0, 1)"})
	}
}

// A report is of the test's line.
func TestReports_AreOfTheCallersLine(t *testing.T) {
	tests := map[string]func(s *Session){
		"Rand: call 1":             func(s *Session) { s.Rand()() },
		"Hot: 2 diagrams":          func(s *Session) { Hot[string](s, "a\nb") },
		"Watch: the stream is nil": func(s *Session) { Watch[int](s, nil) },
		"Watch, at 0s":             func(s *Session) { Watch(s, stream.Of(2)).Next(1) },
	}
	out := inProcess(t, func() {
		for name, f := range tests {
			t.Run(name, func(t *testing.T) { Run(t, f) })
		}
	})
	for name := range tests {
		if !regexp.MustCompile(`(?m)^ +session_test\.go:\d+: streamtest: ` + name).MatchString(out) {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// An event at the instant of "!" is not recorded, whatever clock it waits for.
func TestExpectDuring_TheInstantOfTheEnd(t *testing.T) {
	for range 20 { // a bubble shuffles the timers of an instant
		Run(t, func(s *Session) {
			var sleeper stream.Stream[string] = func(ctx context.Context, yield func(string) bool) error {
				for ctx.Err() == nil && yield("a") {
					time.Sleep(2 * ms)
				}
				return context.Cause(ctx)
			}
			ExpectDuring(s, sleeper, "----!").ToBe("a-a------")
		})
	}
}
