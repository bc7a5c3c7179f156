package prove

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// outcome is a run of the program, and what it has shown up to the moment when it was told to end.
type outcome struct {
	scenario
	*program
	c        *check
	p        *proxy
	mu       sync.Mutex
	frozen   bool // values do not count any more
	tally    *judge.Tally
	arrivals []time.Time // of the undisturbed run's values
	seen     seen
	chunks   []chunk
	past     []any // values that came while every connection was broken
	ended    bool  // by itself
	late     bool  // it did not return within Stop
	held     int   // connections that it had not closed when it had returned
	endless  bool
	events   bool  // all were made
	trouble  error // of Before, Event or the proxy
	timeline []string
}

// broke reports whether the run can be judged: all breaks have taken place, or a program that is not back after one has
// prevented the next.
func (o *outcome) broke() bool {
	return o.seen.made == len(o.plan) || o.seen.made > 0 && (o.ended || !o.seen.back)
}

// play runs the program once.
func (c *check) play(ctx context.Context, sc scenario) *outcome {
	o := &outcome{scenario: sc, c: c, tally: judge.NewTally(c.ref.values, func() int { return 0 })}
	if o.p, o.trouble = c.listen(ctx, sc.plan); o.trouble != nil {
		return o
	}
	p := o.p
	defer p.close()
	r := Run{Name: fmt.Sprintf("%s%06d", c.prefix, c.runs.Add(1)), Addr: p.l.Addr().String(), Server: c.Server}
	if c.Before != nil {
		if err := c.Before(ctx, r); err != nil {
			o.trouble = fmt.Errorf("before: %w", err)
			return o
		}
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	o.program = start(func() error { return c.Client(running, r, o.got) })
	events := make(chan error, 1)
	go func() {
		defer close(events)
		events <- c.events(running, r, p)
	}()
	o.watch(ctx, events)
	o.mu.Lock()
	o.frozen = true
	o.mu.Unlock()
	p.note("the program is told to end")
	cancel()
	returned := o.stop()
	for range events { // until they are over
	}
	if returned {
		o.held = p.held()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteRefusalsLocked()
	o.chunks, o.timeline = p.chunks, p.timeline.Lines()
	return o
}

// watch lets time pass until the scenario is over, and takes the outcome down.
func (o *outcome) watch(ctx context.Context, events <-chan error) {
	now := o.c.clock.now
	start := now()
	var lastEvent time.Time
	for {
		until := o.until(o.p.look(), start, lastEvent)
		select {
		case <-o.p.news:
		case <-time.After(until.Sub(now())):
		case err := <-events:
			lastEvent, events, o.trouble = now(), nil, err
			o.events = o.c.Event != nil && err == nil
		case <-o.done:
			o.ended = ctx.Err() == nil
		case <-ctx.Done():
		}
		if o.ended || o.trouble != nil || ctx.Err() != nil || !now().Before(until) {
			break
		}
	}
	o.seen = o.p.look()
}

// until returns when the run is over, if nothing else happens.
func (o *outcome) until(s seen, start, lastEvent time.Time) time.Time {
	c, last := o.c, s.lastAt
	if c.ref.values == nil {
		most := start.Add(endless + time.Duration(c.Events)*c.Every)
		o.endless = !c.clock.now().Before(most)
		switch {
		case s.first.IsZero() && !last.IsZero(): // it is not the proxy that it connects to
			return latest(last.Add(c.Quiet), start.Add(unconnected))
		case s.dialError != nil && !s.came:
			return s.first.Add(unreachable)
		case last.IsZero():
			return start.Add(firstValue + c.Quiet)
		case lastEvent.IsZero():
			return most
		}
		return earliest(latest(last, lastEvent).Add(c.Quiet), most)
	}
	base := start
	if !s.first.IsZero() {
		base = s.first.Add(c.ref.took)
	}
	limit := latest(s.brokenAt.Add(o.plan[len(o.plan)-1].refuse), base).Add(c.Within)
	broken, done := s.made == len(o.plan), c.allowed.Done(o.tally)
	switch {
	case !broken && done:
		return earliest(limit, latest(last, s.backAt).Add(c.Quiet+2*afterLast))
	case broken && s.back && (done || o.tally.LastCame() && !c.AnyOrder):
		return earliest(limit, latest(last, s.backAt, s.brokenAt).Add(c.Quiet))
	}
	return limit
}

func latest(all ...time.Time) time.Time   { return slices.MaxFunc(all, time.Time.Compare) }
func earliest(all ...time.Time) time.Time { return slices.MinFunc(all, time.Time.Compare) }

// events makes the events of a run.
func (c *check) events(ctx context.Context, r Run, p *proxy) error {
	if c.Event == nil {
		return nil
	}
	for !p.subscribed() {
		if !pause(ctx, 2*time.Millisecond) {
			return nil
		}
	}
	begun := time.Now()
	for n := 1; n <= c.Events; n++ {
		if !pause(ctx, time.Until(begun.Add(c.Every))) {
			return nil
		}
		begun = time.Now() // so that events do not come at once after a pause of a busy machine
		if err := c.Event(ctx, r, n); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("event %d: %w", n, err)
		}
		p.note("event %d is made", n)
	}
	return nil
}
