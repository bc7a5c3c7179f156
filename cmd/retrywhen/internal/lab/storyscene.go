package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

// scene is the median run of an overload as a picture that the page's script can play: callers, a queue and a server,
// and under them the requests over time. The picture shows the end of the run.
type scene struct {
	title   string
	load    float64
	verdict string // in words
	runs    string // of how many it is
	grade   report.Grade
	result  *sim.OverloadResult
	trigger sim.Trigger
	rate    float64 // the server's capacity per second
	frames  frames
}

// frames are the states of a scene at evenly spaced times. Counts are those of the time since the frame before.
type frames struct {
	Step    float64 `json:"step"` // in seconds
	From    float64 `json:"from"` // of the stall
	To      float64 `json:"to"`
	Room    float64 `json:"room"`    // the requests that the server can serve in a step
	Rate    float64 `json:"rate"`    // the requests that it can serve in a second
	Arrived []int64 `json:"arrived"` // operations
	Back    []int64 `json:"back"`    // retries
	Served  []int64 `json:"served"`  // requests whose callers waited
	Vain    []int64 `json:"vain"`    // requests whose callers had left
	Waiting []int64 `json:"waiting"` // the requests in the queue whose callers wait
	Left    []int64 `json:"left"`    // the requests in the queue whose callers have left
	Wasted  []int64 `json:"wasted"`  // the share of the server's work since the stall's end that was for callers that had left, in percent
}

// pictured is a scene in the page's JSON.
type pictured struct {
	HTML    string `json:"html"`
	Verdict string `json:"verdict"`
}

func (s *scene) pictured() pictured { return pictured{s.HTML(), s.verdict} }

const (
	sceneBin   = 250 * time.Millisecond
	sceneSteps = 240 // frames, at most
)

// newScene computes the first strategy of the overload. The verdict is of all runs.
func newScene(ctx context.Context, o report.Overload) (*scene, error) {
	o.Bin = sceneBin
	o.Strategies = o.Strategies[:1]
	r, err := o.Run(ctx)
	if err != nil {
		return nil, err
	}
	x := r.Strategies[0]
	if x.Err != nil {
		return nil, x.Err
	}
	s := &scene{
		title: x.Name, load: o.Load, grade: x.Grade(), result: x.Result, trigger: o.Trigger,
		rate: 1 / o.Service.Mean.Seconds(),
	}
	s.frames = s.cut()
	s.judge(x.Runs)
	return s, nil
}

// judge says in words what became of the server.
func (s *scene) judge(p *sim.BoundaryPoint) {
	after := axis.Time(p.After.P50)
	s.runs = fmt.Sprintf("in %d of %d runs", p.Recovered, p.Runs)
	switch last := len(s.frames.Wasted) - 1; {
	case p.Unhealthy == p.Runs:
		s.verdict, s.runs = "It was down before the stall", fmt.Sprintf("in %d of %d runs", p.Unhealthy, p.Runs)
	case p.Recovered == p.Runs && p.After.P50 == 0:
		s.verdict = "Back at once"
	case p.Recovered > 0:
		s.verdict = "Back after " + after
	case p.Late > 0:
		s.verdict, s.runs = "Back only after more than a minute", fmt.Sprintf("in %d of %d runs", p.Late, p.Runs)
	case last >= 0 && s.frames.Wasted[last] == 100:
		s.verdict, s.runs = "It never recovers: every request it works on belongs to someone who left", fmt.Sprintf("%d of %[1]d runs, each watched for 5 minutes", p.Runs)
	default:
		s.verdict, s.runs = "It never recovers", fmt.Sprintf("%d of %[1]d runs, each watched for 5 minutes", p.Runs)
	}
}

// cut returns the frames of the run.
func (s *scene) cut() frames {
	flow := s.result.Flow
	n := len(flow.Offered)
	every := (n-1)/sceneSteps + 1
	f := frames{From: s.trigger.At.Seconds(), To: (s.trigger.At + s.trigger.For).Seconds(), Rate: s.rate, Step: (sceneBin * time.Duration(every)).Seconds()}
	f.Room = s.rate * f.Step
	// A caller leaves when its attempt times out, and the queue is in the order of arrival: the requests of the last
	// second are those whose callers wait.
	patience := max(int(s.result.HealthyWithin/sceneBin), 1)
	var arrived, back, served, vain, work, lost int64
	for i := range n {
		arrived += flow.Arrived[i]
		back += flow.Offered[i] - flow.Arrived[i]
		served += flow.Succeeded[i]
		vain += flow.Wasted[i]
		if (i+1)%every != 0 {
			continue // a last step that is cut off is left out
		}
		if float64(i)*sceneBin.Seconds() >= f.To {
			work, lost = work+served+vain, lost+vain
		}
		var recent int64
		for _, offered := range flow.Offered[max(0, i+1-patience) : i+1] {
			recent += offered
		}
		waiting := min(flow.Queue[i], recent)
		f.Arrived, f.Back, f.Served, f.Vain = append(f.Arrived, arrived), append(f.Back, back), append(f.Served, served), append(f.Vain, vain)
		f.Waiting, f.Left = append(f.Waiting, waiting), append(f.Left, flow.Queue[i]-waiting)
		f.Wasted = append(f.Wasted, int64(math.Round(100*float64(lost)/float64(max(work, 1)))))
		arrived, back, served, vain = 0, 0, 0, 0
	}
	return f
}

