package operators_test

import (
	"math"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
)

func TestBatch_ByCountAndTime(t *testing.T) {
	for name, c := range map[string]struct {
		s    string
		most int
		wait time.Duration
		want string
	}{
		"full, then over time, then the rest":  {"10a 20b 30c 40d 100e 130f 140|", 3, 50 * ms, "30[a b c] 90[d] 140[e f] 140|"},
		"the time begins with the first value": {"100a 120b 200|", 9, 50 * ms, "150[a b] 200|"},
		"a full batch stops the time":          {"10a 20b 65c 200|", 2, 50 * ms, "20[a b] 115[c] 200|"},
		"a batch of one is full at once":       {"10a 20b 200|", 1, 50 * ms, "10[a] 20[b] 200|"},
		"no limit by count":                    {"10a 20b 30c 200|", math.MaxInt, 50 * ms, "60[a b c] 200|"},
		"no limit in time":                     {"10a 20b 900c 950|", 2, 0, "20[a b] 950[c] 950|"},
		"neither":                              {"10a 20b 950|", math.MaxInt, 0, "950[a b] 950|"},
		"empty":                                {"100|", 2, 50 * ms, "100|"},
		"empty, no limit in time":              {"100|", 2, 0, "100|"},
		"the rest comes before an error":       {"10a 20#", 3, 50 * ms, "20[a] 20#"},
		"the same, no limit in time":           {"10a 20#", 3, 0, "20[a] 20#"},
		"nothing but an error":                 {"20#", 3, 50 * ms, "20#"},
		"the same, no limit in time either":    {"20#", 3, 0, "20#"},
	} {
		bubble(t, name, func(t *testing.T) {
			expectBoth(t, operators.Batch(cold(c.s), c.most, c.wait), c.want)
		})
	}
}

func TestBatch_Cancelled(t *testing.T) {
	bubble(t, "what has not been delivered is dropped", func(t *testing.T) {
		for range 20 { // the source's end and the context's come together
			expectCancelled(t, 30*ms, operators.Batch(cold("10a 20b"), 3, 50*ms), "30!")
		}
		expectCancelled(t, 30*ms, operators.Batch(cold("10a 20b"), 3, 0), "30!")
	})
	bubble(t, "TakeUntil on the source ends it in order", func(t *testing.T) {
		expect(t, operators.Batch(operators.TakeUntil(cold("10a 20b"), cold("30x")), 3, 50*ms), "30[a b] 30|")
	})
}

func TestBatch_Stopped(t *testing.T) {
	for _, wait := range []time.Duration{0, 50 * ms} {
		bubble(t, wait.String(), func(t *testing.T) {
			for script, want := range map[string]string{
				"10a 20b 30c": "20[a b] 20|", // at a full batch
				"10a 20|":     "20[a] 20|",   // at the rest
				"10a 20#":     "20[a] 20|",   // before the error
			} {
				returned := 0
				expect(t, operators.Batch(returns(cold(script), &returned), 2, wait).Take(1), want)
				if returned != 1 {
					t.Error("the source has not returned")
				}
			}
		})
	}
	bubble(t, "over time", func(t *testing.T) {
		expect(t, operators.Batch(cold("10a 90b"), 2, 50*ms).Take(1), "60[a] 60|")
	})
}

// While the consumer is busy the time goes on, and the source waits with its next value.
func TestBatch_BusyConsumer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		got := playWith(t.Context(), operators.Batch(cold("10a 20b 70c 80d 215e 220|"), 9, 50*ms), func([]string) bool {
			time.Sleep(100 * ms)
			return true
		})
		// The first batch is in hand till 160: then c is taken, and d at once after it; their time is over at 210. e waits
		// till 310.
		if want := "60[a b] 210[c d] 310[e] 410|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestBatch_SlicesAreTheConsumersOwn(t *testing.T) {
	got, err := operators.Batch(cold("0a 0b 0c 0d 0e 0|"), 2, 0).Collect(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
	_ = append(got[0], "x")
	got[0][0] = "y"
	if got[1][0] != "c" || got[2][0] != "e" {
		t.Error(got)
	}
}
