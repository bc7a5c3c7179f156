package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// chosen is a fleet with a server of 20 a second, in outages of 2 s to a minute.
func chosen(clients int) Choose {
	return Choose{Clients: clients, Capacity: 20, Outages: []time.Duration{2 * time.Second, 20 * time.Second, time.Minute}, Runs: 3}
}

// A tiled fleet retries within a second, and then in one wave of 1.1 times the time that the server needs for all. In
// outages of 2 to 60 s it is never refused, never exceeds the capacity, and needs at most 27 % more than the shortest
// possible time, for 220 to 2,500 clients. Exponential backoff with full jitter is refused at least a thousand times.
func TestChooseOneWave(t *testing.T) {
	fleets := []int{220, 500, 1000, 2500}
	if raced {
		fleets = fleets[:1]
	}
	for _, clients := range fleets {
		r := mustRun(t, chosen(clients))
		i := r.Recommended
		if i < 0 || r.Choices[i].Name != fmt.Sprintf("1s, then %v, tiled", Wave(clients, 20)) {
			t.Fatalf("%d clients: recommended is %d", clients, i)
		}
		for _, o := range r.Choices[i].Outages {
			if o.Refusals.Mean != 0 || o.Peak.Mean < 18.9 || o.Peak.Mean > 20.1 || float64(o.After.Most) > 1.27*float64(o.Best) {
				t.Errorf("%d clients, down for %v: %v refusals, a peak of %v, all after %v, at best %v", clients, o.Down, o.Refusals.Mean, o.Peak.Mean, o.After.Most, o.Best)
			}
		}
		full := 0.0
		for _, o := range r.Choices[0].Outages {
			full = max(full, o.Refusals.Mean)
		}
		if r.Choices[0].Name != "exponential, full" || clients >= 1000 && full < 1000 || full == 0 {
			t.Errorf("%d clients: %s is refused %v times", clients, r.Choices[0].Name, full)
		}
	}
}

// With waits shorter than the time that the server needs, the fleet needs a second wave.
func TestChooseLessThanOneWave(t *testing.T) {
	c := chosen(1000)
	for _, factor := range []float64{0.95, 1, 1.02, 1.04, 1.05, 1.06, 1.07, 1.08, 1.1} {
		wait := time.Duration(factor * float64(50*time.Second))
		c.Strategies = []Strategy{{fmt.Sprint(factor), retry.New(backoff.Constant(wait).Tiled()), OneProcess, 0}}
		for _, o := range mustRun(t, c).Choices[0].Outages {
			misses := o.Refusals.Mean > 0
			if misses != (factor < 1.06) || misses && o.After.Most < 19*wait/10 || !misses && o.After.Most > wait {
				t.Errorf("%v times what the server needs, down for %v: %v refusals, all served after %v", factor, o.Down, o.Refusals.Mean, o.After.Most)
			}
		}
	}
}

