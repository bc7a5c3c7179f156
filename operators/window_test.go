package operators_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// sum is one value for each window: all that is in it.
func sum(window strs) strs {
	return operators.Reduce(window, "", join)
}

// marked is the values of each window and a mark for its end.
func marked(window strs) strs { return window.Concat(stream.Of("/")) }

func TestWindow_ByCountAndTime(t *testing.T) {
	for name, c := range map[string]struct {
		s    string
		most int
		span time.Duration
		f    func(strs) strs
		want string
	}{
		"by count":                     {"10a 20b 30c 40d 50e 60|", 2, 0, marked, "10a 20b 20/ 30c 40d 40/ 50e 60/ 60|"},
		"by count, no empty window":    {"10a 20b 60|", 2, 0, marked, "10a 20b 20/ 60|"},
		"of one":                       {"10a 20b 60|", 1, 0, marked, "10a 10/ 20b 20/ 60|"},
		"by time":                      {"10a 20b 60c 70d 160e 170|", math.MaxInt, 50 * ms, sum, "50ab 100cd 150 170e 170|"},
		"by time, values as they come": {"10a 60b 70|", math.MaxInt, 50 * ms, marked, "10a 50/ 60b 70/ 70|"},
		"by both, full first":          {"10a 20b 30c 40|", 2, 50 * ms, sum, "20ab 40c 40|"},
		"a full one restarts the time": {"10a 20b 65c 90|", 2, 50 * ms, sum, "20ab 70c 90 90|"},
		"by both, time first":          {"10a 60b 70c 80|", 2, 50 * ms, sum, "50a 70bc 80 80|"},
		"empty, by count":              {"20|", 2, 0, sum, "20|"},
		"empty, by time":               {"20|", 2, 50 * ms, sum, "20 20|"},
		"failing, by count":            {"10a 20b 30c 40#", 2, 0, marked, "10a 20b 20/ 30c 40#"},
		"failing between two":          {"10a 20b 40#", 2, 0, marked, "10a 20b 20/ 40#"},
		"failing, by time":             {"10a 20#", 2, 50 * ms, marked, "10a 20#"},
	} {
		bubble(t, name, func(t *testing.T) {
			returned := 0
			expectBoth(t, operators.Window(returns(cold(c.s), &returned), c.most, c.span, c.f), c.want)
			if returned != 2 {
				t.Error("the source has not returned")
			}
		})
	}
}

func TestWindow_ValuesThatAreNotTaken(t *testing.T) {
	bubble(t, "by count", func(t *testing.T) {
		f := func(window strs) strs { return window.Take(1) }
		expectBoth(t, operators.Window(cold("10a 20b 30c 40d 50e 60|"), 2, 0, f), "10a 30c 50e 60|")
	})
	bubble(t, "by time", func(t *testing.T) {
		f := func(window strs) strs { return window.Take(1) }
		expectBoth(t, operators.Window(cold("10a 20b 60c 70d 80|"), math.MaxInt, 50*ms, f), "10a 60c 80|")
	})
	bubble(t, "a window that is not run", func(t *testing.T) {
		f := func(window strs) strs { return stream.Of("-") }
		expectBoth(t, operators.Window(cold("10a 20b 30c 40d 60|"), 2, 0, f), "10- 30- 60|")
		expectBoth(t, operators.Window(cold("10a 20b 60|"), math.MaxInt, 50*ms, f), "0- 50- 60|")
	})
	bubble(t, "the source fails meanwhile", func(t *testing.T) {
		f := func(window strs) strs { return window.Take(1) }
		expect(t, operators.Window(cold("10a 20b 30#"), 9, 0, f), "10a 30#")
	})
	bubble(t, "the source ends meanwhile", func(t *testing.T) {
		f := func(window strs) strs { return window.Take(1) }
		expect(t, operators.Window(cold("10a 20b 30|"), 9, 0, f), "10a 30|")
	})
}

