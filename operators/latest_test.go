package operators_test

import (
	"context"
	"slices"
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
	bubble(t, "stopped at a value of a, or of b", func(t *testing.T) {
		expect(t, operators.CombineLatest(cold("10a 30b"), cold("20x"), join).Take(1), "20ax 20|")
		expect(t, operators.CombineLatest(cold("20a"), cold("10x"), join).Take(1), "20ax 20|")
	})
	bubble(t, "a slow consumer slows both, and no combination is dropped", func(t *testing.T) {
		n := 0
		err := operators.CombineLatest(stream.Range(1, 10), stream.Range(1, 10), add).ForEach(t.Context(), func(v int) {
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
		"each value of s with the other's last": {"30b 60c 70|", "20x 40y 50z", "30bx 60cz 70|"},
		"the first value is held":               {"10a 15b 16c 30d 40|", "20x", "20ax 20bx 20cx 30dx 40|"},
		"and the end behind it":                 {"10a 15|", "20x", "20ax 20|"},
		"the other's end changes nothing":       {"10a 30b 60c 70|", "20x 40|", "20ax 30bx 60cx 70|"},
		"the other is empty":                    {"10a 30b 70|", "20|", "70|"},
		"the other is empty, s waits for it":    {"10a 15|", "20|", "20|"},
		"the other fails while s is held":       {"10a 15|", "20#", "20#"},
		"the other never has a value":           {"70|", "", "70|"},
		"s is empty":                            {"70|", "20x", "70|"},
		"s fails":                               {"30b 40#", "20x", "30bx 40#"},
		"s fails before its first value":        {"10#", "20x", "10#"},
		"the other fails":                       {"30b 60c", "20x 40#", "30bx 40#"},
	} {
		bubble(t, name, func(t *testing.T) {
			ss, others := 0, 0
			expectBoth(t, operators.WithLatestFrom(returns(cold(c.s), &ss), returns(cold(c.other), &others), join), c.want)
			if ss != 2 || others != 2 {
				t.Errorf("%d, %d have returned", ss, others)
			}
		})
	}
	bubble(t, "cancelled while s is held", func(t *testing.T) {
		rude := func(_ context.Context, yield func(string) bool) error { yield("a"); return nil }
		expectCancelled(t, 50*ms, operators.WithLatestFrom(rude, stream.Never[string](), join), "50!")
		expectCancelled(t, 50*ms, operators.WithLatestFrom(cold("30a"), stream.Never[string](), join), "50!")
		expectCancelled(t, time.Hour, operators.WithLatestFrom(cold("30a 40|"), stream.Never[string](), join), "3600000!")
		expect(t, operators.WithLatestFrom(cold("30a 40|"), stream.Never[string]().StartWith("-"), join), "30a- 40|")
	})
	bubble(t, "none of many values is lost when the other has one at once", func(t *testing.T) {
		n := 0
		s := operators.WithLatestFrom(stream.Range(0, 100_000), stream.Of("x").Concat(stream.Never[string]()), func(v int, _ string) int { return v })
		if err := s.ForEach(t.Context(), func(v int) {
			if v != n {
				t.Fatalf("%d, want %d", v, n)
			}
			n++
		}); err != nil || n != 100_000 {
			t.Error(n, err)
		}
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

// Whichever of the two comes first, neither waits for the other forever, and the values that come to s are all
// delivered.
func TestWithLatestFrom_OfOneShare(t *testing.T) {
	diagonal := func(a, b int) [2]int { return [2]int{a, b} }
	shares := map[string]func(ints) ints{
		"Share":     operators.Share[int],
		"ShareN(2)": func(s ints) ints { return operators.ShareN(s, 2) },
	}
	for name, share := range shares {
		bubble(t, name+", at once", func(t *testing.T) {
			for range 300 {
				s := share(stream.Range(0, 20))
				got, err := operators.WithLatestFrom(s, s, diagonal).Collect(t.Context())
				if err != nil || name != "Share" && len(got) != 20 { // of a Share, s may come when the run is ending
					t.Fatal(got, err)
				}
				for i := 1; i < len(got); i++ {
					if got[i][0] != got[i-1][0]+1 {
						t.Fatal(got)
					}
				}
			}
		})
		bubble(t, name+", in time", func(t *testing.T) {
			s := share(stream.FromSlice([]int{1, 2, 3}).Delay(10 * ms))
			expect(t, operators.WithLatestFrom(s, s, func(a, _ int) int { return a }), "101 202 303 30|")
		})
	}
	bubble(t, "in one another", func(t *testing.T) {
		for range 100 {
			s := operators.Share(stream.Range(0, 5))
			inner := operators.WithLatestFrom(s, s, add)
			if _, err := operators.WithLatestFrom(s, inner, add).Collect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
	bubble(t, "the other comes late", func(t *testing.T) {
		s := operators.Share(stream.Range(0, 3))
		late := stream.Timer(10 * ms)
		other := operators.ConcatMap(late, func(time.Time) ints { return s })
		expect(t, operators.WithLatestFrom(s, other, diagonal).Take(1), "10[0 0] 10|")
	})
	bubble(t, "a value that is not held is not given twice", func(t *testing.T) {
		s := operators.Share(stream.Range(0, 4))
		var seen []int
		other := stream.Of(9).Concat(operators.ConcatMap(stream.Timer(10*ms), func(time.Time) ints { return s.Take(1).Repeat(3) }))
		other = other.Tap(func(v int) { seen = append(seen, v) })
		err := operators.WithLatestFrom(s, other, diagonal).ForEach(t.Context(), func([2]int) { time.Sleep(15 * ms) })
		if err != nil || !slices.Equal(seen, []int{9, 1, 2, 3}) {
			t.Error(seen, err)
		}
	})
	bubble(t, "with a Buffer it may drop the first", func(t *testing.T) {
		s := operators.Share(cold("10a 20b 30c 40|"))
		expect(t, operators.WithLatestFrom(s.Buffer(1), s.Skip(1), func(a, _ string) string { return a }), "20a 20b 30c 40|")
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