func TestChooseTargets(t *testing.T) {
	c := chosen(200)
	names := func(c Choose) (meet []string, recommended string) {
		r := mustRun(t, c)
		for _, x := range r.Choices {
			if x.Meets {
				meet = append(meet, x.Name)
			}
		}
		if r.Recommended >= 0 {
			recommended = r.Choices[r.Recommended].Name
		}
		return meet, recommended
	}
	if meet, _ := names(c); len(meet) != 9 {
		t.Errorf("without a target %v meet it", meet)
	}
	c.Served = 12 * time.Second
	if meet, it := names(c); !reflect.DeepEqual(meet, []string{"constant 11s, tiled", "1s, then 11s, tiled"}) || it != meet[1] {
		t.Errorf("served within %v: %v, %s", c.Served, meet, it)
	}
	// With the constant an operation that fails alone waits for half a wave on average.
	c.Wait = time.Second
	if meet, it := names(c); !reflect.DeepEqual(meet, []string{"1s, then 11s, tiled"}) || it != meet[0] {
		t.Errorf("and waits for a second at most: %v, %s", meet, it)
	}
	c.Served = 9 * time.Second
	if meet, it := names(c); meet != nil || it != "" {
		t.Errorf("served within %v, a first wait of a second at most: %v, %s", c.Served, meet, it)
	}
	// The order of the strategies and of the outages does not matter.
	c = chosen(200)
	all := Candidates(200, 20, 0, OneProcess)
	c.Strategies = []Strategy{all[6], all[0], all[3]}
	c.Outages = []time.Duration{time.Minute, 2 * time.Second}
	if _, it := names(c); it != "1s, then 11s, tiled" {
		t.Errorf("of %s first: %s", all[6].Name, it)
	}
	// If the refusals are equal, the shorter first wait decides.
	c.Strategies = []Strategy{
		{"long", retry.New(backoff.Constant(13 * time.Second).Tiled()), OneProcess, 0}, {"short", retry.New(backoff.Constant(11 * time.Second).Tiled()), OneProcess, 0},
		{"longer", retry.New(backoff.Constant(15 * time.Second).Tiled()), OneProcess, 0},
	}
	if _, it := names(c); it != "short" {
		t.Errorf("recommended is %s", it)
	}
	// A client that comes after a week is not served.
	c.Strategies = []Strategy{{"late", retry.New(backoff.Constant(200 * time.Hour)), OneProcess, 0}}
	if r := mustRun(t, c); r.Recommended != -1 || r.Choices[0].Meets {
		t.Errorf("%+v", r.Choices[0])
	}
	// A client that gives up is never served.
	c = chosen(200)
	c.Strategies = []Strategy{{"three", retry.New(backoff.Constant(time.Second), retry.Limit(3)), OneProcess, 0}}
	r := mustRun(t, c)
	if x := r.Choices[0]; x.Meets || x.Outages[2].Unserved != 600 || r.Recommended != -1 {
		t.Errorf("%+v", x)
	}
}

// A policy that hardly waits comes to an end: its clients give up, and it is not recommended. Its own limit stays.
func TestChooseOfPoliciesThatHardlyWait(t *testing.T) {
	c := chosen(200)
	for _, d := range []time.Duration{0, time.Nanosecond, 100 * time.Millisecond} {
		c.Strategies = append(c.Strategies, Strategy{Name: d.String(), Policy: retry.New(backoff.Constant(d))})
	}
	c.Strategies = append(c.Strategies, Strategy{Name: "three", Policy: retry.New(backoff.Constant(0), retry.Limit(3))}, Strategy{Name: "job", Policy: retry.New(backoff.Constant(11 * time.Second).Tiled())})
	c.Outages = []time.Duration{time.Minute}
	r := mustRun(t, c)
	if r.Recommended != 4 {
		t.Errorf("number %d is recommended", r.Recommended)
	}
	for i, most := range []float64{411, 411, 411, 4} {
		x := r.Choices[i]
		if o := x.Outages[0]; x.Meets || o.Attempts != most || o.Unserved != 600 {
			t.Errorf("%s: %+v, want %v attempts of each", x.Name, x, most)
		}
	}
}

func TestChooseIsOfItsOutages(t *testing.T) {
	c := chosen(300)
	c.Seed = 7
	c.Strategies = Candidates(300, 20, 0, OneProcess)[:2]
	var got *Choices
	for _, cores := range []int{1, 3} {
		onCores(t, cores, func() {
			r := mustRun(t, c)
			if got != nil && !reflect.DeepEqual(r, got) {
				t.Errorf("on %d cores it is %+v", cores, r)
			}
			got = r
		})
	}
	for i, s := range c.Strategies {
		for j, down := range c.Outages {
			var after time.Duration
			refusals := 0.0
			for run := range uint64(3) {
				o := runOutage(t, Outage{Policy: s.Policy, Clients: 300, Capacity: 20, Down: down, Seed: 7 + run})
				after = max(after, o.End-down)
				refusals += float64(o.FailuresAfter) / 3
			}
			x := got.Choices[i].Outages[j]
			if x.Down != down || x.After.Most != after || math.Abs(x.Refusals.Mean-refusals) > 1e-5 || x.Best != 14*time.Second || x.Unserved != 0 {
				t.Errorf("%s, down for %v: %+v, want %v and %v refusals", s.Name, down, x, after, refusals)
			}
		}
	}
	var back Choices
	if err := json.Unmarshal([]byte(marshal(t, got)), &back); err != nil || marshal(t, back) != marshal(t, got) {
		t.Errorf("read back it is %+v, %v", back, err)
	}
}