// end returns the end of the last frame.
func (f *frames) end() time.Duration {
	return time.Duration(float64(len(f.Served)) * f.Step * float64(time.Second))
}

// The picture's measures, in units of which 480 are its width.
const (
	sceneWidth, sceneHeight = 480, 330
	slotRows, slotColumns   = 6, 5 // of the requests nearest the server
	slotSize                = 20
	queueRight, queueTop    = 348, 42
	queueBottom             = queueTop + slotRows*slotSize
	serverLeft, serverWidth = 362, 38
	plotLeft, plotRight     = 44, 470
	plotTop, plotBottom     = 212, 296
	plotMost                = 4.2 // times the capacity
)

// HTML returns the picture with its figures and its verdict.
func (s *scene) HTML() string {
	data, err := json.Marshal(s.frames)
	if err != nil {
		panic(err) // numbers can be encoded
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="scene" viewBox="0 0 %d %d" role="img" aria-label="%s" data-frames="%s">`, sceneWidth, sceneHeight, html.EscapeString(s.label()), html.EscapeString(string(data)))
	s.stage(&b)
	s.plot(&b)
	b.WriteString("</svg>")
	fmt.Fprintf(&b, `<p class="verdict %s">%s <small>%s</small></p>`, s.grade, html.EscapeString(s.verdict), s.runs)
	return b.String()
}

// label describes the picture in words.
func (s *scene) label() string {
	f, last := &s.frames, len(s.frames.Left)-1
	return fmt.Sprintf("%s, %s operations per second, a stall of %s: %s. At the end %d requests are in the queue; the callers of %d of them have left.",
		s.title, axis.Number(s.load), axis.Time(s.trigger.For), s.verdict, f.Waiting[last]+f.Left[last], f.Left[last])
}

// stage draws the callers' ways, the queue and the server at the end of the run.
func (s *scene) stage(b *strings.Builder) {
	f, last := &s.frames, len(s.frames.Left)-1
	const middle = (queueTop + queueBottom) / 2
	queueLeft := queueRight - slotColumns*slotSize
	lane := func(name, path string, counts []int64) {
		dashes := "none" // and invisible
		if counts[last] > 0 {
			dashes = fmt.Sprintf("0 %.0f", min(max(8*f.Room/float64(counts[last]), 8), 60)) // a full server's are 8 apart
		} else {
			name += " idle"
		}
		fmt.Fprintf(b, `<path class="lane %s" d="%s" stroke-dasharray="%s"/>`, name, path, dashes)
	}
	lane("arrived", fmt.Sprintf("M4 %dH%d", middle, queueLeft-4), f.Arrived)
	lane("back", fmt.Sprintf("M%d %dC%d 2 %d 2 30 50L30 %d", queueRight-40, queueTop-4, queueRight-90, 60, middle-22), f.Back)
	lane("served", fmt.Sprintf("M%d %dH%d", serverLeft+serverWidth+4, queueTop+24, sceneWidth-4), f.Served)
	lane("vain", fmt.Sprintf("M%d %dH%d", serverLeft+serverWidth+4, queueBottom-24, sceneWidth-4), f.Vain)
	// The queue: the oldest requests are next to the server.
	left := min(int(f.Left[last]), slotRows*slotColumns)
	both := min(int(f.Waiting[last]+f.Left[last]), slotRows*slotColumns)
	fmt.Fprintf(b, `<path class="slots" d="%s"/><path class="left" d="%s"/><path class="waiting" d="%s"/>`, slots(0, slotRows*slotColumns), slots(0, left), slots(left, both))
	scale := func(n int64) float64 { return min(float64(n)/f.Room, 1) }
	box := func(class string, share float64) {
		fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="3" style="transform:scaleY(%.2f)"/>`, class, serverLeft, queueTop-2, serverWidth, slotRows*slotSize+2, share)
	}
	box("server", 1)
	box("vain", scale(f.Served[last]+f.Vain[last]))
	box("served", scale(f.Served[last]))
	text := func(class, anchor string, x, y int, text string) {
		fmt.Fprintf(b, `<text class="%s" text-anchor="%s" x="%d" y="%d">%s</text>`, class, anchor, x, y, text)
	}
	text("", "middle", serverLeft+serverWidth/2, queueBottom+18, "server")
	text("halt", "middle", serverLeft+serverWidth/2, queueTop-12, "stalled")
	text("", "end", queueRight-6, queueBottom+18, `<tspan class="waits">●</tspan> the caller waits <tspan class="gone">●</tspan> has left`)
	fmt.Fprintf(b, `<text class="depth" data-of="queue" text-anchor="end" x="%d" y="%d">%s</text>`, queueLeft-14, queueBottom-30, depth(f.Waiting[last]+f.Left[last], s.rate))
	text("", "end", queueLeft-14, queueBottom-12, "in the queue")
	text("", "end", sceneWidth-2, queueTop+13, "served")
	text("", "end", sceneWidth-2, queueBottom-8, "in vain")
	text("", "start", 2, middle-8, "new")
	text("", "start", 2, 26, `<tspan class="again">●</tspan> again`)
	fmt.Fprintf(b, `<text class="wasted" data-of="wasted" x="%d" y="%d">%d %%</text>`, serverLeft+serverWidth+7, middle-9, f.Wasted[last])
	below := func(words string) string {
		return fmt.Sprintf(`<tspan x="%d" dy="1em">%s</tspan>`, serverLeft+serverWidth+8, words)
	}
	text("small", "start", serverLeft+serverWidth+8, middle-4, below("work for")+below("people")+below("who left"))
}

