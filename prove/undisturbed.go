package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// undisturbed is what the program does when nothing breaks.
type undisturbed struct {
	values judge.Reference
	took   time.Duration // from the first connection to the last value
	finite bool          // it ends by itself
	places []place
	most   int         // places that are wanted
	chunks int         // that count
	early  []int64     // where the first chunks of the first connection began
	came   []time.Time // each value
	opaque bool        // no value's text is in what has passed
	notes  []string
}

// The limits of an undisturbed run.
const (
	firstValue  = 20 * time.Second
	unconnected = 10 * time.Second // it delivers values before it makes a connection
	unreachable = 3 * time.Second  // the server refuses connections
	endless     = 2 * time.Minute  // it delivers no more values after that
	mostEarly   = 4
)

// measure runs the program twice, without a break. again: it does so once more if the two differ, since a busy machine
// may have delayed a value of one until it was over. A run with which others cannot be compared ends the other one.
func (c *check) measure(ctx context.Context, again bool) error {
	runs := make([]*outcome, 2)
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.clock.each(running, len(runs), c.Parallel, func(i int) {
		runs[i] = c.play(running, scenario{where: "undisturbed"})
		if err := c.usable(runs[i]); err != nil && running.Err() == nil {
			stop(fmt.Errorf("prove: undisturbed: %w", err))
		}
	})
	if err := context.Cause(running); err != nil {
		return err
	}
	if err := c.wentPast(runs); err != nil {
		return fmt.Errorf("prove: undisturbed: %w", err)
	}
	if runs[1].seen.connected < runs[0].seen.connected { // a busy machine may have broken the other one's
		slices.Reverse(runs)
	}
	o := runs[0]
	one, _ := o.tally.Made()
	two, _ := runs[1].tally.Made()
	u := undisturbed{values: one, took: o.seen.lastAt.Sub(o.seen.first), finite: o.ended && runs[1].ended, came: o.arrivals}
	switch difference := c.differ(one, two); {
	case difference == "":
	case c.Latest && one[len(one)-1] == two[len(two)-1]:
		c.allowed.Foreign = true
	case again:
		return c.measure(ctx, false)
	case c.Event != nil && (suffix(one, two) || suffix(two, one)):
		return fmt.Errorf("prove: two undisturbed runs differ: %s; did it subscribe after the events?", difference)
	default:
		return fmt.Errorf("prove: two undisturbed runs differ: %s; a value must not contain a time, an address or a run's name", difference)
	}
	all := o.places()
	for _, p := range all {
		if p.conn == 0 && len(u.early) < mostEarly {
			u.early = append(u.early, p.at)
		}
	}
	if len(all) == 0 {
		return errors.New("prove: undisturbed: the program delivered its values before anything came from the server through the proxy; does it connect to the proxy's address?")
	}
	u.chunks = len(all)
	u.places, u.most = spread(all, c.Places), c.Places
	if len(all) == 1 {
		u.notes = append(u.notes, "all that came from the server came at once, so there is one place only at which connections break; events that come while the program runs would make more")
	}
	if u.opaque = o.seen.unread == len(one); u.opaque {
		u.notes = append(u.notes, "no value's text was in what passed through the proxy: that is so if it is encrypted or encoded, and if the values went past the proxy")
	}
	c.ref = u
	return nil
}

// places returns where the chunks began that came before the last value.
func (o *outcome) places() (all []place) {
	for _, k := range o.chunks {
		if !k.came.After(o.seen.lastAt) {
			before := slices.IndexFunc(o.arrivals, func(at time.Time) bool { return at.After(k.came) })
			all = append(all, place{chunk: k, number: len(all) + 1, before: max(0, before)})
		}
	}
	return all
}

// usable returns what prevents that other runs are compared with this one.
func (c *check) usable(o *outcome) error {
	connected := judge.Count(o.seen.connected, "connection") + " through the proxy"
	if o.seen.dialError != nil {
		connected += ", and the server cannot be reached: " + o.seen.dialError.Error()
	}
	count := o.tally.Count()
	switch {
	case o.trouble != nil:
		return o.trouble
	case o.ended && o.err != nil:
		return fmt.Errorf("the program ended after %s: %w", judge.Count(count, "value"), o.err)
	case o.seen.connected == 0:
		return fmt.Errorf("the program delivered %s and made no connection through the proxy; does it connect to the address that it is given, in place of the server's?", judge.Count(count, "value"))
	case len(o.chunks) == 0:
		return fmt.Errorf("nothing came from the server, on %s", connected)
	case count == 0 && o.ended:
		return fmt.Errorf("the program ended without a value, on %s", connected)
	case count == 0:
		what, hint := "", "does it buffer its output?"
		if o.events {
			what = fmt.Sprintf(", although all %d events were made", c.Events)
			hint += " Did it subscribe after the events?"
		}
		return fmt.Errorf("the program delivered no value in %v%s, on %s; %s", firstValue+c.Quiet, what, connected, hint)
	case o.endless:
		return fmt.Errorf("the program still delivers values after %v: want a program that is quiet for %v when it has delivered all", endless, c.Quiet)
	}
	return nil
}

// suffix reports whether a run has delivered what is only the end of the other's.
func suffix(short, long judge.Reference) bool {
	return len(short) < len(long) && slices.Equal(short, long[len(long)-len(short):])
}

// wentPast returns an error if most of the values of each run cannot have come through the proxy.
func (c *check) wentPast(runs []*outcome) error {
	var past []string
	for _, o := range runs {
		if count := o.tally.Count(); 2*o.seen.past > count {
			past = append(past, fmt.Sprintf("%d of %s", o.seen.past, judge.Count(count, "value")))
		}
	}
	if len(past) < len(runs) {
		return nil
	}
	return fmt.Errorf("%s: %s came while no connection through the proxy was open, or although the server had sent nothing through it since the value before; %s",
		Past, past[0], mendPast)
}

// differ shows the first difference between two runs.
func (c *check) differ(one, two judge.Reference) string {
	shown := func(values judge.Reference) []string {
		var all []string
		for _, v := range values {
			all = append(all, strconv.Quote(v.(string)))
		}
		if c.AnyOrder {
			slices.Sort(all)
		}
		return append(all, "missing")
	}
	a, b := shown(one), shown(two)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("value %d is %s and %s", i+1, a[i], b[i])
		}
	}
	return ""
}
