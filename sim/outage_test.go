package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// panics checks what f panics with.
func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); got != want {
			t.Errorf("panicked with %s, want %s", got, want)
		}
	}()
	f()
}

// refuses checks that each change to a good simulation is refused with a *FieldError, whose text is the model's name and
// the key.
func refuses[M interface {
	Run(context.Context) (R, error)
}, R any](t *testing.T, good func() M, model string, changes map[string]func(*M)) {
	t.Helper()
	for want, change := range changes {
		m := good()
		change(&m)
		r, err := m.Run(t.Context())
		if _, ok := errors.AsType[*FieldError](err); !ok || !reflect.ValueOf(r).IsNil() || err.Error() != "sim: "+model+": "+want {
			t.Errorf("%v, %v; want %q", r, err, want)
		}
	}
}

func mustRun[R any](t testing.TB, simulation interface {
	Run(ctx context.Context) (R, error)
}) R {
	t.Helper()
	r, err := simulation.Run(t.Context())
	must(t, err)
	return r
}

func runOutage(t testing.TB, o Outage) *OutageResult {
	t.Helper()
	o.Each = true
	return mustRun(t, o)
}

func TestOutageOfConstantRetriesIsExact(t *testing.T) {
	// 10 clients come at 0, 1, … 5 s. Five are served at 5 s, the others at 6 s.
	got := runOutage(t, Outage{Policy: retry.New(backoff.Constant(time.Second)), Clients: 10, Down: 5 * time.Second, Capacity: 5})
	if sd := got.PerClient.SD; math.Abs(sd-0.5) > 1e-9 {
		t.Errorf("the deviation of attempts is %v, want 0.5", sd)
	}
	if cv := got.Waited.CV; math.Abs(cv-1.0/11) > 1e-9 {
		t.Errorf("the variation of waits is %v, want 1/11", cv)
	}
	if w := got.Waited; math.Abs(w.P50.Seconds()-5) > 5.0/256 || math.Abs(w.P90.Seconds()-6) > 6.0/256 || w.P99 != w.P90 {
		t.Errorf("the percentiles of the waits are %+v, want 5, 6, 6 s", w)
	}
	got.PerClient.SD, got.Waited.CV = 0, 0 // compared above
	want := &OutageResult{
		Clients: 10, Served: 10, Attempts: 65, FailuresAfter: 5,
		Peak: 10, PeakAt: 0, PeakAfter: 10, PeakAfterAt: 5 * time.Second,
		End: 6 * time.Second, Best: 6 * time.Second,
		PerClient:  Counts{10, 6, 7, 6.5, 0, 6, 7, 7},
		Waited:     Spread{10, 5e9, 6e9, 5500e6, 500e6, 0, got.Waited.P50, got.Waited.P90, got.Waited.P99},
		Traffic:    Traffic{time.Second, []int64{10, 10, 10, 10, 10, 10, 5}, []int64{0, 0, 0, 0, 0, 5, 5}},
		AttemptsOf: []int32{6, 6, 6, 6, 6, 7, 7, 7, 7, 7},
		ServedAt:   []time.Duration{5e9, 5e9, 5e9, 5e9, 5e9, 6e9, 6e9, 6e9, 6e9, 6e9},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it is\n%+v, want\n%+v", got, want)
	}
}

func TestOutageClientsComeBack(t *testing.T) {
	o := Outage{Each: true, Policy: retry.New(backoff.Constant(time.Second), retry.Limit(2)), Clients: 2000, Down: 20 * time.Second, Capacity: 1000, Return: 10 * time.Second, Seed: 1}
	got := runOutage(t, o)
	if got.Served != 2000 || got.GivenUp < 2000 {
		t.Fatalf("%d served, %d operations given up", got.Served, got.GivenUp)
	}
	// An operation that is given up has three attempts, one that is served has one to three.
	if more := got.Attempts - 3*got.GivenUp; more < 2000 || more > 6000 {
		t.Errorf("%d attempts, %d given up", got.Attempts, got.GivenUp)
	}
	// The time until the return is exponentially distributed: of the clients that gave up at 2 s, 1/e are still away at
	// 12 s. No client is served by then, so a client has come back if it has more than its first three attempts.
	o.Horizon = 12 * time.Second
	got, err := o.Run(t.Context())
	if !errors.Is(err, ErrHorizon) {
		t.Fatal(err)
	}
	away := 0
	for _, n := range got.AttemptsOf {
		if n == 3 {
			away++
		}
	}
	mean := 2000 / math.E
	if z := (float64(away) - mean) / math.Sqrt(mean*(1-1/math.E)); math.Abs(z) > 5 {
		t.Errorf("%d are away after the mean time, want %.0f (z = %.1f)", away, mean, z)
	}
}

