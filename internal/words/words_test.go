package words_test

import (
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/words"
)

func TestList(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := words.List(names, "or"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDurations(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "10s": 10 * time.Second, "1m": time.Minute, "10m": 10 * time.Minute, "1m10s": 70 * time.Second, "1h": time.Hour, "10h": 10 * time.Hour,
		"1h10m": 70 * time.Minute, "10h0m10s": 10*time.Hour + 10*time.Second, "1m0.5s": time.Minute + 500*time.Millisecond, "1ms": time.Millisecond,
	} {
		if got := words.Duration(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
		if got, err := words.ParseDuration(want, ""); err != nil || got != d {
			t.Errorf("%s is read as %v, %v", want, got, err)
		}
	}
	for value, want := range map[string]string{
		"":         "an empty duration, want some",
		"5":        "5 has no unit, want some",
		"-5s":      "-5s is negative, want a duration of at least 0",
		"1.2.3s":   `"1.2.3s" is not a duration, want some`,
		"soon":     `"soon" is not a duration, want some`,
		"2562048h": "2562048h is past the largest duration, 2562047h47m16.854775807s",
		"9999999h": "9999999h is past the largest duration, 2562047h47m16.854775807s",
	} {
		if got, err := words.ParseDuration(value, "want some"); err == nil || err.Error() != want || got != 0 {
			t.Errorf("%q: got %v, %v, want %s", value, got, err, want)
		}
	}
}

func TestMain(m *testing.M) { check.Main(m) }
