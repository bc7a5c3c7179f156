package reconnecttest

import (
	"fmt"
	"testing"
)

// measure makes the reference. It returns what is wrong, if it cannot.
func (s *subject) measure(t *testing.T) (trouble string) {
	o := s.play(t, scenario{outage: outage{at: -1}})
	ends := o.ended && o.err == nil
	switch {
	case o.frozen != nil:
		return standsStill(o.frozen)
	case o.panicked != "":
		return "it panicked: " + o.panicked
	case o.err != nil:
		return fmt.Sprintf("it ended with the error %q", o.err)
	case o.values == 0:
		return fmt.Sprintf("it delivered nothing, on %s", count(len(o.net.dials), "connection"))
	case !o.read && !ends:
		return fmt.Sprintf("it delivered %s and was not done in an hour", count(o.values, "value"))
	}
	s.ref, s.of, s.took, s.ends, s.timely = o.ref[:o.values], o.of[:o.values], o.took, ends, o.timely
	if s.units == 0 {
		s.units = s.of[o.values-1] + 1
	}
	return ""
}