func TestOutageComingBackIsANewOperation(t *testing.T) {
	s := newServer(Outage{Policy: retry.New(backoff.Linear(time.Second).Tiled()), Clients: 1, Capacity: 1, Down: time.Hour, Return: time.Second, Bin: 1})
	c := &s.clients[0]
	c.attempts = 9
	s.attempt(0)
	first := c.state
	s.failed(0, errFailed, 0)
	if c.attempts != 10 || word(t, first, "retries") != 1 || word(t, c.state, "retries") != 2 || word(t, c.state, "place") != word(t, first, "place") {
		t.Errorf("after two failures it is %+v, and %+v after one", c.state, first)
	}
	s.giveUp(0)
	if got, want := *c, (client{operation: operation{policy: c.policy, begun: true}, attempts: 10}); got != want {
		t.Errorf("the client is %+v, want %+v", got, want)
	}
	s.failed(0, errFailed, 0)
	if word(t, c.state, "retries") != 1 || word(t, c.state, "place") == word(t, first, "place") {
		t.Errorf("after its first failure it is %+v, want another place", c.state)
	}
}

func TestOutageTiledKeepsItsPlace(t *testing.T) {
	// The tenth wave is from 45 s to 55 s, and the server is back at 45 s.
	for _, p := range []Placement{OneProcess, ByOrdinal} {
		r := runOutage(t, Outage{Policy: retry.New(backoff.Linear(time.Second).Tiled()), Placement: p, Clients: 1000, Capacity: 1000, Down: 45 * time.Second, Seed: 2})
		if r.PerClient.Least != 11 || r.PerClient.Most != 11 {
			t.Errorf("%v: attempts per client are %+v, want 11", p, r.PerClient)
		}
		for i, n := range r.Traffic.Served {
			switch {
			case i < 45 && n != 0, (p == OneProcess || p == ByOrdinal) && i >= 45 && (n < 98 || n > 102):
				t.Errorf("%v: %d served in second %d", p, n, i)
			}
		}
	}
}

func TestOutageArrivals(t *testing.T) {
	got := runOutage(t, Outage{Clients: 10_000, Capacity: 10_000, Arrive: 10 * time.Second, Seed: 3})
	if got.Attempts != 10_000 || len(got.Traffic.Attempts) != 10 || got.FailuresAfter != 0 {
		t.Fatalf("it is %+v", got.Traffic)
	}
	for i, n := range got.Traffic.Attempts {
		if z := (float64(n) - 1000) / 30; math.Abs(z) > 5 {
			t.Errorf("second %d has %d arrivals, want 1000", i, n)
		}
	}
}

