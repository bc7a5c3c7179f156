package operators_test

import (
	"context"
	"errors"
	"math"
	"testing"
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
