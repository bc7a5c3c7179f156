package sim

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

var still = Network{Mean: 10 * time.Millisecond} // no variance

func TestClassicsWait(t *testing.T) {
	const ms = time.Millisecond
	s := classics()
	var names []string
	for _, s := range s {
		names = append(names, s.Name)
	}
	if want := []string{"none", "exponential", "full", "equal", "decorrelated"}; !slices.Equal(names, want) {
		t.Fatalf("names are %v, want %v", names, want)
	}
	top := 1 - 1.0/(1<<53)
	for n, expo := range []time.Duration{0, 10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1280 * ms, 2000 * ms, 2000 * ms} {
		if n == 0 {
			continue
		}
		for i, want := range [][2]time.Duration{{0, 0}, {expo, expo}, {0, expo - 1}, {expo / 2, expo - 1}} {
			if got := [2]time.Duration{s[i].Policy.Backoff().At(n, 0), s[i].Policy.Backoff().At(n, top)}; got != want {
				t.Errorf("%s: wait %d is between %v and %v, want %v", names[i], n, got[0], got[1], want)
			}
		}
	}
	for _, step := range [][3]time.Duration{{0, 5 * ms, 15 * ms}, {15 * ms, 5 * ms, 45 * ms}, {1000 * ms, 5 * ms, 2000 * ms}} {
		lo, hi := s[4].Policy.Backoff().After(2, step[0], 0), s[4].Policy.Backoff().After(2, step[0], top)
		if lo != step[1] || hi < step[2]-1 || hi > step[2] {
			t.Errorf("decorrelated: after %v the wait is between %v and %v, want %v", step[0], lo, hi, step[1:])
		}
	}
}

func TestOCCWithoutVarianceIsExact(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 100, 333} {
		calls, end := int64(n*(n+1)/2), time.Duration(n)*40*time.Millisecond
		none := mustRun(t, OCC{Policy: noWait, Clients: n, Network: still})
		if none.Calls != calls || none.End != end || none.Written != n {
			t.Errorf("none, %d clients: %d calls in %v, want %d in %v", n, none.Calls, none.End, calls, end)
		}
		for k := 1; k < n; k++ {
			end += time.Duration(min(2000, 5*math.Pow(2, float64(k)))) * time.Millisecond
		}
		expo := mustRun(t, OCC{Policy: classics()[1].Policy, Clients: n, Network: still})
		if expo.Calls != calls || expo.End != end || expo.Written != n {
			t.Errorf("exponential, %d clients: %d calls in %v, want %d in %v", n, expo.Calls, expo.End, calls, end)
		}
	}
}

func TestOCCReadSeesTheWriteOfItsInstant(t *testing.T) {
	// All write at 3 ns. One loser reads at 5 and writes at 7; the other reads at 7, and writes at 9.
	waits := []time.Duration{0, 2}
	b := backoff.Func(func(int, float64) time.Duration {
		wait := waits[0]
		waits = waits[1:]
		return wait
	})
	r := mustRun(t, OCC{Policy: retry.New(b), Clients: 3, Network: Network{Mean: 1}})
	if want := []time.Duration{3, 3, 3, 7, 9}; !slices.Equal(r.Times, want) || r.End != 10 {
		t.Errorf("calls at %v until %v, want %v until 10ns", r.Times, r.End, want)
	}
}

// Calls come in clusters without jitter and at an even rate with full jitter. The share of the time without calls
// shows it.
func TestOCCClustersWithoutJitter(t *testing.T) {
	idle := func(b backoff.Backoff) float64 {
		times := mustRun(t, OCC{Network: DefaultNetwork, Policy: retry.New(b), Clients: 100, Seed: 1}).Times
		bins := map[time.Duration]bool{}
		const bin = 50 * time.Millisecond
		for _, at := range times {
			bins[at/bin] = true
		}
		return 1 - float64(len(bins))/float64(times[len(times)-1]/bin+1)
	}
	expo, full := idle(classics()[1].Policy.Backoff()), idle(classics()[2].Policy.Backoff())
	if expo < 0.9 || full > 0.5 {
		t.Errorf("no call in %.2f of the time of exponential, in %.2f of that of full: want over 0.9 and under 0.5", expo, full)
	}
}

