package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// marble is one run of an operator: what its source does, what comes of it, and when the source was subscribed to.
type marble struct {
	source string
	during string // the subscription, if it is cancelled
	want   string
	subs   string
}

// expectMarbles runs the operator that apply makes for each of the cases.
func expectMarbles(t *testing.T, cases map[string]marble, apply func(s *streamtest.Session, src stream.Stream[string]) stream.Stream[string]) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			streamtest.Run(t, func(s *streamtest.Session) {
				src := streamtest.Cold[string](s, c.source)
				st := apply(s, src.Stream)
				streamtest.ExpectDuring(s, st, c.during).ToBe(c.want)
				src.Subscriptions(c.subs)
			})
		})
	}
}
