package operators_test

import (
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func TestCombineLatest(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"each value with the other's last":  {"10a 40b 80|", "20x 30y 60|", "20ax 30ay 40by 80|"},
		"it goes on when one has ended":     {"10a 20|", "30x 40y 50|", "30ax 40ay 50|"},
		"b ended without a value":           {"10a 30b", "20|", "20|"},
		"a ended without a value":           {"20|", "10x 30y", "20|"},
		"b ended without a value, a before": {"10a 15|", "20|", "20|"},
		"both ended without a value":        {"20|", "20|", "20|"},
		"a fails":                           {"10a 30#", "20x", "20ax 30#"},
		"b fails":                           {"10a", "20x 30#", "20ax 30#"},
		"b fails before its first value":    {"10a", "20#", "20#"},
		"a ends, then b fails":              {"10a 15|", "20x 30#", "20ax 30#"},
	} {
		bubble(t, name, func(t *testing.T) {
			as, bs := 0, 0
			expectBoth(t, operators.CombineLatest(returns(cold(c.a), &as), returns(cold(c.b), &bs), join), c.want)
			if as != 2 || bs != 2 {
				t.Errorf("%d, %d have returned", as, bs)
			}
		})
	}
	bubble(t, "cancelled", func(t *testing.T) {
		expectCancelled(t, 50*ms, operators.CombineLatest(cold("10a"), cold("20x"), join), "20ax 50!")
	})
	bubble(t, "stopped at a value of a, or of b", func(t *testing.T) {
		expect(t, operators.CombineLatest(cold("10a 30b"), cold("20x"), join).Take(1), "20ax 20|")
		expect(t, operators.CombineLatest(cold("20a"), cold("10x"), join).Take(1), "20ax 20|")
	})
	bubble(t, "a slow consumer slows both, and no combination is dropped", func(t *testing.T) {
		a, b := &probe{}, &probe{}
		n := 0
		err := operators.CombineLatest(a.source(10, well), b.source(10, well), add).ForEach(t.Context(), func(v int) {
			n++
			time.Sleep(time.Second)
		})
		if err != nil || n < 10 || n > 19 {
			t.Errorf("%d combinations, %v", n, err)
		}
	})
}

func TestWithLatestFrom(t *testing.T) {
	for name, c := range map[string]struct{ s, other, want string }{
		"each value of s with the other's last": {"10a 30b 60c 70|", "20x 40y 50z", "30bx 60cz 70|"},
		"the other's end changes nothing":       {"10a 30b 60c 70|", "20x 40|", "30bx 60cx 70|"},
		"the other is empty":                    {"10a 30b 70|", "20|", "70|"},
		"s is empty":                            {"70|", "20x", "70|"},
		"s fails":                               {"10a 30b 40#", "20x", "30bx 40#"},
		"the other fails":                       {"10a 30b 60c", "20x 40#", "30bx 40#"},
	} {
		bubble(t, name, func(t *testing.T) {
			ss, others := 0, 0
			expectBoth(t, operators.WithLatestFrom(returns(cold(c.s), &ss), returns(cold(c.other), &others), join), c.want)
			if ss != 2 || others != 2 {
				t.Errorf("%d, %d have returned", ss, others)
			}
		})
	}
	bubble(t, "cancelled", func(t *testing.T) {
		expectCancelled(t, 50*ms, operators.WithLatestFrom(cold("30a"), cold("20x"), join), "30ax 50!")
	})
	bubble(t, "stopped", func(t *testing.T) {
		expect(t, operators.WithLatestFrom(cold("30a 40b"), cold("20x"), join).Take(1), "30ax 30|")
	})
	bubble(t, "the other never waits", func(t *testing.T) {
		got := playWith(t.Context(), operators.WithLatestFrom(cold("20a 21b 22|"), cold("10x 50y 60z 70|"), join), func(string) bool {
			time.Sleep(100 * ms)
			return true
		})
		if want := "20ax 120bz 220|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestSample(t *testing.T) {
	for name, c := range map[string]struct{ s, sampler, want string }{
		"the last value, once":            {"10a 20b 70c 95|", "30x 60y 90z", "30b 90c 95|"},
		"what was not sampled is dropped": {"10a 20|", "30x", "20|"},
		"the sampler ends":                {"10a 40b", "20x 30|", "20a 30|"},
		"nothing to sample":               {"", "10x 20|", "20|"},
		"s is empty":                      {"20|", "10x 30y", "20|"},
		"s fails":                         {"10a 40#", "20x", "20a 40#"},
		"the sampler fails":               {"10a", "20x 40#", "20a 40#"},
	} {
		bubble(t, name, func(t *testing.T) {
			ss, samplers := 0, 0
			expectBoth(t, operators.Sample(returns(cold(c.s), &ss), returns(cold(c.sampler), &samplers)), c.want)
			if ss != 2 || samplers != 2 {
				t.Errorf("%d, %d have returned", ss, samplers)
			}
		})
	}
	bubble(t, "every 30 ms", func(t *testing.T) {
		expectBoth(t, operators.Sample(cold("10a 20b 70c 95|"), stream.Interval(30*ms)), "30b 90c 95|")
	})
	bubble(t, "cancelled", func(t *testing.T) {
		expectCancelled(t, 50*ms, operators.Sample(cold("10a"), cold("20x")), "20a 50!")
	})
	bubble(t, "stopped", func(t *testing.T) {
		expect(t, operators.Sample(cold("10a"), cold("20x 30y")).Take(1), "20a 20|")
	})
	bubble(t, "s never waits for the consumer", func(t *testing.T) {
		got := playWith(t.Context(), operators.Sample(cold("10a 30b 50c 70d 200e 500|"), stream.Interval(20*ms)), func(string) bool {
			time.Sleep(100 * ms)
			return true
		})
		if want := "20a 120d 220e 500|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
