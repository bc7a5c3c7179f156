package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// sum is one value for each window: all that is in it.
func sum(window strs) strs {
	return operators.Reduce(window, "", join)
}

// marked is the values of each window and E for its end.
func marked(window strs) strs { return window.Concat(stream.Of("E")) }

func firstOf(window strs) strs { return window.Take(1) }
func notRun(strs) strs         { return stream.Of("") }

func TestWindow_ByCountAndTime(t *testing.T) {
	for name, c := range map[string]struct {
		s    string
		most int
		span time.Duration
		f    func(strs) strs
		want string
	}{
		"by count":                     {"-a-b---c-d---e-|", 2, 0, marked, "-a-(bE)c-(dE)e-(E|)"},
		"by time":                      {"-ab---cd--------e|", math.MaxInt, 5 * ms, sum, "-----P----Q----N-(e|)"},
		"by time, values as they come": {"-a----b|", math.MaxInt, 5 * ms, marked, "-a---Eb(E|)"},
		"a full one restarts the time": {"-ab---c--|", 2, 5 * ms, sum, "--P----c-(N|)"},
		"by both, time first":          {"-a----bc|", 2, 5 * ms, sum, "-----a-R(N|)"},
		"failing, by count":            {"-a-b---c#", 2, 0, marked, "-a-(bE)c#"},
		"not taken, by time":           {"-ab---cd|", math.MaxInt, 5 * ms, firstOf, "-a----c-|"},
		"not taken, and it fails":      {"-ab#", 9, 0, firstOf, "-a-#"},
		"not run, by count":            {"-abcd-|", 2, 0, notRun, "-N-N--|"},
		"not run, by time":             {"-ab---|", math.MaxInt, 5 * ms, notRun, "N----N|"},
	} {
		session(t, name, func(s *streamtest.Session) {
			streamtest.Expect(s, operators.Window(cold(s, c.s), c.most, c.span, c.f)).
				ToBeWith(c.want, map[string]string{"P": "ab", "Q": "cd", "R": "bc", "N": ""})
		})
	}
}

func TestWindow_RunTwiceOrTooLate(t *testing.T) {
	for name, f := range map[string]func() func(strs) strs{
		"twice": func() func(strs) strs { return func(window strs) strs { return window.Take(1).Concat(window) } },
		"the one before": func() func(strs) strs {
			var before strs
			return func(window strs) strs {
				s := before
				before = window
				if s == nil {
					return stream.Empty[string]()
				}
				return s
			}
		},
	} {
		bubble(t, name, func(t *testing.T) {
			_, err := operators.Window(stream.Of("a", "b", "c"), 2, 0, f()).Collect(t.Context())
			if !errors.Is(err, stream.ErrNotRestartable) {
				t.Error(err)
			}
		})
	}
}

// What ReactiveX does with windows, to hand them out, ends in an error here, and not in two who read the same window.
func TestWindow_HandedOut(t *testing.T) {
	handOut := func(window strs) stream.Stream[strs] { return stream.Of(window) }
	bubble(t, "to a consumer that still runs it when f's stream is over", func(t *testing.T) {
		var script []string
		s := operators.Map(operators.Window(fromScript("10a 20b 35c 40d 45|"), 2, 0, handOut).Buffer(1), func(window strs) string {
			script = append(script, play(t.Context(), window.Filter(func(string) bool { return false })))
			return "w"
		})
		expect(t, s, "10w 35w 45|")
		const late = "0# operators: Window: a window is run once, while f's stream runs: stream: the source cannot be run a second time"
		if want := []string{late, late}; !slices.Equal(script, want) {
			t.Errorf("got  %q\nwant %q", script, want)
		}
	})
	bubble(t, "by time, to one that is busy: the windows keep their times", func(t *testing.T) {
		s := operators.Window(fromScript("10a 20b 65c 120|"), math.MaxInt, 50*ms, handOut).Buffer(1)
		var errs []error
		got := playWith(t.Context(), operators.Map(s, func(window strs) string {
			err := window.ForEach(t.Context(), func(string) { time.Sleep(20 * ms) })
			errs = append(errs, err)
			return "w"
		}), func(string) bool { return true })
		if want := "0w 50w 100w 120|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		for _, err := range errs {
			if !errors.Is(err, stream.ErrNotRestartable) {
				t.Errorf("got %v", errs)
			}
		}
	})
	t.Run("to FlatMap, at full speed", func(t *testing.T) {
		for range 200 {
			s := operators.Window(stream.Range(0, 20), 2, 0, func(window ints) stream.Stream[ints] { return stream.Of(window) })
			_, err := operators.FlatMap(s, math.MaxInt, func(window ints) ints { return window }).Collect(t.Context())
			if err != nil && !errors.Is(err, stream.ErrNotRestartable) {
				t.Fatal(err)
			}
		}
	})
	bubble(t, "and it is all over: cancelled, failed, stopped, panicked", func(t *testing.T) {
		for name, run := range map[string]func(open func(strs) stream.Stream[strs]){
			"cancelled": func(open func(strs) stream.Stream[strs]) {
				_, err := operators.Window(fromScript("10a"), 9, 0, open).Collect(cancelAt(t, 15*ms))
				if !errors.Is(err, errCause) {
					t.Error(err)
				}
			},
			"failed": func(open func(strs) stream.Stream[strs]) {
				expect(t, operators.Count(operators.Window(fromScript("10a 15#"), 9, 0, open)), "15#")
			},
			"stopped": func(open func(strs) stream.Stream[strs]) {
				expect(t, operators.Count(operators.Window(fromScript("10a"), 9, 0, open).Take(1)), "101 10|")
			},
			"panicked": func(open func(strs) stream.Stream[strs]) {
				v := recovered(func() {
					_ = operators.Window(fromScript("10a"), 9, 0, open).ForEach(t.Context(), func(strs) { panic(errBoom) })
				})
				if v != errBoom {
					t.Errorf("panicked with %v", v)
				}
			},
		} {
			done := make(chan error, 1)
			run(func(window strs) stream.Stream[strs] {
				return func(ctx context.Context, yield func(strs) bool) error {
					go func() { done <- window.ForEach(context.Background(), func(string) {}) }()
					synctest.Wait()
					return stream.Of(window)(ctx, yield)
				}
			})
			if err := <-done; !errors.Is(err, stream.ErrNotRestartable) && name != "failed" {
				t.Errorf("%s: the run of the window ended with %v", name, err)
			}
		}
	})
}

