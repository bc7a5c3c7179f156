package sim

import "time"

// OutageResult is what became of an Outage.
type OutageResult struct {
	Clients int `json:"clients"`
	Served  int `json:"served"`

	// Attempts is how many there were, the load on the server; all but Served of them failed.
	Attempts      int64 `json:"attempts"`
	FailuresAfter int64 `json:"failuresAfter"` // those that failed although the server was up: it was busy
	GivenUp       int64 `json:"givenUp"`       // operations given up; with a Return a client may give up several times
	Refused       int64 `json:"refused"`       // those of them for want of budget

	Peak        int64         `json:"peak"` // the most attempts in one Bin, counted from time 0
	PeakAt      time.Duration `json:"peakAt"`
	PeakAfter   int64         `json:"peakAfter"` // the most in one Bin counted from Down on
	PeakAfterAt time.Duration `json:"peakAfterAt"`

	// End is when the last client was served, and so the time until all are if Served is Clients. It is 0 where nobody
	// was.
	End time.Duration `json:"end"`

	// Best is the End that would be, had the clients all asked as soon as the server had room: Down, and a second for each
	// Capacity of clients after the first.
	Best time.Duration `json:"best"`

	PerClient Counts  `json:"perClient"` // attempts of each client
	Waited    Spread  `json:"waited"`    // from time 0, of those served
	Traffic   Traffic `json:"traffic"`

	// AttemptsOf and ServedAt are those of each client, if the Outage is to keep them, else nil: the attempts, at most
	// 2³¹-1, and when it was served, Never if it was not.
	AttemptsOf []int32         `json:"attemptsOf,omitempty"`
	ServedAt   []time.Duration `json:"servedAt,omitempty"`
}

// maxTraffic is the most bins of a Traffic.
const maxTraffic = 1 << 14

// Traffic is the load over time: the i-th entries are of the time [i·Bin, (i+1)·Bin). Bin is the Outage's, doubled as
// often as it takes to have at most 2¹⁴ bins.
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

// halve joins each two bins.
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
	current time.Duration // where the bin at hand begins
	count   int64         // in it
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
	var perClient moments
	for i := range s.clients {
		perClient.add(int64(s.clients[i].attempts))
		if s.Each {
			r.AttemptsOf = append(r.AttemptsOf, s.clients[i].attempts)
		}
	}
	r.PerClient, r.Waited = perClient.counts(), s.waited.spread()
	return r
}
