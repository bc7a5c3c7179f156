package stream_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestDelay(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"each value is held, and its source waits": {source: "(abc|)", want: "-----a----b----(c|)", subs: "^--------------!"},
		"an error is not delayed":                  {source: "(a#)", want: "-----(a#)", subs: "^----!"},
		"nor is the end":                           {source: "|", want: "|", subs: "(^!)"},
		"cancelled while it holds":                 {source: "(abc|)", during: "-------!", want: "-----a--", subs: "^------!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] { return src.Delay(5 * ms) })
}

// One nanosecond is a delay.
func TestDelay_OfANanosecond(t *testing.T) {
	two := stream.Of(1, 2)
	synctest.Test(t, func(t *testing.T) {
		for i, s := range []stream.Stream[int]{two.TimeShift(1, 9), two.Concat(stream.Never[int]()).Debounce(1).Take(1), stream.Of(1).Delay(1)} {
			start := time.Now()
			if err := s.ForEach(t.Context(), func(int) {}); err != nil || time.Since(start) != 1 {
				t.Errorf("%d: %v after %v, want 1ns", i, err, time.Since(start))
			}
		}
	})
}
