package prove

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A chunk breaks after its first byte, at its half, and after newlines in it.
func TestParts(t *testing.T) {
	for chunk, want := range map[string][]int{
		"":                                 nil,
		"a":                                nil,
		"ab":                               {1},
		"abcdef":                           {1, 3},
		"ab\n\nef":                         {1, 2, 3, 4},
		"\n\n\n\n":                         {1, 2, 3},
		"id: 7\ndata: x\n\n":               {1, 6, 7, 14},
		"RESERVED 1 5\r\nhello\r\n":        {1, 10, 14},
		strings.Repeat("a\n", 50):          {1, 2, 20, 40, 49, 58, 78, 98},
		"HTTP/1.1 200 OK\r\n\r\n[1,2,3,4]": {1, 14, 17, 19},
	} {
		if got := parts([]byte(chunk)); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", chunk, got, want)
		}
	}
}

// Each part of a chunk is played with FIN and with RST, and twice as many parts as places at most.
func TestScenarios_Amid(t *testing.T) {
	u := undisturbed{chunks: 2, most: 24, places: []place{
		{chunk: chunk{at: 0, parts: []int{1, 6, 8, 14}}, number: 1},
		{chunk: chunk{conn: 1, at: 15, parts: []int{1}}, number: 2, before: 1},
	}}
	all := u.scenarios(Amid)
	if len(all) != 10 || all[2].where != "amid (FIN) in chunk 1 of 2 (connection 1, byte 0), after 6 bytes" || all[9].where != "amid (RST) in chunk 2 of 2 (connection 2, byte 15), after 1 byte" ||
		all[9].plan[0] != (breaking{way: Cut, conn: 1, at: 16, into: 1, before: 1}) {
		t.Errorf("got %+v", all)
	}
	if u.most = 2; len(u.scenarios(Amid)) != 8 {
		t.Errorf("got %d, want 8", len(u.scenarios(Amid)))
	}
}

// Refusals end with RST, and with FIN.
func TestScenarios_Refuse(t *testing.T) {
	u := undisturbed{chunks: 1, most: 24, places: []place{{number: 1}}}
	all := u.scenarios(Refuse)
	if len(all) != 2 || all[0].plan[0].way != Cut || all[1].plan[0].way != End || all[1].where != "refuse (FIN) for 2s from chunk 1 of 1 (connection 1, byte 0)" {
		t.Errorf("got %+v", all)
	}
}

// Events begin 300 ms after something has passed on the first connection, and 3 s after its accept at the latest.
func TestProxy_Subscribed(t *testing.T) {
	for name, test := range map[string]struct {
		passes []time.Duration // when something passes
		later  bool            // on a later connection
		closed bool            // the program has closed the first one
		want   time.Duration   // from the accept
	}{
		"nothing passes":                {want: settled},
		"it asks":                       {passes: []time.Duration{100 * time.Millisecond, 350 * time.Millisecond}, want: 350*time.Millisecond + settled},
		"on another connection":         {passes: []time.Duration{200 * time.Millisecond}, later: true, want: settled},
		"on one that has followed":      {passes: []time.Duration{200 * time.Millisecond}, later: true, closed: true, want: 200*time.Millisecond + settled},
		"it has heartbeats":             {passes: slices.Collect(every(100*time.Millisecond, 10*time.Second)), want: mostSettling},
		"its heartbeats are far enough": {passes: slices.Collect(every(settled+time.Millisecond, 10*time.Second)), want: settled},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := newClock()
			go k.run(t.Context())
			p := &proxy{c: &check{telling: telling{clock: k}}}
			if p.subscribed() {
				t.Errorf("%s: before the first connection", name)
			}
			p.first = k.now()
			p.stirred = p.first
			l := &link{p: p}
			p.links = []*link{l}
			if test.later {
				l.clientClosed = test.closed
				l = &link{p: p, index: 1}
				p.links = append(p.links, l)
			}
			go func() {
				start := time.Now()
				for _, at := range test.passes {
					time.Sleep(time.Until(start.Add(at)))
					p.mu.Lock()
					l.stirLocked()
					p.mu.Unlock()
				}
			}()
			start := time.Now()
			for !p.subscribed() {
				time.Sleep(time.Millisecond)
			}
			if took := time.Since(start); took != test.want {
				t.Errorf("%s: events begin after %v, want %v", name, took, test.want)
			}
			time.Sleep(time.Minute) // until all has passed
		})
	}
}

// every yields the multiples of d below the limit.
func every(d, limit time.Duration) func(func(time.Duration) bool) {
	return func(yield func(time.Duration) bool) {
		for at := d; at < limit && yield(at); at += d {
		}
	}
}

// The defaults are those of the comments on Target's fields.
func TestTarget_Defaults(t *testing.T) {
	c, err := Target{Server: "server:1", Client: func(context.Context, Run, func(string)) error { return nil }}.prepare()
	if err != nil {
		t.Fatal(err)
	}
	times := []time.Duration{c.Every, c.Within, c.Quiet, c.Stop}
	numbers := []int{c.Events, c.Parallel, c.Places, len(c.Ways)}
	if !slices.Equal(times, []time.Duration{100 * time.Millisecond, 30 * time.Second, 2 * time.Second, 5 * time.Second}) || !slices.Equal(numbers, []int{12, 64, 24, 6}) {
		t.Errorf("got %v and %v", times, numbers)
	}
}