// depth returns the number of requests in the queue, and how long the last one waits, as the script does while it plays.
func depth(n int64, rate float64) string {
	if float64(n) < rate {
		return report.Grouped(n)
	}
	return fmt.Sprintf("%s, a wait of %s", report.Grouped(n), axis.Time(time.Duration(float64(n)/rate*float64(time.Second)).Round(time.Second)))
}

// slots returns the path of the dots of the queue from one to another.
func slots(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "M%d %dh0", queueRight-slotSize/2-slotSize*(i/slotRows), queueBottom-slotSize/2-slotSize*(i%slotRows))
	}
	return b.String()
}

// plot draws the requests that reach the server and those that are served over time.
func (s *scene) plot(b *strings.Builder) {
	f := &s.frames
	end := f.end().Seconds()
	x := func(t float64) float64 { return plotLeft + (plotRight-plotLeft)*min(t/end, 1) }
	y := func(rate float64) float64 { return plotBottom - (plotBottom-plotTop)*min(rate/(plotMost*s.rate), 1) }
	fmt.Fprintf(b, `<rect class="stall" x="%.1f" y="%d" width="%.1f" height="%d"/>`, x(f.From), plotTop, x(f.To)-x(f.From), plotBottom-plotTop)
	group := max(int(1/f.Step), 1) // a second
	area := func(class string, counts ...[]int64) {
		fmt.Fprintf(b, `<path class="%s" d="M%.1f %d`, class, x(0), plotBottom)
		for i := 0; i < len(counts[0]); i += group {
			sum, to := int64(0), min(i+group, len(counts[0]))
			for _, c := range counts {
				for _, n := range c[i:to] {
					sum += n
				}
			}
			fmt.Fprintf(b, "V%.1fH%.1f", y(float64(sum)/(f.Step*float64(to-i))), x(float64(to)*f.Step))
		}
		fmt.Fprintf(b, `V%dz"/>`, plotBottom)
	}
	b.WriteString(`<g class="flow">`)
	area("offered", f.Arrived, f.Back)
	area("served", f.Served)
	b.WriteString("</g>")
	fmt.Fprintf(b, `<path class="capacity" d="M%d %.1fH%d"/><path class="axis" d="M%d %dH%d"/>`, plotLeft, y(s.rate), plotRight, plotLeft, plotBottom, plotRight)
	for _, t := range axis.Times(f.end(), 4) {
		fmt.Fprintf(b, `<text text-anchor="middle" x="%.1f" y="%d">%s</text>`, x(t.At), plotBottom+18, t.Label)
	}
	for _, rate := range []float64{s.rate, 3 * s.rate} {
		fmt.Fprintf(b, `<text text-anchor="end" x="%d" y="%.1f">%s</text>`, plotLeft-5, y(rate)+5, axis.Number(rate))
	}
	fmt.Fprintf(b, `<text x="2" y="%d">requests per second</text>`, plotTop-8)
	if x(f.To)-x(f.From) > 10 {
		fmt.Fprintf(b, `<text text-anchor="middle" x="%.1f" y="%d">stall</text>`, x((f.From+f.To)/2), plotTop+14)
	}
}