func TestOutageBudget(t *testing.T) {
	o := Outage{Policy: retry.New(backoff.Constant(time.Second)), Clients: 100, Down: 10 * time.Second, Capacity: 1000}
	free := runOutage(t, o)
	if free.Attempts != 1100 || free.Served != 100 {
		t.Errorf("without a budget: %d attempts, %d served", free.Attempts, free.Served)
	}
	o.Policy = o.Policy.With(retry.WithBudget(retry.NewBudget(50, 2, 0)))
	got := runOutage(t, o)
	if got.Attempts != 125 || got.Refused != 100 || got.GivenUp != 100 || got.Served != 0 || got.End != 0 {
		t.Errorf("25 retries for all: %+v", got)
	}
	// The refill is 5 tokens a second: 30 clients had a token at 0 and retry at 1 s.
	o.Policy = o.Policy.With(retry.WithBudget(retry.NewBudget(30, 1, 0).Refill(5)))
	got = runOutage(t, o)
	if want := []int64{100, 30, 5, 5, 5, 5, 5, 5, 5, 5, 5}; !slices.Equal(got.Traffic.Attempts, want) {
		t.Errorf("with a refill: attempts are %v, want %v", got.Traffic.Attempts, want)
	}
	if got.Served != 5 || got.Refused != 95 {
		t.Errorf("with a refill: %d served, %d refused, want 5, 95", got.Served, got.Refused)
	}
	// The server serves one client at a time. There are tokens for two retries, and each success adds one.
	o = Outage{Policy: retry.New(backoff.Constant(time.Second), retry.WithBudget(retry.NewBudget(2, 1, 1))), Clients: 5, Capacity: 1}
	got = runOutage(t, o)
	if want := []int64{1, 1, 1}; !slices.Equal(got.Traffic.Served, want) || got.Refused != 2 || got.Attempts != 8 {
		t.Errorf("with a refund: %+v", got)
	}
}

// tokenBucket holds the settings of a budget.
type tokenBucket struct{ capacity, cost, refund, refill float64 }

// plainOutage is a second implementation of Outage, written from its comment, without a heap or a ring. All clients
// come at 0, and none returns.
func plainOutage(o Outage, budget *tokenBucket, wait func(who, n int, prev time.Duration) time.Duration) (served []time.Duration, attempts []int32) {
	type todo struct {
		at    time.Duration
		who   int
		fails bool
	}
	var list []todo
	var success []time.Duration
	served, attempts = make([]time.Duration, o.Clients), make([]int32, o.Clients)
	n, prev := make([]int, o.Clients), make([]time.Duration, o.Clients)
	for who := range o.Clients {
		served[who] = Never
		list = append(list, todo{0, who, false})
	}
	tokens, filled := 0.0, time.Duration(0)
	if budget != nil {
		tokens = budget.capacity
	}
	for len(list) > 0 {
		next := 0
		for i := range list {
			if list[i].at < list[next].at {
				next = i
			}
		}
		e := list[next]
		list = slices.Delete(list, next, next+1)
		if budget != nil {
			tokens = min(budget.capacity, tokens+budget.refill*(e.at-filled).Seconds())
			filled = e.at
		}
		if !e.fails {
			attempts[e.who]++
			recent := 0
			for _, at := range success {
				if e.at-at < time.Second {
					recent++
				}
			}
			if e.at >= o.Down && recent < o.Capacity {
				success = append(success, e.at)
				served[e.who] = e.at
				if budget != nil {
					tokens = min(budget.capacity, tokens+budget.refund)
				}
				continue
			}
			if o.Timeout > 0 {
				list = append(list, todo{e.at + o.Timeout, e.who, true})
				continue
			}
		}
		n[e.who]++
		if limit, ok := o.Policy.Limit(); ok && n[e.who] > limit {
			continue
		}
		if budget != nil {
			if tokens < budget.cost {
				continue
			}
			tokens -= budget.cost
		}
		prev[e.who] = wait(e.who, n[e.who], prev[e.who])
		list = append(list, todo{e.at + prev[e.who], e.who, false})
	}
	return served, attempts
}