// The means are the known ones, over 10,000 runs.
func TestOCCOfOneAndTwo(t *testing.T) {
	const runs = 10_000
	z := func(s Spread, want float64) float64 {
		return (float64(s.Mean)/1e6 - want) / (float64(s.SD) / 1e6 / math.Sqrt(runs))
	}
	extra := map[string]float64{"none": 0, "full": 5, "equal": 7.5, "exponential": 10, "decorrelated": 10}
	for _, s := range classics() {
		one, err := sampled(t.Context(), OCC{Network: DefaultNetwork, Policy: s.Policy, Clients: 1, Seed: 100}, runs)
		must(t, err)
		if one.Calls != (Counts{runs, 1, 1, 1, 0, 1, 1, 1}) {
			t.Errorf("%s, 1 client: calls are %+v, want 1", s.Name, one.Calls)
		}
		if z := z(one.End, 40); math.Abs(z) >= 5 {
			t.Errorf("%s, 1 client: %v, want 40ms (z = %.1f)", s.Name, one.End.Mean, z)
		}
		// The deviation of a sample deviation is σ/√(2·runs).
		if z := (float64(one.End.SD)/1e6 - 4) / (4 / math.Sqrt(2*runs)); math.Abs(z) >= 5 {
			t.Errorf("%s, 1 client: deviation %v, want 4ms (z = %.1f)", s.Name, one.End.SD, z)
		}
		two, err := sampled(t.Context(), OCC{Network: DefaultNetwork, Policy: s.Policy, Clients: 2, Seed: 100}, runs)
		must(t, err)
		if two.Calls != (Counts{runs, 3, 3, 3, 0, 3, 3, 3}) {
			t.Errorf("%s, 2 clients: calls are %+v, want 3", s.Name, two.Calls)
		}
		if z := z(two.End, 81.954+extra[s.Name]); math.Abs(z) >= 5 {
			t.Errorf("%s, 2 clients: %v, want %.3fms (z = %.1f)", s.Name, two.End.Mean, 81.954+extra[s.Name], z)
		}
	}
}

// The means agree with published ones, which are taken to be of 1,000 runs too.
func TestOCCOfAHundredAgreesWithKnownMeans(t *testing.T) {
	runs := 1000
	if raced {
		runs = 200
	}
	points := mustRun(t, Sweep{Network: DefaultNetwork, Strategies: classics(), Clients: []int{100}, Runs: runs})
	for i, want := range [][2]float64{{2424, 2030}, {1855, 63681}, {796, 4910}, {812, 6607}, {1002, 4589}} {
		got, name := points[i], points[i].Strategy
		// The error of two samples, and the rounding of the published one.
		both := math.Sqrt(1/float64(got.Runs) + 1.0/1000)
		if z := (got.Calls.Mean - want[0]) / (got.Calls.SD*both + 0.1); math.Abs(z) >= 4 {
			t.Errorf("%s: %.1f calls, want %v (z = %.1f)", name, got.Calls.Mean, want[0], z)
		}
		if z := (float64(got.End.Mean)/1e6 - want[1]) / (float64(got.End.SD)/1e6*both + 0.1); math.Abs(z) >= 4 {
			t.Errorf("%s: %v, want %vms (z = %.1f)", name, got.End.Mean, want[1], z)
		}
	}
}

// message is a message of plainOCC.
type message struct {
	at      time.Duration
	who     int
	arrived func(at time.Duration, who int)
}

// plainOCC simulates every message and searches all of them for the next one.
func plainOCC(clients int, net time.Duration, wait func(who, n int, prev time.Duration) time.Duration) (calls []time.Duration, end time.Duration) {
	var messages []message
	send := func(at time.Duration, who int, arrived func(time.Duration, int)) {
		messages = append(messages, message{at, who, arrived})
	}
	version, read, failures, prev := 0, make([]int, clients), make([]int, clients), make([]time.Duration, clients)
	var readRequest, readReply, writeRequest, writeReply func(at time.Duration, who int)
	ok := make([]bool, clients)
	readRequest = func(at time.Duration, who int) {
		read[who] = version
		send(at+net, who, readReply)
	}
	readReply = func(at time.Duration, who int) { send(at+net, who, writeRequest) }
	writeRequest = func(at time.Duration, who int) {
		calls = append(calls, at)
		if ok[who] = read[who] == version; ok[who] {
			version++
		}
		send(at+net, who, writeReply)
	}
	writeReply = func(at time.Duration, who int) {
		end = max(end, at)
		if ok[who] {
			return
		}
		failures[who]++
		prev[who] = wait(who, failures[who], prev[who])
		send(at+prev[who]+net, who, readRequest)
	}
	for who := range clients {
		send(net, who, readRequest)
	}
	for len(messages) > 0 {
		next := 0
		for i, m := range messages {
			if m.at < messages[next].at {
				next = i
			}
		}
		m := messages[next]
		messages = slices.Delete(messages, next, next+1)
		m.arrived(m.at, m.who)
	}
	return calls, end
}

