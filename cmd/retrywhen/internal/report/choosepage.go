package report

import (
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
)

// choosePage holds the numbers of the chart that compares policies.
type choosePage struct {
	Sentence   string               `json:"sentence"`
	Policies   []choosePolicy       `json:"policies"`
	Note       string               `json:"note,omitempty"` // what is missing
	Outages    []string             `json:"outages"`
	File       string               `json:"file"`  // Go code of all strategies
	Axis       Axis                 `json:"axis"`  // of the time until all are served
	Ticks      []axis.Tick          `json:"ticks"` // of the refusals
	Strategies []choosePageStrategy `json:"strategies"`
}

// choosePolicy is a recommended policy.
type choosePolicy struct {
	advice
	Title    string `json:"title"`
	Sentence string `json:"sentence"`
}

// choosePageStrategy is one of the policies.
type choosePageStrategy struct {
	Title       string  `json:"title"`
	Text        string  `json:"text"`
	Formula     string  `json:"formula"`
	Go          string  `json:"go"`
	Meets       bool    `json:"meets"` // whether it meets the targets
	Recommended bool    `json:"recommended"`
	Never       bool    `json:"never"`    // whether some clients are never served
	End         Seconds `json:"end"`      // when all are served, after the server's return
	Refusals    float64 `json:"refusals"` // per client, after the server's return
	Figures     []Term  `json:"figures"`
}

// Page returns the numbers of the chart.
func (x *Choices) Page() any {
	c := &choosePage{Strategies: []choosePageStrategy{}, Outages: []string{}, Sentence: x.summary()}
	for i := range x.Policies {
		a := &x.Policies[i]
		c.Policies = append(c.Policies, choosePolicy{advice: *a, Title: a.title(), Sentence: x.sentence(a)})
	}
	for _, d := range x.of.Outages {
		c.Outages = append(c.Outages, axis.Time(d))
	}
	var most time.Duration
	var mostRefusals float64
	for i, s := range x.Strategies {
		r := &x.Result.Choices[i]
		together, random := served(r)
		most, mostRefusals = max(most, r.End), max(mostRefusals, r.Refusals)
		c.Strategies = append(c.Strategies, choosePageStrategy{
			Title: r.Name, Text: s.Policy.String(), Formula: InWords(s), Go: gocode.Policy("policy", s.Policy, s.Placement),
			Meets: r.Meets, Recommended: i == x.Result.Recommended, Never: together == "never", End: Seconds(r.End), Refusals: r.Refusals,
			Figures: []Term{
				{"first wait", axis.Time(r.FirstWait.P50), r.FirstWait.P50.Seconds(), "the median for an operation that fails once, alone"},
				{"attempts", attempts(r), r.Attempts.Mean, "per client in an outage of an hour"},
				{"refusals", axis.Number(r.Refusals), r.Refusals, "per client after the server's return, all outages together"},
				{"served", together, r.End.Seconds(), "the time from the server's return until all are served: the worst outage"},
				{"random: refusals", axis.Number(r.Random.Refusals), r.Random.Refusals, "the same if the clients come at random times during the outage"},
				{"random: served", random, r.Random.End.Seconds(), "the same if the clients come at random times during the outage"},
			},
		})
	}
	c.Axis, c.Ticks = newAxis(most+most/20), axis.Numbers(max(mostRefusals, 1), 5)
	var file []Strategy
	for _, a := range x.Policies {
		file = append(file, a.strategy)
	}
	c.File = GoFile(append(file, x.Strategies...))
	if x.Missing > 0 {
		c.Note = fmt.Sprintf("Not finished: %d of %d backoffs.", len(x.Result.Choices), len(x.Result.Choices)+x.Missing)
	} else if x.of.Runs < DefaultChoose().Runs {
		c.Note = "Not finished: one run of each."
	}
	return c
}

// summary returns whether there are recommended policies.
func (x *Choices) summary() string {
	if x.Result.Recommended < 0 {
		return x.none()
	}
	return fmt.Sprintf("For %s in %s and a capacity of %s per second use the backoff %s:", count(x.of.Clients, "client", "clients"),
		count(x.of.Processes, "process", "processes"), Grouped(int64(x.of.Capacity)), quoted(x.Strategies[x.Result.Recommended].Name))
}