func TestOutageAgainstAPlainOne(t *testing.T) {
	for _, b := range []backoff.Backoff{
		backoff.Constant(time.Second),
		backoff.Exponential(time.Second, 2).Cap(8 * time.Second).Jitter(jitter.Full),
		backoff.Decorrelated(time.Second).Cap(10 * time.Second),
		backoff.Linear(2 * time.Second).Tiled(),
	} {
		for name, o := range map[string]Outage{
			"plain":   {Clients: 120, Down: 10 * time.Second, Capacity: 7, Policy: noWait},
			"timeout": {Clients: 120, Down: 10 * time.Second, Capacity: 7, Timeout: 1500 * time.Millisecond, Policy: noWait},
			"limit":   {Clients: 120, Down: 10 * time.Second, Capacity: 7, Policy: retry.New(backoff.Backoff{}, retry.Limit(6))},
			"budget":  {Clients: 120, Down: 10 * time.Second, Capacity: 7, Timeout: 300 * time.Millisecond, Policy: noWait},
			"ample":   {Clients: 20, Down: 3 * time.Second, Capacity: 20, Policy: noWait},
		} {
			var budget *tokenBucket
			if name == "budget" {
				budget = &tokenBucket{200, 1.5, 3, 4}
				o.Policy = o.Policy.With(retry.WithBudget(retry.NewBudget(200, 1.5, 3).Refill(4)))
			}
			o.Policy, o.Placement, o.Seed = o.Policy.With(retry.WithBackoff(b)), ByOrdinal, 21
			served, attempts := plainOutage(o, budget, func(who, n int, prev time.Duration) time.Duration {
				return b.Ordinal(uint64(who)).After(n, prev, 0)
			})
			r := runOutage(t, o)
			if !slices.Equal(r.ServedAt, served) {
				t.Errorf("%s, %v: served at %v, want %v", name, b, r.ServedAt, served)
			}
			if !slices.Equal(r.AttemptsOf, attempts) {
				t.Errorf("%s, %v: attempts are %v, want %v", name, b, r.AttemptsOf, attempts)
			}
		}
	}
}

func TestOutageAddsUp(t *testing.T) {
	for seed := range uint64(20) {
		o := Outage{
			Policy: retry.New(backoff.Exponential(200*time.Millisecond, 2).Cap(20 * time.Second).Jitter(jitter.Full)), Placement: []Placement{OneProcess, ByOrdinal}[seed%2],
			Clients: 500, Down: 15 * time.Second, Capacity: 30, Timeout: time.Duration(seed%2) * 200 * time.Millisecond,
			Arrive: 5 * time.Second, Return: time.Duration(seed%3) * time.Second, Seed: seed, Bin: 500 * time.Millisecond,
		}
		if limit := int(seed % 5); limit > 0 {
			o.Policy = o.Policy.With(retry.Limit(limit))
		}
		if seed%4 == 0 {
			o.Policy = o.Policy.With(retry.WithBudget(retry.NewBudget(300, 1, 0.5).Refill(50)))
		}
		r := runOutage(t, o)
		var attempts, failures, served, peak, inTraffic int64
		for i, n := range r.AttemptsOf {
			attempts += int64(n)
			if r.ServedAt[i] != Never {
				served++
			}
		}
		for i, n := range r.Traffic.Attempts {
			inTraffic += n
			failures += n - r.Traffic.Served[i]
			peak = max(peak, n)
		}
		if attempts != r.Attempts || inTraffic != r.Attempts || failures != r.Attempts-served || served != int64(r.Served) || peak != r.Peak {
			t.Errorf("seed %d: %d attempts (%d, %d in traffic), %d served (%d), %d failures, peak %d (%d)",
				seed, r.Attempts, attempts, inTraffic, r.Served, served, failures, r.Peak, peak)
		}
		if o.Return == 0 && r.GivenUp != int64(r.Clients-r.Served) || o.Return > 0 && r.Served != r.Clients || seed%4 != 0 && r.Refused != 0 {
			t.Errorf("seed %d: %d served and %d given up of %d, %d retries refused", seed, r.Served, r.GivenUp, r.Clients, r.Refused)
		}
		at := slices.DeleteFunc(slices.Clone(r.ServedAt), func(at time.Duration) bool { return at == Never })
		slices.Sort(at)
		for i, t0 := range at {
			if t0 < o.Down || i >= o.Capacity && t0-at[i-o.Capacity] < time.Second {
				t.Fatalf("seed %d: served at %v: too early or too many", seed, t0)
			}
		}
		if len(at) > 0 && at[len(at)-1] != r.End {
			t.Errorf("seed %d: end is %v, want %v", seed, r.End, at[len(at)-1])
		}
		if one, two := marshal(t, r), marshal(t, runOutage(t, o)); one != two {
			t.Errorf("seed %d: two runs differ", seed)
		}
	}
}

