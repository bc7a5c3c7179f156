package stream_test

import (
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// marble is one run of an operator: what its source does, what comes of it, and when the source was subscribed to.
type marble struct {
	source string // a line for each subscription
	during string // the subscription, if it is cancelled
	want   string
	subs   string // a line for each subscription
	err    error  // that "#" of want stands for, if not for the source's
}

// expectMarbles runs the operator that apply makes for each of the cases.
func expectMarbles(t *testing.T, cases map[string]marble, apply func(s *streamtest.Session, src stream.Stream[string]) stream.Stream[string]) {
	t.Helper()
	for name, c := range cases {
		session(t, name, func(s *streamtest.Session) {
			src := streamtest.Cold[string](s, c.source)
			e := streamtest.ExpectDuring(s, apply(s, src.Stream), c.during)
			if c.err != nil {
				e.Error(c.err)
			}
			e.ToBe(c.want)
			src.Subscriptions(strings.Split(c.subs, "\n")...)
		})
	}
}

// expectFlow runs a stream of its own and checks what it does; "#" is err.
func expectFlow[T any](t *testing.T, name string, newStream func() stream.Stream[T], want string, err error) {
	t.Helper()
	session(t, name, func(s *streamtest.Session) { streamtest.Expect(s, newStream()).Error(err).ToBe(want) })
}

func session(t *testing.T, name string, f func(s *streamtest.Session)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { streamtest.Run(t, f) })
}
