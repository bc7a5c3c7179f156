package sim

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// plain is a second, simple implementation of Overload: every event is a function in one list, and a caller is a
// function that is called with the result of its call.
type plain struct {
	o                      Overload
	arrivals               *rand.Rand
	policies               [][]retry.Policy
	turn                   []int
	now                    time.Duration
	events                 []plainEvent
	queue                  []*plainRequest
	at                     *plainRequest
	operations, offered    int64
	succeeded, givenUp     int64
	refused, served        int64
	wasted, dropped        int64
	failed                 int64
	failing                *rand.Rand
	succeededAt, offeredAt []int64
	latency                []time.Duration
}

type plainEvent struct {
	at time.Duration
	do func()
}

type plainRequest struct {
	left bool
	done func(error)
}

// plainCall is a call, as its caller sees it: the caller can leave.
type plainCall struct{ leave func() }

func (p *plain) in(d time.Duration, do func()) (cancel func()) {
	dead := false
	e := plainEvent{p.now + d, func() {
		if !dead {
			do()
		}
	}}
	i := len(p.events)
	for i > 0 && p.events[i-1].at > e.at {
		i--
	}
	p.events = slices.Insert(p.events, i, e)
	return func() { dead = true }
}

// call runs an operation of a layer. It calls end with nil or the operation's error, unless the caller leaves.
func (p *plain) call(layer int, end func(error)) plainCall {
	policy := p.policies[layer][p.turn[layer]%len(p.policies[layer])]
	p.turn[layer]++
	timeout, timed := p.o.Layers[layer].Policy.AttemptTimeout()
	op := operation{policy: policy, takes: p.o.Layers[layer].FailureTakes}
	var leaveAttempt, cancelTimeout, cancelWait func()
	var attempt func()
	var start time.Duration
	ended := func(err error) {
		cancelTimeout()
		if err == nil {
			succeed(policy)
			end(nil)
			return
		}
		wait, giveUp := op.fail(err, p.now-start, p.now)
		if giveUp != nil {
			end(giveUp)
			return
		}
		leaveAttempt = func() {}
		cancelWait = p.in(wait, attempt)
	}
	attempt = func() {
		start = p.now
		cancelTimeout = func() {}
		if timed {
			cancelTimeout = p.in(timeout, func() {
				leaveAttempt()
				ended(errFailed)
			})
		}
		if layer+1 < len(p.o.Layers) {
			leaveAttempt = func() {}
			over := false
			below := p.call(layer+1, func(err error) { over = true; ended(err) })
			if !over {
				leaveAttempt = below.leave
			}
			return
		}
		leaveAttempt = p.request(ended)
	}
	cancelWait = func() {}
	attempt()
	return plainCall{func() { cancelTimeout(); cancelWait(); leaveAttempt() }}
}

func (p *plain) request(ended func(error)) (leave func()) {
	p.offered++
	p.offeredAt[p.now/time.Second]++
	r := &plainRequest{done: ended}
	leave = func() { r.left = true }
	if p.at == nil {
		p.serve(r)
		return leave
	}
	if p.o.Queue == 0 || len(p.queue) < p.o.Queue {
		p.queue = append(p.queue, r)
		return leave
	}
	p.refused++
	if p.o.Refusal > 0 {
		return p.in(p.o.Refusal, func() { ended(errFailed) })
	}
	ended(errFailed)
	return func() {}
}

func (p *plain) serve(r *plainRequest) {
	p.at = r
	p.in(p.o.Trigger.finish(p.now, p.o.Service.Mean)-p.now, func() {
		p.at = nil
		for len(p.queue) > 0 && p.at == nil {
			next := p.queue[0]
			p.queue = p.queue[1:]
			if next.left && p.o.Drop {
				p.dropped++
				continue
			}
			p.serve(next)
		}
		if r.left {
			p.wasted++
			return
		}
		if p.o.Failures > 0 && p.failing.Float64() < p.o.Failures {
			p.failed++
			r.done(errFailed)
			return
		}
		p.served++
		r.done(nil)
	})
}

func (p *plain) arrive() {
	p.in(duration(p.arrivals.ExpFloat64()/p.o.Load*1e9), func() {
		began := p.now
		p.operations++
		p.call(0, func(err error) {
			if err != nil {
				p.givenUp++
				return
			}
			p.succeeded++
			p.succeededAt[p.now/time.Second]++
			p.latency = append(p.latency, p.now-began)
		})
		p.arrive()
	})
}

func (p *plain) run() {
	p.arrive()
	for len(p.events) > 0 && p.events[0].at < p.o.Horizon {
		e := p.events[0]
		p.events = p.events[1:]
		p.now = e.at
		e.do()
	}
}

// The model and its plain implementation agree on every request.
func TestOverloadAgreesWithThePlainOne(t *testing.T) {
	n := uint64(60)
	if raced {
		n = 15
	}
	if nightly {
		n = 2000
	}
	for seed := range n {
		o := randomOverload(rand.New(rand.NewPCG(seed, 5)))
		o.Horizon = 5 * time.Second
		p := plain{
			o: o, turn: make([]int, len(o.Layers)),
			succeededAt: make([]int64, 5), offeredAt: make([]int64, 5),
		}
		var policies *rand.Rand
		p.arrivals, policies, p.failing = o.random()
		for _, l := range o.Layers {
			p.policies = append(p.policies, l.policies(policies))
		}
		p.run()
		r := mustRun(t, o)
		got := []int64{r.Operations, r.Offered, r.Succeeded, r.GivenUp, r.Refused, r.Served, r.Wasted, r.Dropped, r.Failed}
		want := []int64{p.operations, p.offered, p.succeeded, p.givenUp, p.refused, p.served, p.wasted, p.dropped, p.failed}
		if !slices.Equal(got, want) || !reflect.DeepEqual(r.Flow.Succeeded, p.succeededAt) || !reflect.DeepEqual(r.Flow.Offered, p.offeredAt) {
			t.Fatalf("seed %d: operations, offered, succeeded, given up, refused, served, wasted, dropped, failed are %v, the plain one's %v\n%+v", seed, got, want, o)
		}
		sums := []int64{sum(r.Flow.Arrived), sum(r.Flow.Refused), sum(r.Flow.Wasted), int64(r.Latency.Count)}
		if want := []int64{p.operations, p.refused, p.wasted, p.succeeded}; !slices.Equal(sums, want) {
			t.Errorf("seed %d: arrived, refused, wasted, latencies are %v, want %v", seed, sums, want)
		}
		for i, healthy := range r.Flow.Healthy {
			if healthy > r.Flow.Arrived[i] {
				t.Errorf("seed %d: %d of %d are healthy", seed, healthy, r.Flow.Arrived[i])
			}
		}
		if len(p.latency) > 0 && (r.Latency.Most != slices.Max(p.latency) || r.Latency.Least != slices.Min(p.latency)) {
			t.Errorf("seed %d: latencies are %+v", seed, r.Latency)
		}
	}
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}
