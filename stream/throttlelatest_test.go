package stream_test

import (
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

func TestThrottleLatest(t *testing.T) {
	expectMarbles(t, map[string]marble{
		"the first, and the latest of each window": {source: "-a-xy----b--x----c-d----|", want: "-a----y----b----x----d--|", subs: "^-----------------------!"},
		"one value":                            {source: "-a------------|", want: "-a------------|", subs: "^-------------!"},
		"values that are further apart":        {source: "-a------b------c------|", want: "-a------b------c------|", subs: "^---------------------!"},
		"two in one window":                    {source: "-ab-------|", want: "-a----b---|", subs: "^---------!"},
		"the second opens a window of its own": {source: "-a-b----c----d----|", want: "-a----b----c----d-|", subs: "^-----------------!"},
		"a value that waits comes at the end":  {source: "-a-b|", want: "-a--(b|)", subs: "^---!"},
		"and before an error":                  {source: "-a-b#", want: "-a--(b#)", subs: "^---!"},
		"once":                                 {source: "-a-b-----|", want: "-a----b--|", subs: "^--------!"},
		"all at once":                          {source: "(abc)-------|", want: "a----c------|", subs: "^-----------!"},
		"all at once, and the end":             {source: "(abc|)", want: "(ac|)", subs: "(^!)"},
		"an empty source":                      {source: "-----|", want: "-----|", subs: "^----!"},
		"one that ends at once":                {source: "|", want: "|", subs: "(^!)"},
		"a silent one":                         {source: "-", want: "-", subs: "^"},
		"a failure at once":                    {source: "#", want: "#", subs: "(^!)"},
		"a value and no end":                   {source: "-ab-", want: "-a----b------", subs: "^"},
		"cancelled in a window":                {source: "-a-b------|", during: "----!", want: "-a--------", subs: "^---!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.ThrottleLatest(5 * ms)
	})
	expectMarbles(t, map[string]marble{
		"retried": {source: "-ab-------c-(d#)", want: "-a----b----cda----b----c(d#)", subs: "^-----------!\n------------^-----------!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.ThrottleLatest(5 * ms).Retry(1)
	})
}

// The window begins with the delivery, so a consumer that is busy for longer finds it over.
func TestThrottleLatest_ABusyConsumer(t *testing.T) {
	expectMarbles(t, map[string]marble{
		// b waits in the source when the consumer is done with a, and c comes after it.
		"for 9 ms": {source: "-a-bc-------------------------(d|)", want: "----------a--------b--------c----------(d|)", subs: "^-----------------------------!"},
	}, func(_ *streamtest.Session, src stream.Stream[string]) stream.Stream[string] {
		return src.ThrottleLatest(5 * ms).Tap(func(string) { time.Sleep(9 * ms) })
	})
}
