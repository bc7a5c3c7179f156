package sim

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// fleets are the settings of the search.
var fleets = []Choose{
	{Clients: 1000, Processes: 1, Capacity: 20, Wait: time.Second},
	{Clients: 1000, Processes: 20, Capacity: 20, Wait: time.Second},
	{Clients: 1000, Processes: 1000, Capacity: 20, Wait: time.Second},
	{Clients: 1000, Processes: 1, Capacity: 20},
	{Clients: 1000, Processes: 1000, Capacity: 20},
	{Clients: 300, Processes: 300, Capacity: 50, Served: 12 * time.Second, Wait: 3 * time.Second, Outages: []time.Duration{2 * time.Second, 30 * time.Second}},
	{Clients: 300, Processes: 1, Capacity: 50, Served: 20 * time.Second, Wait: time.Second},
	{Clients: 4000, Processes: 1, Capacity: 100, Served: time.Minute, Wait: 2 * time.Second, Outages: []time.Duration{2 * time.Second, time.Minute}},
	{Clients: 4000, Processes: 4000, Capacity: 100, Served: time.Minute, Wait: 2 * time.Second, Outages: []time.Duration{2 * time.Second, time.Minute}},
	{Clients: 2, Processes: 1, Capacity: 1, Wait: time.Second},
	{Clients: 2, Processes: 2, Capacity: 20, Wait: time.Second},
	{Clients: 5, Processes: 1, Capacity: 100},
	{Clients: 5, Processes: 5, Capacity: 1, Wait: time.Second},
	{Clients: 20, Processes: 1, Capacity: 2, Wait: time.Second},
	{Clients: 20, Processes: 20, Capacity: 5, Wait: 5 * time.Second},
	{Clients: 60, Processes: 3, Capacity: 10, Wait: time.Second},
	{Clients: 100, Processes: 1, Capacity: 5, Served: 30 * time.Second},
	{Clients: 100, Processes: 100, Capacity: 20, Wait: time.Second},
	{Clients: 200, Processes: 10, Capacity: 100, Wait: time.Second},
	{Clients: 500, Processes: 50, Capacity: 5, Wait: time.Second, Outages: []time.Duration{5 * time.Second, 5 * time.Minute}},
	{Clients: 1500, Processes: 1, Capacity: 500, Wait: 2 * time.Second},
	{Clients: 2500, Processes: 100, Capacity: 25, Wait: 10 * time.Second},
	{Clients: 3000, Processes: 3000, Capacity: 300, Wait: time.Second},
	{Clients: 3000, Processes: 1, Capacity: 300, Served: 15 * time.Second, Wait: time.Second},
	{Clients: 400, Processes: 2, Capacity: 8, Wait: time.Second, Outages: []time.Duration{time.Minute, 10 * time.Minute}},
}

// others are about 200 policies, most of which are no candidates.
func others(clients, capacity int) []backoff.Backoff {
	wave := func(times float64) time.Duration { return max(rounded(times*float64(Wave(clients, capacity))), least) }
	var all []backoff.Backoff
	for _, spread := range []func(backoff.Backoff) backoff.Backoff{
		backoff.Backoff.Tiled,
		func(b backoff.Backoff) backoff.Backoff { return b.Jitter(jitter.Full) },
		func(b backoff.Backoff) backoff.Backoff { return b.Jitter(jitter.Equal) },
		func(b backoff.Backoff) backoff.Backoff { return b.Jitter(jitter.Default) },
	} {
		for _, base := range []time.Duration{time.Second, 2 * time.Second} {
			for _, factor := range []float64{1.5, 2, 3} {
				for _, longest := range []time.Duration{15 * time.Second, 30 * time.Second, wave(0.5), wave(1), wave(2)} {
					all = append(all, spread(backoff.Exponential(base, factor).Cap(longest)))
				}
			}
		}
		for _, times := range []float64{0.4, 0.5, 0.6, 0.75, 0.9, 1, 1.15, 1.3, 1.6, 2, 3} {
			all = append(all, spread(backoff.Constant(wave(times))), spread(backoff.Table(time.Second, wave(times))))
		}
	}
	return all
}

