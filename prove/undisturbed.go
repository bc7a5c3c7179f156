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
	chunks int         // that count
	early  []int64     // where the first chunks of the first connection began
	came   []time.Time // each value
}

// The limits of an undisturbed run.
const (
	firstValue = 20 * time.Second
	endless    = 2 * time.Minute // it delivers no more values after that
	mostEarly  = 4
)

// measure runs the program twice, without a break. again: it does so once more if the two differ, since a busy machine
// may have delayed a value of one until it was over.
func (c *check) measure(ctx context.Context, again bool) error {
	runs := make([]*outcome, 2)
	c.clock.each(ctx, len(runs), c.Parallel, func(i int) { runs[i] = c.play(ctx, scenario{where: "undisturbed"}) })
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, o := range runs {
		if err := c.usable(o); err != nil {
			return fmt.Errorf("prove: undisturbed: %w", err)
		}
	}
	if runs[1].seen.connected < runs[0].seen.connected { // a busy machine may have broken the other one's
		slices.Reverse(runs)
	}
	o := runs[0]
	one, _ := o.tally.Made()
	two, _ := runs[1].tally.Made()
	u := undisturbed{values: one, took: o.seen.lastAt.Sub(o.seen.first), finite: o.ended && runs[1].ended, came: o.arrivals}
	if difference := c.differ(one, two); difference != "" {
		if !c.Latest || one[len(one)-1] != two[len(two)-1] {
			if again {
				return c.measure(ctx, false)
			}
			return fmt.Errorf("prove: two undisturbed runs differ: %s; a value must not contain a time, an address or a run's name", difference)
		}
		c.allowed.Foreign = true
	}
	var all []place
	for _, k := range o.chunks {
		if !k.came.After(o.seen.lastAt) {
			before := slices.IndexFunc(o.arrivals, func(at time.Time) bool { return at.After(k.came) })
			all = append(all, place{chunk: k, number: len(all) + 1, before: max(0, before)})
			if k.conn == 0 && len(u.early) < mostEarly {
				u.early = append(u.early, k.at)
			}
		}
	}
	if len(all) == 0 {
		return errors.New("prove: undisturbed: the program delivered its values before anything came from the server through the proxy; does it connect to the proxy's address?")
	}
	u.chunks = len(all)
	u.places = spread(all, c.Places)
	c.ref = u
	return nil
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
		return fmt.Errorf("the program delivered no value in %v, on %s; does it buffer its output?", firstValue+c.Quiet, connected)
	case o.endless:
		return fmt.Errorf("the program still delivers values after %v: want a program that is quiet for %v when it has delivered all", endless, c.Quiet)
	}
	return nil
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
