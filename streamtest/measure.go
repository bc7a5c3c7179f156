package streamtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/streamtest/internal/virtual"
)

// measure makes the reference. It returns what is wrong, if it cannot.
func (s *subject) measure(t *testing.T) (trouble string) {
	s.settle()
	o := new(outcome)
	var read, ends, timely bool
	var took time.Duration
	frozen := virtual.Try(t, standing, func(b *virtual.Bubble) {
		ctx, cancel := context.WithCancelCause(b.Context)
		defer cancel(nil)
		n := newNetwork(outage{at: -1})
		defer n.stop()
		client, end := s.begin(b, n)
		defer end()
		o.tally = newTally(nil)
		o.unit = n.unit
		start := time.Now()
		r := client.start(ctx, func(v any) bool {
			o.tally.enter(v)
			return true
		})
		for most := time.Hour + 2*time.Duration(s.units)*eventPace; !read && !o.ended && time.Since(start) < most; {
			read, o.ended = s.read(n, o.quiet(start)), r.within(time.Second)
		}
		values, quiet := o.entered(), o.quiet(start)
		took = time.Since(start) - quiet
		if !o.ended {
			o.ended = r.within(2*idlePause + time.Second)
			timely = o.entered() > values
			o.made.cut(values)
		}
		if o.ended {
			o.err, o.panicked = r.err, r.panicked
		}
		ends = o.ended && o.err == nil
		o.net = n.seen()
		cancel(errCause)
		r.within(prompt)
	})
	switch {
	case frozen != nil:
		return standsStill(frozen)
	case o.panicked != "":
		return "it panicked: " + o.panicked
	case o.err != nil:
		return fmt.Sprintf("it ended with the error %q", o.err)
	case len(o.made.values) == 0:
		return fmt.Sprintf("it delivered nothing, on %s", count(len(o.net.dials), "connection"))
	case !read && !ends:
		return fmt.Sprintf("it delivered %s and was not done in an hour", count(len(o.made.values), "value"))
	}
	s.ref, s.of, s.took, s.ends, s.timely = o.made, o.of[:len(o.made.values)], took, ends, timely
	if s.units == 0 {
		s.units = s.of[len(s.of)-1] + 1
	}
	return ""
}
