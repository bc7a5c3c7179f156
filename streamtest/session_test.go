package streamtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

const ms = time.Millisecond

func TestAdvance_TimersOfOneInstantFireInTheOrderArmed(t *testing.T) {
	for name, arm := range map[string]func(s *Session) func(time.Duration, func()){
		"context": func(s *Session) func(time.Duration, func()) {
			c := stream.ClockFrom(s.Context())
			return func(d time.Duration, f func()) { c.AfterFunc(d, f) }
		},
		"the mock itself": func(s *Session) func(time.Duration, func()) {
			c := s.Clock()
			return func(d time.Duration, f func()) { c.AfterFunc(d, f) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(s *Session) {
				arm := arm(s)
				var got, want []int
				for i := range 40 {
					want = append(want, i)
					arm(10*ms, func() { got = append(got, i) })
					if i%3 == 0 {
						arm(time.Duration(i%7)*ms+ms, func() {})
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
		})
	}
}

func TestAdvance_WhatIsArmedOnTheWayFiresOnTime(t *testing.T) {
	Run(t, func(s *Session) {
		mock, system := s.Clock(), s.SystemContext()
		carried := stream.ClockFrom(s.Context())
		start := time.Now()
		var at []time.Duration
		note := func() {
			at = append(at, time.Since(start))
			for _, now := range []time.Time{mock.Now(), carried.Now(), stream.ClockFrom(system).Now()} {
				if !now.Equal(time.Now()) {
					t.Errorf("a clock shows %v, want %v", now, time.Now())
				}
			}
		}
		carried.AfterFunc(3*ms, func() {
			note()
			stream.ClockFrom(system).AfterFunc(4*ms, func() {
				note()
				mock.AfterFunc(5*ms, func() {
					note()
					time.AfterFunc(6*ms, func() {
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
			{"1 goroutine left running", "[select (no cases)]", "started by streamtest.leakGoroutine  streamtest/session_test.go:"}, {"not all"}}},
		"goroutine that sleeps": {func(*Session) { go time.Sleep(time.Hour) }, [][]string{{"1 goroutine left running", "[sleep]"}, {"not all"}}},
		"goroutine with more calls than are listed": {func(*Session) { leakDeepGoroutine() }, [][]string{
			{"1 goroutine left running", "started by streamtest.leakDeepGoroutine  streamtest/session_test.go:"}, {"not all"}}},
		"AfterFunc of the context": {func(s *Session) {
			stream.ClockFrom(s.Context()).AfterFunc(time.Hour, func() {})
		}, [][]string{{"1 timer left armed", "1h0m0s, armed at 0s by", "TestSession_WhatIsLeftFails", "session_test.go:"}}},
		"AfterFunc of the system's": {func(s *Session) {
			s.Advance(time.Second)
			stream.ClockFrom(s.SystemContext()).AfterFunc(time.Hour, func() {})
		}, [][]string{{"1 timer left armed", "1h0m0s, armed at 1s by", "session_test.go:"}}},
		"AfterFunc of the mock": {func(s *Session) { s.Clock().AfterFunc(time.Hour, leakGoroutine) },
			[][]string{{"1 timer left armed", "the AfterFunc of streamtest.leakGoroutine (streamtest/session_test.go:"}}},
		"Timer and Ticker": {func(s *Session) { s.Clock().Timer(time.Hour); s.Clock().Ticker(time.Hour) },
			[][]string{{"2 timers left armed", "a Timer", "a Ticker"}}},
		"what ends with the context is not left": {func(s *Session) {
			go stream.Never[int]().Collect(s.Context())
			go stream.Interval(ms).Collect(s.SystemContext())
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
	expectReports(t, got, []string{"a deadlock", "chan receive", "session_test.go:"}, []string{"given up"})
}

func TestSession_TimeEnds(t *testing.T) {
	t.Run("Advance", func(t *testing.T) {
		expectReports(t, reports(t, func(s *Session) {
			for n := range 40 {
				s.Advance(time.Second << n)
			}
		}), []string{"streamtest: Advance:", "leads past 2262-01-01 00:00:00", "n = 32"})
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
			})).ForEach(s.SystemContext(), func(int) {})
			if !errors.Is(err, errEndOfTime) {
				t.Error(err)
			}
		}), []string{"a wait of centuries", "stream/timer.go"})
	})
}

// A goroutine that sleeps on at the end of time cannot be stopped; the process ends before the runtime crashes it.
func TestSession_SleepsOnAtTheEndOfTime(t *testing.T) {
	if os.Getenv("STREAMTEST_SLEEPS_ON") != "" {
		Run(t, func(*Session) {
			for n := range 40 {
				time.Sleep(time.Second << n)
			}
		})
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "STREAMTEST_SLEEPS_ON=1")
	out, err := child.CombinedOutput()
	for _, want := range []string{"a wait of centuries", "[sleep]", "session_test.go:", "panic: streamtest: " + t.Name() + ": the bubble's time has come to its end"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, and %q is missing:\n%s", err, want, out)
		}
	}
}

func TestDraws(t *testing.T) {
	Run(t, func(s *Session) {
		draw := s.Draws(0, 0.5, 0.999)
		if got := []float64{draw(), draw(), draw()}; !slices.Equal(got, []float64{0, 0.5, 0.999}) {
			t.Error(got)
		}
	})
	expectReports(t, reports(t, func(s *Session) {
		draw := s.Draws(0.5)
		draw()
		if draw() != 0 {
			t.Error("not 0")
		}
	}), []string{"Draws: draw 2, but the test gives only 1 number", "session_test.go:"})
	expectReports(t, reports(t, func(s *Session) { s.Draws(0, 1) }), []string{"Draws: number 2 is 1, want one in [0, 1)"})
}
