package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
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
			expectBoth(t, operators.Batch(fromScript(c.s), c.most, c.wait), c.want)
		})
	}
}

func TestBatch_Cancelled(t *testing.T) {
	session(t, "what has not been delivered is dropped", func(s *streamtest.Session) {
		for range 20 { // the source's end and the context's come together
			expectCancelled(s, operators.Batch(cold(s, "-ab"), 3, 5*ms), "---!", "----")
		}
		expectCancelled(s, operators.Batch(cold(s, "-ab"), 3, 0), "---!", "----")
	})
	session(t, "TakeUntil on the source ends it in order", func(s *streamtest.Session) {
		src := operators.TakeUntil(cold(s, "-ab"), cold(s, "---x"))
		streamtest.Expect(s, joined(operators.Batch(src, 3, 5*ms))).ToBeWith("---(P|)", map[string]string{"P": "ab"})
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
				expect(t, operators.Batch(returns(fromScript(script), &returned), 2, wait).Take(1), want)
				if returned != 1 {
					t.Error("the source has not returned")
				}
			}
		})
	}
	bubble(t, "over time", func(t *testing.T) {
		expect(t, operators.Batch(fromScript("10a 90b"), 2, 50*ms).Take(1), "60[a] 60|")
	})
}

// While the consumer is busy the time goes on, and the source waits with its next value.
func TestBatch_BusyConsumer(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		got := playWith(t.Context(), operators.Batch(fromScript("10a 20b 70c 80d 215e 220|"), 9, 50*ms), func([]string) bool {
			time.Sleep(100 * ms)
			return true
		})
		// The first batch is processed until 160: then c is taken, and d right after it; their time is over at 210. e waits
		// until 310.
		if want := "60[a b] 210[c d] 310[e] 410|"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
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