func TestOCCAgainstEveryMessage(t *testing.T) {
	for _, b := range []backoff.Backoff{
		{},
		backoff.Constant(7 * time.Millisecond),
		backoff.Constant(30 * time.Millisecond).Jitter(jitter.Full),
		backoff.Exponential(10*time.Millisecond, 2).Cap(2 * time.Second).Jitter(jitter.Equal),
		backoff.Decorrelated(5 * time.Millisecond).Cap(300 * time.Millisecond),
		backoff.Linear(40 * time.Millisecond).Tiled(),
	} {
		for _, clients := range []int{1, 2, 17, 60} {
			o := OCC{Policy: retry.New(b), Placement: ByOrdinal, Clients: clients, Network: still, Seed: 9}
			calls, end := plainOCC(clients, still.Mean, func(who, n int, prev time.Duration) time.Duration {
				return b.Ordinal(uint64(who)).After(n, prev, 0)
			})
			r := mustRun(t, o)
			if !slices.Equal(r.Times, calls) || r.End != end {
				t.Errorf("%v, %d clients: %d calls in %v, message by message %d in %v", b, clients, r.Calls, r.End, len(calls), end)
			}
		}
	}
}

// A policy draws an operation's place at its first failure. A client that succeeds at once draws none, and the places
// of the others are consecutive.
func TestOCCPlacesATiledClientAtItsFirstFailure(t *testing.T) {
	o := OCC{Policy: retry.New(backoff.Linear(time.Second).Tiled()), Clients: 3, Network: still, Seed: 4}
	all := newOperations(o.Policy, OneProcess, 1, newRand(o.Seed))
	one, two := operation{policy: all.of(1)}, operation{policy: all.of(2)}
	first, _ := one.fail(errFailed, 0, 0)
	second, _ := two.fail(errFailed, 0, 0)
	// All write at 30 ms. The first client succeeds. The others get the reply at 40 ms and write 30 ms after their wait.
	want := []time.Duration{30 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond}
	want = append(want, 70*time.Millisecond+min(first, second), 70*time.Millisecond+max(first, second))
	if got := mustRun(t, o).Times; !slices.Equal(got, want) {
		t.Errorf("the write calls come at %v, want %v", got, want)
	}
}

func TestOCCStopsAtItsHorizon(t *testing.T) {
	o := OCC{Policy: noWait, Clients: 10, Network: still, Horizon: 110 * time.Millisecond}
	r, err := o.Run(t.Context())
	if !errors.Is(err, ErrHorizon) || err.Error() != "sim: OCC: stopped at 110ms: the horizon is reached: 3 of 10 clients done" {
		t.Fatalf("error is %v", err)
	}
	if r.Written != 3 || r.Calls != 10+9+8 || len(r.Times) != 27 || r.End != 120*time.Millisecond {
		t.Errorf("%d written in %d calls (%d times) until %v, want 3 in 27 until 120ms", r.Written, r.Calls, len(r.Times), r.End)
	}
	s, err := sampled(t.Context(), OCC{Policy: noWait, Network: DefaultNetwork, Clients: 2, Horizon: 81 * time.Millisecond}, 1000)
	if !errors.Is(err, ErrHorizon) || s.Runs == 0 || s.Runs == 1000 || s.End.Most > 100*time.Millisecond {
		t.Errorf("a sample with some runs past the horizon: %+v, %v", s, err)
	}
	if stopped, ok := errors.AsType[*StoppedError](err); !ok || stopped.Done != int64(s.Runs) || stopped.Unit != "runs" {
		t.Errorf("error is %v after %d runs", err, s.Runs)
	}
	// A wait past the end of time is past every horizon.
	r, err = OCC{Network: DefaultNetwork, Policy: retry.New(backoff.Constant(math.MaxInt64)), Clients: 2}.Run(t.Context())
	if !errors.Is(err, ErrHorizon) || r.Written != 1 {
		t.Errorf("a wait without end: %+v, %v", r, err)
	}
}

