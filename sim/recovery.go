package sim

import "time"

// Verdict is the answer to the question of an Overload: does the server recover?
type Verdict string

// The verdicts.
const (
	Recovered       Verdict = "recovered"
	RecoveredLate   Verdict = "recovered late" // more than a minute after the Trigger
	NotRecovered    Verdict = "not recovered"
	UnhealthyBefore Verdict = "not healthy before" // so there was nothing to recover to
)

// Recovery describes whether a server was healthy at the end of a run, as it was before the Trigger.
//
// Operations are judged by the second in which they arrive. A second is healthy if at least 95 % of its operations are,
// each of which had the time to be. The server was healthy before if the last five seconds before the Trigger were, all
// together, or if there is no such second. It has recovered if at least the last five seconds of the run are healthy,
// and if these began within Soon of the Trigger's end; otherwise it has recovered late. In a run of more than 16,384 s
// the seconds are longer. The Bin of the Flow makes no difference.
type Recovery struct {
	Verdict Verdict       `json:"verdict"`
	After   time.Duration `json:"after,omitempty"` // Recovered, RecoveredLate: when the last series of healthy seconds began, since the Trigger's end (At+For); 0 is at once
	Within  time.Duration `json:"within"`          // the time from the Trigger's end to the end of the run; 0 if it ended before
}

// Soon is the longest time from the end of a Trigger to a recovery.
const Soon = time.Minute

const (
	healthyShare   = 0.95
	healthySeconds = 5
	calm           = 30 * time.Second // a run without a Horizon goes on until the server has been healthy for this time
	watch          = 5 * time.Minute  // or until this time has passed since the Trigger
)

// health counts the operations of each second.
type health struct {
	trigger  Trigger
	within   time.Duration // a healthy operation succeeds within this time
	width    time.Duration // of a second
	all      []int64
	good     []int64
	judged   int  // the seconds whose operations had the time to be healthy
	first    int  // where the current series of healthy seconds begins
	trouble  bool // the server was not healthy before the Trigger
	foreseen bool // trouble is final
}

func newHealth(t Trigger, within, latest time.Duration) health {
	return health{trigger: t, within: within, width: max(time.Second, latest/maxTraffic+1)}
}

// count counts one in the second of a time.
func (h *health) count(counts *[]int64, at time.Duration) {
	for i := int(at / h.width); len(*counts) <= i; {
		*counts = append(*counts, 0)
	}
	(*counts)[at/h.width]++
}

func (h *health) arrived(at time.Duration) { h.count(&h.all, at) }
func (h *health) healthy(at time.Duration) { h.count(&h.good, at) }

// end returns the end of the seconds that are judged.
func (h *health) end() time.Duration { return time.Duration(h.judged) * h.width }

// due returns when the next second can be judged.
func (h *health) due() time.Duration { return add(h.end()+h.width, h.within) }

// judge judges the seconds that can be judged at a time.
func (h *health) judge(now time.Duration) {
	for ; h.due() <= now; h.judged++ {
		if h.due() > h.trigger.At && !h.foreseen {
			h.foreseen, h.trouble = true, !h.well(max(0, h.judged-healthySeconds), h.judged)
		}
		if !h.well(h.judged, h.judged+1) {
			h.first = h.judged + 1
		}
	}
}

// well reports whether the operations of some seconds were healthy, all together.
func (h *health) well(from, to int) bool {
	var all, good int64
	for i := from; i < to; i++ {
		if i < len(h.all) {
			all += h.all[i]
		}
		if i < len(h.good) {
			good += h.good[i]
		}
	}
	return float64(good) >= healthyShare*float64(all)
}

// earlyEnd returns the end of a run without a Horizon, if it has come.
func (h *health) earlyEnd() (end time.Duration, ok bool) {
	after := h.end() - h.trigger.end()
	series := h.end() - time.Duration(h.first)*h.width
	return h.end() + h.within, after >= calm && (series >= calm || h.trouble)
}

// recovery returns the verdict at the end of a run.
func (h *health) recovery(end time.Duration) Recovery {
	h.judge(end)
	r := Recovery{Verdict: NotRecovered, Within: max(0, end-h.trigger.end())}
	switch {
	case h.trouble:
		r.Verdict = UnhealthyBefore
	case h.judged-h.first >= healthySeconds && h.end() > h.trigger.end():
		r.Verdict, r.After = Recovered, max(0, time.Duration(h.first)*h.width-h.trigger.end())
		if r.After > Soon {
			r.Verdict = RecoveredLate
		}
	}
	return r
}