func TestWindow_SlowStreamHoldsUpTheSource(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := func(window strs) strs { return sum(window).Delay(100 * ms) }
		expect(t, operators.Window(cold("10a 20b 60c 130d 140|"), math.MaxInt, 50*ms, f), "150ab 250cd 250|")
	})
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
			_, err := operators.Window(cold("10a 20b 30c 40|"), 2, 0, f()).Collect(t.Context())
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
		s := operators.Map(operators.Window(cold("10a 20b 35c 40d 45|"), 2, 0, handOut).Buffer(1), func(window strs) string {
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
		s := operators.Window(cold("10a 20b 65c 120|"), math.MaxInt, 50*ms, handOut).Buffer(1)
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
				expectCancelled(t, 15*ms, operators.Count(operators.Window(cold("10a"), 9, 0, open)), "15!")
			},
			"failed": func(open func(strs) stream.Stream[strs]) {
				expect(t, operators.Count(operators.Window(cold("10a 15#"), 9, 0, open)), "15#")
			},
			"stopped": func(open func(strs) stream.Stream[strs]) {
				expect(t, operators.Count(operators.Window(cold("10a"), 9, 0, open).Take(1)), "101 10|")
			},
			"panicked": func(open func(strs) stream.Stream[strs]) {
				v := recovered(func() {
					_ = operators.Window(cold("10a"), 9, 0, open).ForEach(t.Context(), func(strs) { panic(errBoom) })
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
	bubble(t, "the consumer's", func(t *testing.T) {
		expectBoth(t, operators.Window(cold("10a 20b 30c 40d 50e 60|"), 2, 0, recovering), "10a 20b 50e 60|")
		expectBoth(t, operators.Window(cold("10c 20b 60d 70|"), 9, 50*ms, recovering), "60d 70|")
	})
	bubble(t, "the source's", func(t *testing.T) {
		src := cold("10a 20b 30x").Tap(func(v string) {
			if v == "x" {
				panic(errBoom)
			}
		})
		expectBoth(t, operators.Window(src, 9, 0, recovering), "10a 20b 30|")
		expectBoth(t, operators.Window(src, 9, 50*ms, recovering), "10a 20b 30|")
	})
}

func TestWindow_Errors(t *testing.T) {
	bubble(t, "of f's stream", func(t *testing.T) {
		returned := 0
		f := func(window strs) strs { return window.Take(1).Concat(stream.Fail[string](errBoom)) }
		expect(t, operators.Window(returns(cold("10a 20b"), &returned), 2, 0, f), "10a 10#")
		if returned != 1 {
			t.Error("the source has not returned")
		}
	})
	bubble(t, "of the source, caught in the window: it is returned all the same", func(t *testing.T) {
		f := func(window strs) strs { return window.Catch(func(error) strs { return stream.Of("caught") }) }
		expect(t, operators.Window(cold("10a 20#"), 9, 0, f), "10a 20caught 20#")
	})
	bubble(t, "of the source, changed in the window", func(t *testing.T) {
		f := func(window strs) strs {
			return operators.MapErr(window, func(err error) error { return errors.Join(errors.New("mine"), err) })
		}
		_, err := operators.Window(cold("10a 20#"), 9, 0, f).Collect(t.Context())
		if !errors.Is(err, errBoom) || err.Error() != "mine\nboom" {
			t.Error(err)
		}
	})
	bubble(t, "of the source, and another one of f's stream", func(t *testing.T) {
		f := func(window strs) strs {
			return operators.MapErr(window, func(error) error { return errors.New("mine") })
		}
		_, err := operators.Window(cold("10a 20#"), 9, 0, f).Collect(t.Context())
		if !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "mine") {
			t.Error(err)
		}
	})
	bubble(t, "a panic of the source", func(t *testing.T) {
		src := cold("10a 20|").Concat(stream.Defer(func(context.Context) strs { panic(errBoom) }))
		v := recovered(func() { _, _ = operators.Window(src, 9, time.Hour, sum).Collect(t.Context()) })
		if err, ok := v.(error); !ok || !errors.Is(err, errBoom) {
			t.Errorf("%v", v)
		}
	})
}

func TestWindow_StoppedAndCancelled(t *testing.T) {
	bubble(t, "stopped", func(t *testing.T) {
		expect(t, operators.Window(cold("10a 20b"), 9, 0, marked).Take(2), "10a 20b 20|")
		expect(t, operators.Window(cold("10a 20b"), 1, 50*ms, marked).Take(2), "10a 10/ 10|")
	})
	bubble(t, "cancelled in a window", func(t *testing.T) {
		expectCancelled(t, 30*ms, operators.Window(cold("10a 20b"), 9, 50*ms, marked), "10a 20b 30!")
	})
	bubble(t, "cancelled between two", func(t *testing.T) {
		expectCancelled(t, 30*ms, operators.Window(cold("10a 20b"), 2, 0, marked), "10a 20b 20/ 30!")
	})
	bubble(t, "cancelled while the rest of a window is dropped", func(t *testing.T) {
		f := func(strs) strs { return stream.Empty[string]() }
		expectCancelled(t, 30*ms, operators.Window(cold("10a 20b"), 9, time.Hour, f), "30!")
	})
}

// A concurrent operator inside runs the window on another goroutine; the race detector watches.
func TestWindow_RunOnAnotherGoroutine(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := func(window strs) strs { return sum(window.Timeout(time.Hour).Merge(stream.Empty[string]())) }
		expectBoth(t, operators.Window(cold("10a 20b 60c 70d 160e 170|"), math.MaxInt, 50*ms, f), "50ab 100cd 150 170e 170|")
	})
}