func TestOCCStopsWithItsContext(t *testing.T) {
	why := errors.New("enough")
	for name, run := range map[string]func(context.Context, OCC) (done int, err error){
		"Run": func(ctx context.Context, o OCC) (int, error) {
			r, err := o.Run(ctx)
			return r.Written, err
		},
		"Sweep": func(ctx context.Context, o OCC) (int, error) {
			p, err := Sweep{Network: DefaultNetwork, Strategies: classics()[:1], Clients: []int{10, 20, 300}, Runs: 1000, Progress: o.Progress}.Run(ctx)
			return len(p), err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		reports := 0
		done, err := run(ctx, OCC{Policy: noWait, Network: DefaultNetwork, Clients: 2000, Progress: func(done, total int64) {
			if reports++; done > total/20 {
				cancel(why)
			}
		}})
		if _, ok := errors.AsType[*StoppedError](err); !ok || !errors.Is(err, why) {
			t.Errorf("%s: error is %v", name, err)
		}
		if done == 0 || done >= 1900 || reports == 0 {
			t.Errorf("%s: %d done, %d reports", name, done, reports)
		}
	}
}

func TestOCCProgress(t *testing.T) {
	for name, test := range map[string]struct {
		total int64
		run   func(progress func(done, total int64)) error
	}{
		"OCC": {700, func(progress func(done, total int64)) error {
			_, err := OCC{Policy: noWait, Network: DefaultNetwork, Clients: 700, Progress: progress}.Run(t.Context())
			return err
		}},
		"Sweep": {millionths, func(progress func(done, total int64)) error {
			_, err := Sweep{Network: DefaultNetwork, Strategies: classics(), Clients: []int{50, 100}, Runs: 30, Progress: progress}.Run(t.Context())
			return err
		}},
	} {
		before, reports := int64(-1), 0
		err := test.run(func(done, total int64) {
			if reports++; total != test.total || done < before || done > total {
				t.Errorf("%s: %d of %d after %d, want %d in all", name, done, total, before, test.total)
			}
			before = done
		})
		if err != nil || reports < 2 || before != test.total {
			t.Errorf("%s: %v, %d reports, the last of %d, want %d", name, err, reports, before, test.total)
		}
	}
}

func TestOCCRefusesInvalidFields(t *testing.T) {
	refuses(t, func() OCC { return OCC{Clients: 1} }, "OCC", map[string]func(*OCC){
		"Clients is 0, want 1 to 10000000":                          func(o *OCC) { o.Clients = 0 },
		"Clients is 10000001, want 1 to 10000000":                   func(o *OCC) { o.Clients = maxClients + 1 },
		"Network.Mean is -1ns, want 0s to 1h0m0s":                   func(o *OCC) { o.Network.Mean = -1 },
		"Network.SD is 2562047h47m16.854775807s, want 0s to 1h0m0s": func(o *OCC) { o.Network.SD = math.MaxInt64 },
		`Placement is "7", want one of ["" "by-ordinal"]`:           func(o *OCC) { o.Placement = "7" },
		"Horizon is -1s, want at least 0":                           func(o *OCC) { o.Horizon = -time.Second },
	})
	refuses(t, func() Sweep { return Sweep{Clients: []int{1}, Runs: 1} }, "Sweep", map[string]func(*Sweep){
		"Clients[1] is 0, want 1 to 10000000":                           func(s *Sweep) { s.Clients = []int{1, 0} },
		"Runs is 0, want 1 to 2147483647":                               func(s *Sweep) { s.Runs = 0 },
		"Network.SD is -1ns, want 0s to 1h0m0s":                         func(s *Sweep) { s.Network.SD = -1 },
		"Horizon is -1s, want at least 0":                               func(s *Sweep) { s.Horizon = -time.Second },
		`Strategies[0].Placement is "8", want one of ["" "by-ordinal"]`: func(s *Sweep) { s.Strategies = []Strategy{{Name: "odd", Placement: "8"}} },
	})
}

func TestSweepIsOfItsRuns(t *testing.T) {
	s := Sweep{Strategies: classics(), Clients: []int{5, 12}, Runs: 20, Network: DefaultNetwork, Seed: 77}
	points := mustRun(t, s)
	if len(points) != 10 {
		t.Fatalf("%d points", len(points))
	}
	for i, p := range points {
		strategy := s.Strategies[i%5]
		var calls, end moments
		for run := range uint64(20) {
			r := mustRun(t, OCC{Network: DefaultNetwork, Policy: strategy.Policy, Clients: s.Clients[i/5], Seed: 77 + run})
			calls.add(r.Calls)
			end.add(int64(r.End))
		}
		if want := (OCCSample{s.Clients[i/5], 20, calls.counts(), end.spread()}); p.Strategy != strategy.Name || p.OCCSample != want {
			t.Errorf("point %d is %+v, want %+v of %s", i, p, want, strategy.Name)
		}
	}
	text := marshal(t, points[:1])
	var back []SweepPoint
	if err := json.Unmarshal([]byte(text), &back); err != nil || !reflect.DeepEqual(back, points[:1]) {
		t.Errorf("as JSON: %s, %v", text, err)
	}
}

// Clients whose policy gives up do not write.
func TestOCCOfAPolicyThatGivesUp(t *testing.T) {
	r := mustRun(t, OCC{Policy: retry.New(backoff.Constant(time.Millisecond), retry.Limit(1)), Clients: 10, Network: still})
	if r.Written != 2 || r.Calls != 10+9 {
		t.Errorf("%d written after %d calls, want one of ten, then one of nine", r.Written, r.Calls)
	}
}

// sampled returns the sample of many runs of o.
func sampled(ctx context.Context, o OCC, runs int) (OCCSample, error) {
	samples, err := sampleAll(ctx, []OCC{o}, runs, o.Progress)
	return samples[0], err
}