func TestOutageStops(t *testing.T) {
	o := Outage{Policy: retry.New(backoff.Constant(time.Second)), Clients: 10, Down: time.Minute, Capacity: 5, Horizon: 4500 * time.Millisecond}
	r, err := o.Run(t.Context())
	if !errors.Is(err, ErrHorizon) || err.Error() != "sim: Outage: stopped at 4.5s: the horizon is reached: 0 of 10 clients done" || r.Attempts != 50 {
		t.Errorf("horizon: %d attempts, %v", r.Attempts, err)
	}

	o.Down, o.Horizon = 2*stuck*time.Second, 0 // many attempts, but not at one instant
	if r, err = o.Run(t.Context()); err != nil || r.Served != 10 {
		t.Errorf("a long outage: %d served, %v", r.Served, err)
	}

	o = Outage{Policy: noWait, Clients: 10, Down: time.Minute, Capacity: 5}
	r, err = o.Run(t.Context())
	if !errors.Is(err, ErrStuck) || r.Attempts != stuck*10+1 || r.End != 0 {
		t.Errorf("no wait: %d attempts, %v", r.Attempts, err)
	}
	free := o.Policy
	o.Policy = free.With(retry.Limit(1000)) // the retries end
	if r, err = o.Run(t.Context()); err != nil || r.Attempts != 10_010 {
		t.Errorf("no wait, but a limit: %d attempts, %v", r.Attempts, err)
	}
	o.Policy, o.Timeout = free, time.Second // time goes by
	if r, err = o.Run(t.Context()); err != nil || r.Served != 10 {
		t.Errorf("no wait, but a timeout: %+v, %v", r, err)
	}

	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var reports [][2]int64
	o = Outage{Policy: retry.New(backoff.Constant(time.Second)), Clients: 50_000, Capacity: 1000, Progress: func(done, total int64) {
		reports = append(reports, [2]int64{done, total})
		if len(reports) == 2 {
			cancel(why)
		}
	}}
	r, err = o.Run(ctx)
	stopped, ok := errors.AsType[*StoppedError](err)
	if !ok || !errors.Is(err, why) || stopped.Done != int64(r.Served) || stopped.Total != 50_000 {
		t.Fatalf("cancelled: %v", err)
	}
	if r.Served == 0 || r.Served == 50_000 || len(reports) != 2 || reports[1][0] == 0 || r.Attempts < 100_000 {
		t.Errorf("cancelled: %d served, %v, %d attempts", r.Served, reports, r.Attempts)
	}
}

func TestOutageRefusesInvalidFields(t *testing.T) {
	refuses(t, func() Outage { return Outage{Clients: 1, Capacity: 1} }, "Outage", map[string]func(*Outage){
		"Processes is -1, want 0 to 10000":                func(o *Outage) { o.Processes = -1 },
		"Clients is 0, want 1 to 10000000":                func(o *Outage) { o.Clients = 0 },
		"Capacity is 0, want 1 to 100000000":              func(o *Outage) { o.Capacity = 0 },
		"Down is -1ns, want at least 0":                   func(o *Outage) { o.Down = -1 },
		"Timeout is -1ns, want at least 0":                func(o *Outage) { o.Timeout = -1 },
		"Arrive is -1ns, want at least 0":                 func(o *Outage) { o.Arrive = -1 },
		"Return is -1ns, want at least 0":                 func(o *Outage) { o.Return = -1 },
		"Bin is -1ns, want at least 0":                    func(o *Outage) { o.Bin = -1 },
		"Horizon is -1ns, want at least 0":                func(o *Outage) { o.Horizon = -1 },
		`Placement is "9", want one of ["" "by-ordinal"]`: func(o *Outage) { o.Placement = "9" },
	})
	if r := runOutage(t, Outage{Clients: 1, Capacity: 1}); r.Served != 1 || r.Attempts != 1 || r.End != 0 {
		t.Errorf("the least Outage: %+v", r)
	}
}

// A client's attempts stop counting at math.MaxInt32. That many attempts would take minutes, so this client starts near
// the limit.
func TestOutageCountsOfAClientDoNotWrap(t *testing.T) {
	s := newServer(Outage{Policy: retry.New(backoff.Constant(math.MaxInt32)), Clients: 1, Capacity: 1, Down: 3 * math.MaxInt32, Bin: time.Second})
	s.clients[0] = client{attempts: math.MaxInt32}
	p := newPace(t.Context(), nil, 1)
	must(t, s.run(&p))
	if r := s.result(); r.PerClient.Most != math.MaxInt32 || r.Attempts != 4 || r.End != 3*math.MaxInt32 {
		t.Errorf("%+v", r)
	}
}

