package sim

import "time"

// OutageResult is the result of an Outage.
type OutageResult struct {
	Clients int `json:"clients"`
	Served  int `json:"served"`

	// Attempts is the number of attempts of all clients: the load on the server. All but Served of them failed.
	Attempts      int64 `json:"attempts"`
	FailuresAfter int64 `json:"failuresAfter"` // attempts that failed although the server was back, because it was busy
	GivenUp       int64 `json:"givenUp"`       // operations that were given up; with a Return a client may give up several times
	Refused       int64 `json:"refused"`       // operations that were given up because the budget was empty

	Peak        int64         `json:"peak"` // the most attempts in one Bin, counted from time 0
	PeakAt      time.Duration `json:"peakAt"`
	PeakAfter   int64         `json:"peakAfter"` // the most in one Bin counted from Down on
	PeakAfterAt time.Duration `json:"peakAfterAt"`

	// End is when the last client was served. If Served is Clients, it is the time until all are served. It is 0 if no
	// client was served.
	End time.Duration `json:"lastServedAt"`

	// Best is the earliest possible End, when clients come as soon as the server has room: Down, plus a second for each
	// full Capacity of clients that must be served before the last one. With Slots it is the time of the last slot.
	Best time.Duration `json:"best"`

	PerClient Counts  `json:"perClient"` // attempts of each client
	Waited    Spread  `json:"waited"`    // of the clients that were served, since time 0
	Left      Spread  `json:"left"`      // when operations were given up, since time 0
	Traffic   Traffic `json:"traffic"`

	// AttemptsOf and ServedAt have an entry for each client, with Outage.Each; otherwise they are nil. They are the
	// client's attempts, at most 2³¹-1, and when it was served, Never if it was not.
	AttemptsOf []int32         `json:"attemptsOf,omitempty"`
	ServedAt   []time.Duration `json:"servedAt,omitempty"`
}

// maxTraffic is the most bins of a Traffic.
const maxTraffic = 1 << 14

// Traffic is the load over time: entry i is for the time [i·Bin, (i+1)·Bin). Bin is the Outage's, doubled until there
// are at most 2¹⁴ bins.
type Traffic struct {
	Bin      time.Duration `json:"bin"`
	Attempts []int64       `json:"attempts"`
	Served   []int64       `json:"served"`
}

func (t *Traffic) add(now time.Duration, served bool) {
	i := int64(now / t.Bin)
	for ; i >= maxTraffic; i = int64(now / t.Bin) {
		t.Attempts, t.Served = halve(t.Attempts), halve(t.Served)
		t.Bin = add(t.Bin, t.Bin)
	}
	for int64(len(t.Attempts)) <= i {
		t.Attempts, t.Served = append(t.Attempts, 0), append(t.Served, 0)
	}
	t.Attempts[i]++
	if served {
		t.Served[i]++
	}
}

// halve joins each pair of neighbouring bins.
func halve(bins []int64) []int64 {
	half := bins[:(len(bins)+1)/2]
	for i := range half {
		n := bins[2*i]
		if 2*i+1 < len(bins) {
			n += bins[2*i+1]
		}
		half[i] = n
	}
	return half
}

// peak finds the fullest bin of attempts that come in order.
type peak struct {
	bin     time.Duration
	current time.Duration // where the current bin begins
	count   int64         // attempts in the current bin
	most    int64
	at      time.Duration
}

func (p *peak) add(now time.Duration) {
	if start := now - now%p.bin; start != p.current {
		p.current, p.count = start, 0
	}
	p.count++
	if p.count > p.most {
		p.most, p.at = p.count, p.current
	}
}

func (s *server) result() *OutageResult {
	r := &s.res
	r.Clients, r.Traffic = s.Clients, s.traffic
	r.Peak, r.PeakAt = s.peak.most, s.peak.at
	if r.PeakAfter = s.after.most; r.PeakAfter > 0 {
		r.PeakAfterAt = s.Down + s.after.at
	}
	r.Best = add(s.Down, time.Duration((s.Clients-1)/s.Capacity)*time.Second)
	if s.Slots {
		r.Best = add(s.Down, time.Duration(s.Clients-1)*s.interval())
	}
	var perClient moments
	for i := range s.clients {
		perClient.add(int64(s.clients[i].attempts))
		if s.Each {
			r.AttemptsOf = append(r.AttemptsOf, s.clients[i].attempts)
		}
	}
	r.PerClient, r.Waited, r.Left = perClient.counts(), s.waited.spread(), s.left.spread()
	return r
}
