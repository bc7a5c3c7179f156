package axis

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func TestStep(t *testing.T) {
	tests := []struct {
		length    time.Duration
		intervals int
		want      time.Duration
	}{
		{time.Second, 1, time.Second},
		{5 * time.Second, 5, time.Second},
		{6 * time.Second, 5, 2 * time.Second},
		{11 * time.Second, 5, 5 * time.Second},
		{26 * time.Second, 5, 10 * time.Second},
		{51 * time.Second, 5, 15 * time.Second},
		{76 * time.Second, 5, 30 * time.Second},
		{151 * time.Second, 5, time.Minute},
		{6 * time.Minute, 5, 2 * time.Minute},
		{11 * time.Minute, 5, 5 * time.Minute},
		{26 * time.Minute, 5, 10 * time.Minute},
		{51 * time.Minute, 5, 15 * time.Minute},
		{76 * time.Minute, 5, 30 * time.Minute},
		{151 * time.Minute, 5, time.Hour},
		{6 * time.Hour, 5, 2 * time.Hour},
		{11 * time.Hour, 5, 3 * time.Hour},
		{16 * time.Hour, 5, 6 * time.Hour},
		{31 * time.Hour, 5, 12 * time.Hour},
		{61 * time.Hour, 5, day},
		{6 * day, 5, 2 * day},
		{11 * day, 5, 5 * day},
		{30 * day, 5, 10 * day},
		{time.Second, 5, 200 * time.Millisecond},
		{3 * time.Second, 5, time.Second},
		{30 * time.Millisecond, 5, 10 * time.Millisecond},
		{3, 5, 1},
		{7, 0, 10},
		{7, 4, 2},
		{math.MaxInt64, 5, 50000 * day},
		{math.MaxInt64, 1, math.MaxInt64},
	}
	for _, test := range tests {
		if got := Step(test.length, test.intervals); got != test.want {
			t.Errorf("Step(%v, %d) = %v, want %v", test.length, test.intervals, got, test.want)
		}
	}
}

// Every step is one of a clock's, and there are never more intervals than the maximum.
func TestStepsAreThoseOfAClock(t *testing.T) {
	allowed := map[time.Duration]bool{}
	for _, unit := range []time.Duration{time.Second, time.Minute} {
		for _, n := range []time.Duration{1, 2, 5, 10, 15, 30} {
			allowed[n*unit] = true
		}
	}
	for _, n := range []time.Duration{1, 2, 3, 6, 12} {
		allowed[n*time.Hour] = true
	}
	for length := time.Second; length < 40*time.Hour; length += 37 * time.Second {
		for _, intervals := range []int{1, 3, 4, 7, 10} {
			step := Step(length, intervals)
			if step > time.Second/2 && step < day && !allowed[step] {
				t.Fatalf("Step(%v, %d) = %v", length, intervals, step)
			}
			if ticks := Times(length, intervals); len(ticks) > intervals+1 || ticks[len(ticks)-1].At > length.Seconds() {
				t.Fatalf("Times(%v, %d) = %v", length, intervals, ticks)
			}
		}
	}
}

// labels returns the labels of ticks, separated by spaces.
func labels(ticks []Tick) string {
	all := make([]string, len(ticks))
	for i, tick := range ticks {
		all[i] = tick.Label
	}
	return strings.Join(all, " ")
}

func TestTimes(t *testing.T) {
	for _, test := range []struct {
		most      time.Duration
		intervals int
		want      string
	}{
		{0, 5, "0"},
		{-time.Second, 5, "0"},
		{100 * time.Microsecond, 4, "0 50µs 100µs"},
		{time.Minute, 4, "0 15s 30s 45s 1m"},
		{95 * time.Second, 4, "0 30s 1m 1m30s"},
		{4 * time.Hour, 3, "0 2h 4h"},
		{1500 * time.Millisecond, 3, "0 500ms 1s 1.5s"},
		{36 * time.Hour, 3, "0 12h 1d 1d12h"},
		{math.MaxInt64, 2, "0 273y"},
	} {
		if got := labels(Times(test.most, test.intervals)); got != test.want {
			t.Errorf("Times(%v, %d): %s, want %s", test.most, test.intervals, got, test.want)
		}
	}
}

func TestTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 1: "1ns", 1234: "1.23µs", 1000600: "1ms", 123456: "123µs", 9999999: "10ms", 85 * time.Millisecond: "85ms",
		999999999: "1s", 1234567890: "1.23s", 12345 * time.Millisecond: "12.3s", 59990 * time.Millisecond: "1m",
		90 * time.Second: "1m30s", 61234 * time.Millisecond: "1m1.2s", 3599990 * time.Millisecond: "1h",
		90 * time.Minute: "1h30m", 3 * time.Hour: "3h", 24*time.Hour - 1: "1d", 36 * time.Hour: "1d12h", 2*day - 10*time.Minute: "2d",
		10 * day: "10d", 100*365*day - time.Hour: "36499d23h", 100 * 365 * day: "100y", math.MaxInt64: "292y", -time.Second: "-1s",
	} {
		if got := Time(d); got != want {
			t.Errorf("Time(%d) = %q, want %q", int64(d), got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", 12.345: "12.3", 0.1234: "0.123", 999: "999", 1000: "1k", 1500: "1.5k", 123456: "123k",
		1e6: "1M", 2.5e6: "2.5M", 999.6: "1k", 1e12: "1e+12", -5: "-5",
		999.4: "999", 999.5: "1k", 999.4e3: "999k", 999.5e3: "1M", 999.4e6: "999M", 999.5e6: "1e+09",
	} {
		if got := Number(x); got != want {
			t.Errorf("Number(%v) = %q, want %q", x, got, want)
		}
	}
	if got := Number(math.NaN()); got != "-" {
		t.Error(got)
	}
}

func TestRates(t *testing.T) {
	for _, test := range []struct {
		most      float64
		intervals int
		want      string
	}{
		{0, 3, "0"}, {3, 3, "0 1 2 3"}, {4, 3, "0 2 4"}, {0.4, 4, "0 0.1 0.2 0.3 0.4"}, {0.3, 3, "0 0.1 0.2 0.3"}, {0.4, 3, "0 0.2 0.4"}, {0.012, 4, "0 0.005 0.01"}, {10, 0, "0 10"},
	} {
		ticks := Rates(test.most, test.intervals)
		if last := ticks[len(ticks)-1].At; last > test.most {
			t.Errorf("Rates(%v, %d): the last tick is at %v, beyond the end", test.most, test.intervals, last)
		}
		if got := labels(ticks); got != test.want {
			t.Errorf("Rates(%v, %d) = %s, want %s", test.most, test.intervals, got, test.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		most      float64
		intervals int
		last      float64
		count     int
	}{{0, 4, 0, 1}, {100, 5, 100, 6}, {7, 4, 6, 4}, {3, 10, 3, 4}, {2424, 4, 2000, 3}, {-1, 4, 0, 1}, {math.Inf(1), 4, 0, 1}, {math.NaN(), 4, 0, 1}} {
		ticks := Numbers(test.most, test.intervals)
		if len(ticks) != test.count || ticks[len(ticks)-1].At != test.last {
			t.Errorf("Numbers(%v, %d) = %v", test.most, test.intervals, ticks)
		}
	}
}

func TestTimesFrom(t *testing.T) {
	for _, test := range []struct {
		origin, most time.Duration
		want         string
	}{
		{time.Minute, 2 * time.Minute, "[{0 -1m} {30 -30s} {60 0} {90 30s} {120 1m}]"},
		{50 * time.Second, 2 * time.Minute, "[{20 -30s} {50 0} {80 30s} {110 1m}]"},
		{0, time.Minute, "[{0 0} {15 15s} {30 30s} {45 45s} {60 1m}]"},
		{time.Minute, 0, "[{0 0}]"},
		{time.Nanosecond, math.MaxInt64, "[{1e-09 0} {4.32e+09 136y} {8.64e+09 273y}]"},
	} {
		got := fmt.Sprint(TimesFrom(test.origin, test.most, 4))
		if got != test.want {
			t.Errorf("TimesFrom(%v, %v, 4) = %s, want %s", test.origin, test.most, got, test.want)
		}
	}
}