func TestHalveJoinsEachTwoBins(t *testing.T) {
	for _, test := range [][2][]int64{{{}, {}}, {{1}, {1}}, {{1, 2}, {3}}, {{1, 2, 4, 8, 16}, {3, 12, 16}}} {
		if got := halve(slices.Clone(test[0])); !slices.Equal(got, test[1]) {
			t.Errorf("%v becomes %v, want %v", test[0], got, test[1])
		}
	}
}

func TestTrafficDoublesItsBins(t *testing.T) {
	tr := Traffic{Bin: time.Second}
	for i := range 5 * maxTraffic {
		tr.add(time.Duration(i)*time.Second+time.Millisecond, i%4 == 0)
	}
	if tr.Bin != 8*time.Second || len(tr.Attempts) != 5*maxTraffic/8 || len(tr.Served) != len(tr.Attempts) {
		t.Fatalf("%d bins of %v", len(tr.Attempts), tr.Bin)
	}
	for i := range tr.Attempts {
		if tr.Attempts[i] != 8 || tr.Served[i] != 2 {
			t.Fatalf("bin %d has %d attempts, %d served, want 8, 2", i, tr.Attempts[i], tr.Served[i])
		}
	}
	tr = Traffic{Bin: 1}
	tr.add(0, false)
	tr.add(math.MaxInt64-1, true)
	if n := len(tr.Attempts); n > maxTraffic || tr.Attempts[0] != 1 || tr.Attempts[n-1] != 1 || tr.Served[n-1] != 1 {
		t.Errorf("the ends of time: %d bins of %v", n, tr.Bin)
	}
}

func TestOutagePeaksAreCountedFromZeroAndFromRecovery(t *testing.T) {
	// Attempts at 0, 0.7, 1.4, 2.1, … s of each of 10 clients; recovery at 1.3 s.
	r := runOutage(t, Outage{Policy: retry.New(backoff.Constant(700 * time.Millisecond)), Clients: 10, Down: 1300 * time.Millisecond, Capacity: 3})
	// From 0: both attempts of [0, 1) s. From 1.3 s: 10 at 1.4 and 7 at 2.1 s.
	if r.Peak != 20 || r.PeakAt != 0 || r.PeakAfter != 17 || r.PeakAfterAt != 1300*time.Millisecond {
		t.Errorf("peaks are %d at %v, %d at %v", r.Peak, r.PeakAt, r.PeakAfter, r.PeakAfterAt)
	}
}

func TestOutageAsJSON(t *testing.T) {
	o := Outage{Policy: retry.New(backoff.Linear(time.Second).Tiled()), Clients: 3, Capacity: 2}
	var back Outage
	if err := json.Unmarshal([]byte(marshal(t, o)), &back); err != nil || !reflect.DeepEqual(o, back) {
		t.Errorf("read back it is %+v, %v", back, err)
	}
	r := runOutage(t, o)
	var result OutageResult
	if err := json.Unmarshal([]byte(marshal(t, r)), &result); err != nil || !reflect.DeepEqual(*r, result) {
		t.Errorf("read back the result is %+v, %v", result, err)
	}
}

