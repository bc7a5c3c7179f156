package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/sim"
)

// Choose holds the numbers of the charts that compare policies.
type Choose struct {
	Sentence     string           `json:"sentence"`
	Outages      []string         `json:"outages"`
	Best         Seconds          `json:"best"` // when all could be served, after the server's return
	AfterTicks   []axis.Tick      `json:"afterTicks"`
	RefusalTicks []axis.Tick      `json:"refusalTicks"`
	Strategies   []ChooseStrategy `json:"strategies"`
	Compare      string           `json:"compare"` // the query of the page that compares the policies in an outage
}

// ChooseStrategy is one of the policies. Its lists have an entry for each outage.
type ChooseStrategy struct {
	Title       string    `json:"title"`
	Text        string    `json:"text"`
	Formula     string    `json:"formula"`
	Go          string    `json:"go"`
	Meets       bool      `json:"meets"` // whether it meets the targets
	Recommended bool      `json:"recommended"`
	After       []Seconds `json:"after"`    // when all are served, after the server's return: the median
	Never       []bool    `json:"never"`    // whether some clients are never served
	Refusals    []float64 `json:"refusals"` // per client, after the server's return
	Figures     []Figure  `json:"figures"`
}

const (
	chooseRuns = 5
	maxOutages = 6
	maxOutage  = 10 * time.Minute
)

// ComputeChoose compares the policies for the state's number of clients and capacity. It fails when ctx ends.
func ComputeChoose(ctx context.Context, s State) (*Choose, error) {
	r, err := sim.Choose{
		Clients: s.Affected, Capacity: s.Capacity, Outages: s.Outages, Served: s.Served, Wait: s.Wait, Runs: chooseRuns, Seed: s.Seed,
		Progress: yield("choose"),
	}.Run(ctx)
	if err != nil {
		return nil, err
	}
	c := &Choose{Strategies: make([]ChooseStrategy, len(r.Choices))}
	for _, d := range s.Outages {
		c.Outages = append(c.Outages, axis.Time(d))
	}
	outage := s
	outage.Tab, outage.Strategies, outage.Down = TabOutage, nil, slices.Max(s.Outages)
	var most time.Duration
	var mostRefusals float64
	for i, x := range r.Choices {
		strategy := model.Strategy{Name: x.Name, Policy: x.Policy, Placement: x.Placement}
		outage.Strategies = append(outage.Strategies, strategy)
		y := &c.Strategies[i]
		*y = ChooseStrategy{
			Title: x.Name, Text: x.Policy.String(), Formula: InWords(strategy), Go: s.goLine(strategy),
			Meets: x.Meets, Recommended: i == r.Recommended,
		}
		for _, o := range x.Outages {
			refusals := o.Refusals.Mean / float64(s.Affected)
			y.After, y.Never, y.Refusals = append(y.After, Seconds(o.After.P50)), append(y.Never, o.Unserved > 0), append(y.Refusals, refusals)
			most, mostRefusals = max(most, o.After.P50), max(mostRefusals, refusals)
			c.Best = Seconds(o.Best)
		}
		y.Figures = []Figure{
			{"first wait", axis.Time(x.FirstWait.P50), x.FirstWait.P50.Seconds(), "the median for an operation that fails once, alone"},
			{"99th percentile", axis.Time(x.FirstWait.P99), x.FirstWait.P99.Seconds(), "of the first wait"},
			{"refusals", axis.Number(x.Refusals), x.Refusals, "per client after the server's return, all outages together"},
		}
	}
	c.AfterTicks, c.RefusalTicks = axis.Times(most, 5), axis.Numbers(max(mostRefusals, 1), 5)
	c.Compare = outage.Query().Encode()
	c.sentence(s, r)
	return c, nil
}

// sentence sets the sentence about the recommended policy and its costs.
func (c *Choose) sentence(s State, r *sim.Choices) {
	clients := fmt.Sprintf("For %s and a capacity of %s per second ", count(s.Affected, "client", "clients"), grouped(int64(s.Capacity)))
	if r.Recommended < 0 {
		c.Sentence = clients + "no policy meets the targets. One may with more capacity."
		return
	}
	x := c.Strategies[r.Recommended]
	refused := "refuses no client"
	if v := x.Figures[2].Value; v >= 0.05 {
		refused = "refuses each client " + axis.Number(v) + " times on average, all outages together"
	}
	c.Sentence = fmt.Sprintf("%suse %s: %s. With it the server %s after its return. An operation that fails alone waits for %s.", clients, quoted(x.Title), x.Text, refused, x.Figures[0].Text)
}

// durations is a parameter with a list of durations.
func durations(name string, of func(*State) *[]time.Duration, most int, longest time.Duration) field {
	return field{
		name,
		func(s *State, text string) bool {
			var list []time.Duration
			for part := range strings.SplitSeq(text, ",") {
				d, err := time.ParseDuration(strings.TrimSpace(part))
				if err != nil || d < 0 || d > longest {
					return false
				}
				list = append(list, d)
			}
			*of(s) = list
			return len(list) <= most
		},
		func(s *State) string {
			var list []string
			for _, d := range *of(s) {
				list = append(list, axis.Time(d))
			}
			return strings.Join(list, ",")
		},
		fmt.Sprintf("one to %d durations up to %s, as in 2s,1m", most, axis.Time(longest)),
	}
}