// found is a policy's figures, as the search has computed them.
type found struct {
	policy   backoff.Backoff
	end      time.Duration
	refusals float64
}

// No policy of a search is better than the recommended one by more than a tenth in both figures, the end and the refusals.
// The output has a line for each setting, with the other policy that comes nearest to it.
func TestChooseAgainst200Policies(t *testing.T) {
	if !nightly {
		t.Skip("it runs nightly: 25 fleets under 200 policies")
	}
	for _, c := range fleets {
		if c.Outages == nil {
			c.Outages = usualOutages
		}
		c.Seed, c.Runs = 1<<40, min(max(5, 2000/c.Clients), 40)
		setting := fmt.Sprintf("%d clients, %d processes, %d a second, served %v, wait %v, %d outages", c.Clients, c.Processes, c.Capacity, c.Served, c.Wait, len(c.Outages))
		t.Run(setting, func(t *testing.T) {
			r := mustRun(t, c)
			if r.Recommended < 0 {
				t.Fatalf("none of %d", len(r.Choices))
			}
			it, all := r.Choices[r.Recommended], c.search(t, others(c.Clients, c.Capacity))
			worse := func(x found) float64 {
				return max(float64(x.end)/float64(it.End), (x.refusals+0.001)/(it.Refusals+0.001))
			}
			slices.SortFunc(all, func(a, b found) int { return cmp.Compare(worse(a), worse(b)) })
			t.Logf("%s: %s: %v, %.3f refusals; %d others meet the targets", setting, it.Name, it.End, it.Refusals, len(all))
			for _, near := range all[:min(1, len(all))] {
				t.Logf("nearest: %s: %v, %.3f refusals", near.policy, near.end, near.refusals)
			}
			for _, x := range all {
				if float64(x.end) < 0.9*float64(it.End) && x.refusals < 0.9*it.Refusals {
					t.Errorf("better: %s: %v, %.3f refusals", x.policy, x.end, x.refusals)
				}
			}
		})
	}
}

// search returns the figures of the policies that meet the targets.
func (c Choose) search(t *testing.T, policies []backoff.Backoff) []found {
	var all []found
	var searching sync.WaitGroup
	var mu sync.Mutex
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, b := range policies {
		turns <- struct{}{}
		searching.Go(func() {
			defer func() { <-turns }()
			if end, refusals, meets := c.searched(t, retry.New(b)); meets {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, found{b, end, refusals})
			}
		})
	}
	searching.Wait()
	return all
}

// searched computes a policy's figures with Outage alone, in runs of other seeds than the choice's.
func (c Choose) searched(t *testing.T, p retry.Policy) (end time.Duration, refusals float64, meets bool) {
	if p.Backoff().Ceiling(1) < time.Second || c.Wait > 0 && p.Backoff().At(1, 0.99) > c.Wait {
		return 0, 0, false
	}
	hour, err := Outage{Policy: p, Clients: 5, Processes: 1, Capacity: 5, Down: time.Hour}.Run(t.Context())
	if err != nil || hour.PerClient.Most > MostAttempts {
		return 0, 0, false
	}
	for _, down := range c.Outages {
		var ends []time.Duration
		for seed := range c.Runs {
			r, err := Outage{Policy: p, Clients: c.Clients, Processes: c.Processes, Capacity: c.Capacity, Down: down, Seed: uint64(seed)}.Run(t.Context())
			if err != nil {
				t.Error(err)
				return 0, 0, false
			}
			if c.Served > 0 && r.End-down > c.Served {
				return 0, 0, false
			}
			ends = append(ends, r.End-down)
			refusals += float64(r.FailuresAfter) / float64(c.Clients*c.Runs)
		}
		slices.Sort(ends)
		end = max(end, ends[(len(ends)-1)/2])
	}
	return end, refusals, true
}