// f's stream may recover what its window's consumer panics with, or the source; that ends the window's run and no more.
func TestWindow_RecoveredPanics(t *testing.T) {
	recovering := func(window strs) strs {
		return func(ctx context.Context, yield func(string) bool) (err error) {
			defer func() { _ = recover() }()
			return window(ctx, func(v string) bool {
				if v == "c" {
					panic(errBoom)
				}
				return yield(v)
			})
		}
	}
	session(t, "the consumer's", func(s *streamtest.Session) {
		streamtest.Expect(s, operators.Window(cold(s, "-abcde|"), 2, 0, recovering)).ToBe("-ab--e|")
		streamtest.Expect(s, operators.Window(cold(s, "-cb---d|"), 9, 5*ms, recovering)).ToBe("------d|")
	})
	session(t, "the source's", func(s *streamtest.Session) {
		src := cold(s, "-abx").Tap(func(v string) {
			if v == "x" {
				panic(errBoom)
			}
		})
		streamtest.Expect(s, operators.Window(src, 9, 0, recovering)).ToBe("-ab|")
		streamtest.Expect(s, operators.Window(src, 9, 5*ms, recovering)).ToBe("-ab|")
	})
}

func TestWindow_Errors(t *testing.T) {
	session(t, "of f's stream", func(s *streamtest.Session) {
		src := streamtest.Cold[string](s, "-ab")
		f := func(window strs) strs { return window.Take(1).Concat(stream.Fail[string](errBoom)) }
		streamtest.Expect(s, operators.Window(src.Stream, 2, 0, f)).Error(errBoom).ToBe("-(a#)")
		src.Subscriptions("^!")
	})
	session(t, "of the source, caught in the window: it is returned all the same", func(s *streamtest.Session) {
		f := func(window strs) strs { return window.Catch(func(error) strs { return stream.Of("C") }) }
		streamtest.Expect(s, operators.Window(cold(s, "-a#"), 9, 0, f)).ToBe("-a(C#)")
	})
	failing := stream.Of("a").MustNotEnd(errBoom)
	bubble(t, "of the source, changed in the window", func(t *testing.T) {
		f := func(window strs) strs {
			return operators.MapErr(window, func(err error) error { return errors.Join(errors.New("mine"), err) })
		}
		_, err := operators.Window(failing, 9, 0, f).Collect(t.Context())
		if !errors.Is(err, errBoom) || err.Error() != "mine\nboom" {
			t.Error(err)
		}
	})
	bubble(t, "of the source, and another one of f's stream", func(t *testing.T) {
		f := func(window strs) strs {
			return operators.MapErr(window, func(error) error { return errors.New("mine") })
		}
		_, err := operators.Window(failing, 9, 0, f).Collect(t.Context())
		if !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "mine") {
			t.Error(err)
		}
	})
	bubble(t, "a panic of the source", func(t *testing.T) {
		src := stream.Of("a").Concat(stream.Defer(func(context.Context) strs { panic(errBoom) }))
		expectBoom(t, func() { _, _ = operators.Window(src, 9, time.Hour, sum).Collect(t.Context()) })
	})
}