// With slots the clients are served nearly as soon as possible after an outage of 2 s to 10 min, with one refusal a
// client, whatever their backoff.
func TestOutageSlots(t *testing.T) {
	for _, b := range []backoff.Backoff{
		backoff.Constant(time.Second), backoff.Exponential(time.Second, 2).Cap(30 * time.Second), backoff.Exponential(100*time.Millisecond, 2).Cap(5 * time.Second),
		backoff.Linear(time.Second).Cap(10 * time.Second),
	} {
		for _, down := range []time.Duration{2 * time.Second, 20 * time.Second, time.Minute, 10 * time.Minute} {
			o := Outage{Policy: retry.New(b), Clients: 1000, Down: down, Capacity: 20, Slots: true}
			r := runOutage(t, o)
			// A client is served after its next attempt, which comes at most one wait after the server's return. Best counts
			// whole seconds.
			if late := r.End - r.Best; r.Served != 1000 || r.FailuresAfter > 1000 || late > b.Ceiling(100)+time.Second {
				t.Errorf("%v, down for %v: %d served by %v, best %v, %d refusals", b, down, r.Served, r.End, r.Best, r.FailuresAfter)
			}
		}
	}
	// With frequent attempts it takes at most 4 % longer than possible.
	r := runOutage(t, Outage{Policy: retry.New(backoff.Constant(time.Second)), Clients: 1000, Down: 10 * time.Minute, Capacity: 20, Slots: true})
	if after, best := r.End-10*time.Minute, r.Best-10*time.Minute; float64(after) > 1.04*float64(best) {
		t.Errorf("all served after %v, best %v", after, best)
	}
	// Exactly: all three come at 2 s. The second receives the slot at 2.5 s, the third the one at 3 s.
	r = runOutage(t, Outage{Policy: retry.New(backoff.Constant(2 * time.Second)), Clients: 3, Down: time.Second, Capacity: 2, Slots: true})
	if want := []time.Duration{2e9, 25e8, 3e9}; !slices.Equal(r.ServedAt, want) || r.FailuresAfter != 2 {
		t.Errorf("served at %v after %d refusals, want %v", r.ServedAt, r.FailuresAfter, want)
	}
	// A refusal comes at once, also with a Timeout: they come back at 12 s.
	r = runOutage(t, Outage{Policy: retry.New(backoff.Constant(2 * time.Second)), Clients: 3, Down: time.Second, Capacity: 2, Slots: true, Timeout: 10 * time.Second})
	if want := []time.Duration{12e9, 125e8, 13e9}; !slices.Equal(r.ServedAt, want) {
		t.Errorf("served at %v, want %v", r.ServedAt, want)
	}
}

// Without Each the result holds nothing per client.
func TestOutageKeepsNothingPerClientWithoutEach(t *testing.T) {
	r, err := Outage{Policy: retry.New(backoff.Constant(time.Second)), Clients: 50_000, Down: time.Second, Capacity: 5000}.Run(t.Context())
	if err != nil || r.AttemptsOf != nil || r.ServedAt != nil || len(marshal(t, r)) > 10_000 {
		t.Errorf("%v, %d bytes of JSON", err, len(marshal(t, r)))
	}
}

// Each of several processes places its own clients evenly, independently of the others.
func TestOutageProcesses(t *testing.T) {
	o := Outage{Policy: retry.New(backoff.Constant(time.Minute).Tiled()), Clients: 600, Capacity: 600, Down: time.Second}
	gaps := func(processes, groups int) (longest time.Duration) {
		o.Processes = processes
		at := runOutage(t, o).ServedAt
		for process := range groups {
			var own []time.Duration
			for i := process; i < len(at); i += groups {
				own = append(own, at[i])
			}
			slices.Sort(own)
			for i := range own[1:] {
				longest = max(longest, own[i+1]-own[i])
			}
		}
		return longest
	}
	// The longest gap of the golden sequence is at most 1.9 times the mean, that of random places more than 4 times.
	for processes, mean := range map[int]time.Duration{0: 100 * time.Millisecond, 1: 100 * time.Millisecond, 6: 600 * time.Millisecond} {
		if longest := gaps(processes, max(processes, 1)); longest > 2*mean {
			t.Errorf("%d processes: the longest gap of one is %v, the mean %v", processes, longest, mean)
		}
	}
	if longest := gaps(o.Clients, 1); longest < 400*time.Millisecond {
		t.Errorf("a process each: the longest gap is %v", longest)
	}
}

// With slots the best end is the time of the last slot.
func TestOutageBestWithSlots(t *testing.T) {
	o := Outage{Policy: retry.New(backoff.Constant(time.Second)), Clients: 20, Capacity: 20, Down: time.Second, Slots: true}
	r, err := o.Run(t.Context())
	if want := 1950 * time.Millisecond; err != nil || r.Best != want || r.End != want {
		t.Errorf("the best end is %v, and the end %v, want %v; %v", r.Best, r.End, want, err)
	}
}
