package reconnecttest

import (
	"fmt"
	"slices"

	"github.com/retrywhen/retrywhen/prove"
)

// Option changes what [CheckResume] and [Check] expect.
type Option func(*check)

// AtLeastOnce makes a repeated value no fault, for a client whose source cannot tell where it stopped.
func AtLeastOnce() Option { return func(c *check) { c.AtLeastOnce = true } }

// AnyOrder makes it no fault that values come in another order than undisturbed, as after Merge or MapRetry.
func AnyOrder() Option { return func(c *check) { c.AnyOrder = true } }

// GivesUp allows the client to end with an error when an outage lasts for an hour. It may not end without an error.
func GivesUp() Option { return func(c *check) { c.GivesUp = true } }

// NoJitter makes it no fault that two clients wait for the same time.
func NoJitter() Option { return func(c *check) { c.noJitter = true } }

// Latest is for a feed of states, such as a configuration: values may be skipped, but the last one must come. A value
// that comes after a later one is a fault, and a repeated one is unless there is AtLeastOnce.
func Latest() Option { return func(c *check) { c.Latest = true } }

// Known makes a finding of this kind no failure if its Where contains where: it is logged with why. If all groups were
// played and there is none, that is a failure. It panics if the check cannot find that kind, or if why is empty.
func Known(kind Kind, where, why string) Option {
	switch all := slices.Concat(kinds, ofCalls); {
	case !slices.Contains(all, kind):
		panic(fmt.Sprintf("reconnecttest: Known: kind is %q, want one of %q", kind, all))
	case why == "":
		panic("reconnecttest: Known: why is empty")
	}
	return func(c *check) { c.known = append(c.known, prove.Known{Kind: kind, Where: where, Why: why}) }
}

// OnFinding calls f with each finding, a known one too, in place of a failure. A Known that is missing fails the test.
func OnFinding(f func(Finding)) Option {
	if f == nil {
		panic("reconnecttest: OnFinding: f is nil")
	}
	return func(c *check) { c.onFinding = f }
}

// kinds are those that CheckResume and Check find.
var kinds = []Kind{
	prove.Lost, prove.Repeated, prove.Foreign, prove.Order, prove.Hot, prove.Silent, prove.Away, prove.GaveUp, prove.Ended, prove.Cap, prove.Jitter,
	prove.Reset, prove.Lag, prove.Gone, prove.Late, prove.Left, prove.Open, prove.Second, prove.Stop, prove.Panic, prove.Unjudged,
}