// A concurrent operator inside runs the window on another goroutine; the race detector watches.
func TestWindow_EndsWithTheContextOfItsRun(t *testing.T) {
	bubble(t, "a Timeout over a silent source", func(t *testing.T) {
		began := time.Now()
		s := stream.Of("a").Concat(stream.Never[string]())
		got, err := operators.Window(s, 9, 0, func(w strs) strs { return w.Timeout(time.Second) }).Collect(t.Context())
		if took := time.Since(began); took != time.Second || !slices.Equal(got, []string{"a"}) || !errors.Is(err, stream.ErrTimeout) {
			t.Errorf("%v, %v after %v, want [a] and ErrTimeout after 1s", got, err, took)
		}
	})
}

func TestWindow_RunOnAnotherGoroutine(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := func(window strs) strs { return sum(window.Timeout(time.Hour).Merge(stream.Empty[string]())) }
		expectBoth(t, operators.Window(fromScript("10a 20b 60c 70d 160e 170|"), math.MaxInt, 50*ms, f), "50ab 100cd 150 170e 170|")
	})
}

func TestBatch_ByCountAndTime(t *testing.T) {
	for name, c := range map[string]struct {
		s    string
		most int
		wait time.Duration
		want string
	}{
		"full, then over time, then the rest": {"10a 20b 30c 40d 100e 130f 140|", 3, 50 * ms, "30[a b c] 90[d] 140[e f] 140|"},
		"no limit by count":                   {"10a 20b 30c 200|", math.MaxInt, 50 * ms, "60[a b c] 200|"},
		"no limit in time":                    {"10a 20b 900c 950|", 2, 0, "20[a b] 950[c] 950|"},
		"neither":                             {"10a 20b 950|", math.MaxInt, 0, "950[a b] 950|"},
	} {
		bubble(t, name, func(t *testing.T) {
			expectBoth(t, operators.Batch(fromScript(c.s), c.most, c.wait), c.want)
		})
	}
}

// While the consumer is busy the time goes on, and the source waits with its next value.
func TestBatch_BusyConsumer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		// The first batch is processed until 160: then c is taken, and d right after it; their time is over at 210. e waits
		// until 310.
		expectBusy(t, operators.Batch(fromScript("10a 20b 70c 80d 215e 220|"), 9, 50*ms), 100*ms, "60[a b] 210[c d] 310[e] 410|")
	})
}

func TestBatch_SlicesAreTheConsumersOwn(t *testing.T) {
	got, err := operators.Batch(fromScript("0a 0b 0c 0d 0e 0|"), 2, 0).Collect(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	_ = append(got[0], "x")
	got[0][0] = "y"
	if got[1][0] != "c" || got[2][0] != "e" {
		t.Error(got)
	}
}

// A source that never looks at its context does not fill a batch forever.
func TestBatch_ARudeSource(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	rude := ints(func(_ context.Context, yield func(int) bool) error {
		for v := 0; yield(v); v++ {
			if v == 1000 {
				cancel(errCause)
			}
		}
		return nil
	})
	got, err := operators.Batch(rude, math.MaxInt, time.Hour).Collect(ctx)
	if len(got) != 0 || !errors.Is(err, errCause) {
		t.Errorf("%d batches, %v", len(got), err)
	}
}

// While the consumer has a batch in hand the source makes one value more; its end comes after what is left.
func TestBatch_AheadByOne(t *testing.T) {
	for most := 1; most < 5; most++ {
		bubble(t, fmt.Sprint(most), func(t *testing.T) {
			made, got := 0, 0
			src := stream.Range(0, 10).Tap(func(int) { made++ })
			err := operators.Batch(src, most, time.Hour).ForEach(t.Context(), func(batch []int) {
				got += len(batch)
				if synctest.Wait(); len(batch) != min(most, 10-got+len(batch)) || made != min(got+1, 10) {
					t.Errorf("with %v in hand %d were made", batch, made)
				}
			})
			if err != nil || got != 10 {
				t.Errorf("%d values, %v", got, err)
			}
		})
	}
}

// At full speed, with time that is over now and then, no value is lost, doubled or out of order.
func TestBatch_AtFullSpeed(t *testing.T) {
	for _, wait := range []time.Duration{time.Nanosecond, 10 * time.Microsecond, time.Hour} {
		for _, most := range []int{1, 2, 7, math.MaxInt} {
			next := 0
			err := operators.Batch(stream.Range(0, 3000), most, wait).ForEach(t.Context(), func(batch []int) {
				if len(batch) == 0 || len(batch) > most {
					t.Errorf("a batch of %d, at most %d", len(batch), most)
				}
				for _, v := range batch {
					if v != next {
						t.Fatalf("got %d, want %d", v, next)
					}
					next++
				}
			})
			if err != nil || next != 3000 {
				t.Errorf("%v, %d: %d values, %v", wait, most, next, err)
			}
		}
	}
}