// Of those that serve all at most a tenth later than the soonest, the one with the fewest refusals is recommended.
func TestChooseRecommends(t *testing.T) {
	for end, want := range map[time.Duration]int{110: 1, 111: 0} {
		r := Choices{Choices: []Choice{{Meets: true, End: 100, Refusals: 2}, {Meets: true, End: end, Refusals: 1}}, Recommended: -1}
		if r.recommend(); r.Recommended != want {
			t.Errorf("an end at %d against 100: number %d is recommended, want %d", end, r.Recommended, want)
		}
	}
}

func TestChooseRefuses(t *testing.T) {
	refuses(t, func() Choose { return chosen(10) }, "Choose", map[string]func(*Choose){
		"Clients is 0, want 1 to 10000000":                                    func(c *Choose) { c.Clients = 0 },
		"Capacity is 0, want 1 to 100000000":                                  func(c *Choose) { c.Capacity = 0 },
		"Runs is 0, want 1 to 2147483647":                                     func(c *Choose) { c.Runs = 0 },
		"len(Outages) is 0, want 1 to 10000000":                               func(c *Choose) { c.Outages = nil },
		"Outages[0] is -1ns, want at least 0":                                 func(c *Choose) { c.Outages = []time.Duration{-1} },
		"Served is -1ns, want at least 0":                                     func(c *Choose) { c.Served = -1 },
		"Wait is -1ns, want at least 0":                                       func(c *Choose) { c.Wait = -1 },
		"Processes is 11, want 0 to 10":                                       func(c *Choose) { c.Processes = 11 },
		`Placement is "9", want one of ["" "by-ordinal"]`:                     func(c *Choose) { c.Placement = "9" },
		"Strategies[0].Placement is \"9\", want one of [\"\" \"by-ordinal\"]": func(c *Choose) { c.Strategies = []Strategy{{Placement: "9"}} },
	})
	for _, bad := range [][2]int{{0, 1}, {1, 0}} {
		want := fmt.Sprintf("sim: Candidates: clients is %d, capacity %d and timeout 0s, want at least 1, 1 and 0", bad[0], bad[1])
		panics(t, want, func() { Candidates(bad[0], bad[1], 0, OneProcess) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := chosen(10).Run(ctx); !errors.Is(err, context.Canceled) || r == nil || r.Recommended != -1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWave(t *testing.T) {
	for _, test := range []struct {
		clients, capacity int
		want              time.Duration
	}{{1000, 20, 55 * time.Second}, {200, 20, 11 * time.Second}, {1, 1000, 1100 * time.Microsecond}, {2500, 20, 138 * time.Second}, {1, 0, 1100 * time.Millisecond}} {
		if got := Wave(test.clients, test.capacity); got != test.want {
			t.Errorf("Wave(%d, %d) is %v, want %v", test.clients, test.capacity, got, test.want)
		}
	}
}

// With a wait of Wave no client of a tiled fleet is refused, from a capacity of 20 on.
func TestWaveIsLongEnough(t *testing.T) {
	for _, capacity := range []int{10, 20, 23, 50, 200} {
		refusals := int64(0)
		for _, times := range []int{1, 2, 3, 8, 21, 55} {
			for seed := range uint64(4) {
				o := Outage{Clients: times*capacity + 1, Capacity: capacity, Down: time.Minute + time.Duration(seed)*1700*time.Millisecond, Seed: seed}
				o.Policy = retry.New(backoff.Constant(Wave(o.Clients, capacity)).Tiled())
				r := mustRun(t, o)
				refusals += r.FailuresAfter
			}
		}
		if few := capacity < 20; (refusals > 0) != few {
			t.Errorf("a capacity of %d refuses %d clients; want refusals: %v", capacity, refusals, few)
		}
	}
}

// Figures, targets and recommendation are those of a search that computes every outage again.
func TestChooseAgainstASearch(t *testing.T) {
	for _, test := range []struct {
		clients, capacity int
		served, wait      time.Duration
	}{{300, 50, 0, time.Second}, {1000, 20, 0, 0}, {100, 5, 30 * time.Second, 0}, {60, 100, 0, 2 * time.Second}} {
		c := Choose{
			Clients: test.clients, Capacity: test.capacity, Outages: []time.Duration{2 * time.Second, 20 * time.Second}, Served: test.served, Wait: test.wait, Runs: 3,
		}
		got := mustRun(t, c)
		type found struct {
			refusals, wait, end, attempts float64
			meets                         bool
		}
		var all []found
		for i, s := range Candidates(c.Clients, c.Capacity, 0, OneProcess) {
			hour := runOutage(t, Outage{Policy: s.Policy, Clients: min(c.Clients, 200), Capacity: c.Clients, Down: time.Hour}) // all but the last attempt fail
			x := found{wait: got.Choices[i].FirstWait.P50.Seconds(), attempts: hour.PerClient.Mean - 1, meets: c.Wait == 0 || got.Choices[i].FirstWait.P99 <= c.Wait}
			if a := got.Choices[i].Attempts; math.Abs(a.Mean-x.attempts) > 1 || a.Most > MostAttempts {
				t.Errorf("%+v, %s: %v attempts in an hour, want %v", test, s.Name, a, x.attempts)
			}
			for _, down := range c.Outages {
				var ends []float64
				for seed := range uint64(c.Runs) {
					r := runOutage(t, Outage{Policy: s.Policy, Clients: c.Clients, Capacity: c.Capacity, Down: down, Seed: seed})
					x.refusals += float64(r.FailuresAfter) / float64(c.Runs*c.Clients)
					ends = append(ends, (r.End - down).Seconds())
					x.meets = x.meets && (c.Served == 0 || r.End-down <= c.Served)
				}
				slices.Sort(ends)
				x.end = max(x.end, ends[1])
			}
			if y := got.Choices[i]; math.Abs(y.Refusals-x.refusals) > 1e-3 || math.Abs(y.End.Seconds()/x.end-1) > 0.01 || y.Meets != x.meets {
				t.Errorf("%+v, %s: %v refusals, %v, meets: %v; want %+v", test, s.Name, y.Refusals, y.End, y.Meets, x)
			}
			x.refusals, x.end = got.Choices[i].Refusals, got.Choices[i].End.Seconds() // the same rounding below
			all = append(all, x)
		}
		best, want := math.Inf(1), -1
		for _, x := range all {
			if x.meets {
				best = min(best, x.end)
			}
		}
		for i, x := range all {
			if !x.meets || x.end > 1.1*best {
				continue
			}
			if want < 0 || x.refusals < all[want].refusals-0.01 || x.refusals <= all[want].refusals+0.01 && (x.attempts < 0.9*all[want].attempts || x.attempts <= 1.1*all[want].attempts && x.wait < all[want].wait) {
				want = i
			}
		}
		if got.Recommended != want {
			t.Errorf("%+v: %d is recommended, want %d of %+v", test, got.Recommended, want, all)
		}
	}
}

// Retrying soon and then in one wave is nowhere worse than exponential backoff with full jitter, and needs a twentieth of
// its refusals and a third of its attempts in an hour.
func TestChooseSoonThenOneWave(t *testing.T) {
	c := Choose{Clients: 1000, Processes: 1, Capacity: 20, Runs: 3, Wait: time.Second, Outages: usualOutages}
	r := mustRun(t, c)
	full, it := r.Choices[0], r.Choices[r.Recommended]
	if it.Policy.String() != "table delays=1s,55s tiled" || it.FirstWait.P50 > full.FirstWait.P50*21/20 || it.End > 57*time.Second || it.End > full.End*4/5 ||
		it.Refusals > full.Refusals/20 || it.Attempts.Mean > full.Attempts.Mean/3 {
		t.Errorf("%+v; full jitter: %+v", it, full)
	}
}

// The wave is the price for clients that come at random times: fewer refusals, and a later end.
func TestChooseNamesThePrice(t *testing.T) {
	c := Choose{Clients: 1000, Processes: 1, Capacity: 20, Runs: 2, Outages: []time.Duration{time.Minute}}
	r := mustRun(t, c)
	full, it := r.Choices[0], r.Choices[7]
	if it.Name != "1s, then 55s, tiled" || it.Random.End < full.Random.End*5/4 || it.Random.Refusals > full.Random.Refusals/2 {
		t.Errorf("%+v; full jitter: %+v", it.Random, full.Random)
	}
	one := runOutage(t, Outage{Policy: full.Policy, Processes: 1, Clients: 1000, Capacity: 20, Down: time.Minute, Arrive: time.Minute})
	two := runOutage(t, Outage{Policy: full.Policy, Processes: 1, Clients: 1000, Capacity: 20, Down: time.Minute, Arrive: time.Minute, Seed: 1})
	if want := float64(one.FailuresAfter+two.FailuresAfter) / 2000; math.Abs(full.Random.Refusals-want) > 1e-9 || full.Random.End != min(one.End, two.End)-time.Minute {
		t.Errorf("%+v; sim.Outage: %v refusals, %v and %v", full.Random, want, one.End, two.End)
	}
}

var usualOutages = []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 20 * time.Second, time.Minute}

// Settings for which it was said that no backoff meets the targets.
func TestChooseMeetsTargetsThatCanBeMet(t *testing.T) {
	if raced {
		t.Skip("it takes long with the race detector")
	}
	for _, c := range []Choose{
		{Clients: 300, Capacity: 50, Processes: 300, Outages: []time.Duration{2 * time.Second, 30 * time.Second}, Served: 12 * time.Second, Wait: 3 * time.Second},
		{Clients: 4000, Capacity: 100, Processes: 1, Outages: []time.Duration{2 * time.Second, time.Minute}, Served: time.Minute, Wait: 2 * time.Second},
		{Clients: 4000, Capacity: 100, Processes: 4000, Outages: []time.Duration{2 * time.Second, time.Minute}, Served: time.Minute, Wait: 2 * time.Second},
	} {
		c.Runs = 3
		if r := mustRun(t, c); r.Recommended < 0 {
			t.Errorf("%d clients in %d processes: none of %d", c.Clients, c.Processes, len(r.Choices))
		}
	}
}

// No candidate has a name of a wave that it has not.
func TestCandidatesAreNamedByWhatTheyAre(t *testing.T) {
	for _, fleet := range [][2]int{{5, 100}, {1000, 20}, {300, 50}} {
		for _, s := range Candidates(fleet[0], fleet[1], 0, OneProcess) {
			b := s.Policy.Backoff()
			end, least := "tiled", 9200*time.Millisecond
			if !b.IsTiled() {
				end, least = "full", 20*time.Second
			}
			if d := b.Ceiling(100); strings.Contains(s.Name, "s, ") && (!strings.HasSuffix(s.Name, fmt.Sprintf("%v, %s", d, end)) || d < least) {
				t.Errorf("%s: %v", s.Name, s.Policy)
			}
		}
	}
	if n := len(Candidates(5, 100, 0, OneProcess)); n != 8 {
		t.Errorf("%d candidates for a small fleet, want 8", n)
	}
}

// A strategy with more processes than there are clients cannot be run, unless the Choose has its own number.
func TestChooseOfAStrategysProcesses(t *testing.T) {
	c := Choose{Clients: 2, Capacity: 1, Runs: 1, Outages: []time.Duration{time.Second}, Strategies: []Strategy{{Policy: retry.New(backoff.Constant(time.Second)), Processes: 3}}}
	r, err := c.Run(t.Context())
	if field, ok := errors.AsType[*FieldError](err); !ok || r != nil || field.Model != "Choose" || field.Field != "Strategies[0].Processes" {
		t.Errorf("%+v, %v", r, err)
	}
	c.Processes = 1
	if r, err := c.Run(t.Context()); err != nil || len(r.Choices) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// No cap of a candidate is less than the attempt timeout of the calls.
func TestCandidatesOfALongTimeout(t *testing.T) {
	for _, s := range Candidates(10, 100, time.Minute, OneProcess) {
		if longest := s.Policy.Backoff().Ceiling(1000); longest < time.Minute {
			t.Errorf("%s: the longest wait is %v, want at least the timeout of 1m", s.Name, longest)
		}
	}
}
