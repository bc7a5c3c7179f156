package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
)

// choosePage holds the numbers of the charts that compare policies.
type choosePage struct {
	Sentence     string               `json:"sentence"`
	Policies     []choosePolicy       `json:"policies"`
	Note         string               `json:"note,omitempty"` // what is missing
	Outages      []string             `json:"outages"`
	Longest      string               `json:"longest"` // of the outages, as a parameter of an address
	File         string               `json:"file"`    // Go code of all strategies
	Best         Seconds              `json:"best"`    // when all could be served, after the server's return
	AfterTicks   []axis.Tick          `json:"afterTicks"`
	RefusalTicks []axis.Tick          `json:"refusalTicks"`
	Strategies   []choosePageStrategy `json:"strategies"`
}

// choosePolicy is a recommended policy.
type choosePolicy struct {
	advice
	Title    string `json:"title"`
	Sentence string `json:"sentence"`
}

// choosePageStrategy is one of the policies. Its lists have an entry for each outage.
type choosePageStrategy struct {
	Title       string    `json:"title"`
	Text        string    `json:"text"`
	Formula     string    `json:"formula"`
	Purpose     string    `json:"purpose"` // what it is for
	Go          string    `json:"go"`
	Meets       bool      `json:"meets"` // whether it meets the targets
	Recommended bool      `json:"recommended"`
	After       []Seconds `json:"after"`    // when all are served, after the server's return: the median
	Never       []bool    `json:"never"`    // whether some clients are never served
	Refusals    []float64 `json:"refusals"` // per client, after the server's return
	Figures     []Term    `json:"figures"`
}

// Page returns the numbers of the charts.
func (x *Choices) Page() any {
	c := &choosePage{Strategies: []choosePageStrategy{}, Outages: []string{}}
	if len(x.of.Outages) > 0 {
		c.Longest = slices.Max(x.of.Outages).String()
	}
	for i := range x.Policies {
		a := &x.Policies[i]
		c.Policies = append(c.Policies, choosePolicy{advice: *a, Title: a.title(), Sentence: a.sentence()})
	}
	var shown []Strategy
	for _, d := range x.of.Outages {
		c.Outages = append(c.Outages, axis.Time(d))
	}
	var most time.Duration
	var mostRefusals float64
	for _, i := range x.Shown {
		r, s := x.Result.Choices[i], x.Strategies[i]
		shown = append(shown, s)
		y := choosePageStrategy{
			Title: r.Name, Text: s.Policy.String(), Formula: InWords(s), Purpose: x.purpose(i), Go: gocode.Policy("policy", s.Policy, s.Placement),
			Meets: r.Meets, Recommended: i == x.Result.Recommended,
		}
		for _, o := range r.Outages {
			refusals := o.Refusals.Mean / float64(x.of.Clients)
			y.After, y.Never, y.Refusals = append(y.After, Seconds(o.After.P50)), append(y.Never, o.Unserved > 0), append(y.Refusals, refusals)
			most, mostRefusals = max(most, o.After.P50), max(mostRefusals, refusals)
			c.Best = Seconds(o.Best)
		}
		y.Figures = []Term{
			{"first wait", axis.Time(r.FirstWait.P50), r.FirstWait.P50.Seconds(), "the median for an operation that fails once, alone"},
			{"attempts", attempts(&r), r.Attempts.Mean, "per client in an outage of an hour"},
			{"refusals", axis.Number(r.Refusals), r.Refusals, "per client after the server's return, all outages together"},
			{"served", axis.Time(r.End), r.End.Seconds(), "the time from the server's return until all are served: the worst outage"},
		}
		c.Strategies = append(c.Strategies, y)
	}
	c.AfterTicks, c.RefusalTicks = axis.Times(most, 5), axis.Numbers(max(mostRefusals, 1), 5)
	c.Sentence = x.sentence()
	var file []Strategy
	for _, a := range x.Policies {
		file = append(file, a.strategy)
	}
	c.File = GoFile(append(file, shown...))
	if x.Missing > 0 {
		c.Note = fmt.Sprintf("Not finished: %d of %d backoffs.", len(x.Result.Choices), len(x.Result.Choices)+x.Missing)
	} else if x.of.Runs < DefaultChoose().Runs {
		c.Note = "Not finished: one run of each."
	}
	return c
}

// sentence returns whether there are recommended policies.
func (x *Choices) sentence() string {
	clients := fmt.Sprintf("For %s in %s and a capacity of %s per second ",
		count(x.of.Clients, "client", "clients"), count(x.of.Processes, "process", "processes"), grouped(int64(x.of.Capacity)))
	switch {
	case x.Result.Recommended < 0 && x.Missing > 0:
		return clients + "none of the backoffs that were simulated meets the targets."
	case x.Result.Recommended < 0:
		return clients + "no backoff meets the targets. One may with more capacity, or with other targets."
	}
	return clients + "use the backoff " + quoted(x.Strategies[x.Result.Recommended].Name) + ":"
}
