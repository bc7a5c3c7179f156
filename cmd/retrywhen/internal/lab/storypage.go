package lab

import (
	"context"
	_ "embed"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
)

// storyStyle is in the page with the story, so that other pages do not have it.
//
//go:embed story.css
var storyStyle string

// The policies of the story. Each screen adds something to the one before it.
const (
	noRetry   = "constant d=0s limit=0"
	oneRetry  = "constant d=0s limit=1"
	atOnce    = "constant d=0s limit=3"
	backedOff = "exponential base=100ms factor=2 cap=10s limit=3"
	jittered  = "exponential base=100ms factor=2 cap=10s jitter=full limit=3"
	budgeted  = jittered + " budget=10,1,0.1"
	smaller   = jittered + " budget=1,1,0.1"
)

// storyWatch is how long the story's runs are watched at first.
const (
	storyWatch  = 2 * time.Minute
	budgetWatch = 3 * time.Minute
)

// storyState returns the state of a run of the story.
func storyState(policy string, watch time.Duration) State {
	s := Default()
	s.Strategies, s.Watch = must(policy), watch
	return s
}

// choice is one position of a screen's control.
type choice struct {
	name  string
	state State
}

// screen is a screen of the story: a text, a picture, and one control.
type screen struct {
	title   string
	text    string   // HTML
	asks    string   // the control's label
	choices []choice // the picture shows the one at first
	first   int
	picture *scene
	bound   int    // the bound of the queue that a switch sets; 0 is no switch
	more    string // the label of a button that shows more time, or ""
}

// storyScene computes the runs of a state.
func storyScene(ctx context.Context, s State) (*scene, error) {
	o := s.overload()
	o.Work = 0 // ctx bounds it
	return newScene(ctx, o)
}

// screens returns the screens with a picture. Every figure in their texts is computed.
func screens(ctx context.Context) ([]screen, error) {
	var pictures []*scene
	for _, s := range []State{storyState(atOnce, storyWatch), storyState(jittered, storyWatch), storyState(budgeted, budgetWatch)} {
		p, err := storyScene(ctx, s)
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, p)
	}
	storm, slower := pictures[0], pictures[1]
	d, last := Default(), len(storm.frames.Wasted)-1
	budget := must(budgeted)[0].Policy
	words := map[string]string{}
	for _, w := range budget.Words() {
		words[w.Name] = w.Value
	}
	tokens := strings.Split(words["budget"], ",")
	return []screen{
		{
			title: fmt.Sprintf("A server stands still for %s", axis.Time(d.Stall)),
			text: fmt.Sprintf("It can serve %d requests a second, and %d come. Whoever has waited for %s leaves, and sends the request again. "+
				"This server does not notice who has left, and its queue has no bound. So after three retries %d\u00a0%% of its work is for people who left. "+
				"The stall is over. What keeps the server down are the retries.", d.Rate, d.Load, axis.Time(d.Patience), storm.frames.Wasted[last]),
			asks: "Retries",
			choices: []choice{
				{"0", storyState(noRetry, storyWatch)}, {"1", storyState(oneRetry, storyWatch)}, {"3", storyState(atOnce, storyWatch)},
			}, first: 2, picture: storm, bound: 50, more: "Give it more time",
		},
		{
			title: "Backoff and jitter change nothing",
			text: fmt.Sprintf("They move the retries. They do not make them fewer: still %.1f requests for each operation, and the server has room for %.2f. "+
				"Waves that meet an idle server need jitter; an overloaded server needs fewer requests.", slower.result.Amplification, float64(d.Rate)/float64(d.Load)),
			asks: "Retries",
			choices: []choice{
				{"at once", storyState(atOnce, storyWatch)}, {"backoff", storyState(backedOff, storyWatch)}, {"backoff, jitter", storyState(jittered, storyWatch)},
			}, first: 2, picture: slower,
		},
		{
			title: "A budget ends it",
			text: fmt.Sprintf("A retry costs %s token, a success brings back %s, and there are at most %s. Once they are used up, nobody retries until successes have brought back a token. "+
				"But a budget is one process's, and each process starts with a full one.", tokens[1], tokens[2], tokens[0]),
			asks: "Processes",
			choices: []choice{
				{"1", storyState(budgeted, budgetWatch)}, {"20", storyState(budgeted+" processes=20", budgetWatch)},
				{"200", storyState(budgeted+" processes=200", budgetWatch)}, {"2,000", storyState(budgeted+" processes=2000", budgetWatch)},
			}, picture: pictures[2],
		},
	}, nil
}

// opening returns the HTML of the page's story and map, with the pictures of their first runs. It needs no script.
func opening(ctx context.Context) (string, error) {
	all, err := screens(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<div id="opening" data-query="%s">`+"\n<style>\n%s</style>\n", html.EscapeString(Default().Query().Encode()), storyStyle)
	b.WriteString("<noscript><style>.subjects, .page, .tools, .ask { display: none !important; }</style></noscript>\n")
	b.WriteString(`<p class="elsewhere"><a id="to-story" href="./">The story of a stall, and the map</a></p>` + "\n")
	for i, s := range all {
		s.html(&b, i)
	}
	if err := saves(ctx, &b); err != nil {
		return "", err
	}
	if err := mapHTML(ctx, &b); err != nil {
		return "", err
	}
	b.WriteString("</div>\n")
	return b.String(), nil
}

// html writes the screen.
func (s *screen) html(b *strings.Builder, n int) {
	at := s.choices[s.first].state
	fmt.Fprintf(b, `<section class="screen" aria-labelledby="screen-%d"><div class="words"><h2 id="screen-%d">%s</h2><p>%s</p>`, n, n, s.title, s.text)
	if s.asks != "" {
		fmt.Fprintf(b, `<fieldset class="ask"><legend>%s</legend>`, s.asks)
		for i, c := range s.choices {
			checked := ""
			if i == s.first {
				checked = " checked"
			}
			fmt.Fprintf(b, `<label><input type="radio" name="screen-%d" value="%s"%s> %s</label>`, n, html.EscapeString(c.state.Query().Encode()), checked, c.name)
		}
		if s.bound > 0 {
			fmt.Fprintf(b, `<label><input type="checkbox" name="queue" value="%d"> a queue of at most %[1]d</label>`, s.bound)
		}
		b.WriteString("</fieldset>")
	}
	fmt.Fprintf(b, `<p class="ask"><button type="button" class="play">Stall %s</button>`, axis.Time(at.Stall))
	if s.more != "" {
		fmt.Fprintf(b, `<button type="button" class="longer">%s</button>`, s.more)
	}
	b.WriteString("</p></div>")
	fmt.Fprintf(b, `<figure data-query="%s">%s</figure></section>`+"\n", html.EscapeString(at.Query().Encode()), s.picture.HTML())
}

// saves writes the last screen: what saves the server, as a table, and as Go.
func saves(ctx context.Context, b *strings.Builder) error {
	const failures = 0.01
	b.WriteString(`<section class="screen saves" aria-labelledby="screen-saves"><div class="words"><h2 id="screen-saves">What saves you</h2>` +
		`<p>A budget: a small one, if there are many processes. Or a server with a short queue. ` +
		`Without retries the server is safe too, but every failure is an error.</p></div>`)
	fmt.Fprintf(b, `<div class="scroll" tabindex="0" role="region" aria-label="After the stall"><table><thead><tr><th scope="col">callers</th><th scope="col">after the stall</th>`+
		`<th scope="col">errors, if %.0f %% of the<br>requests fail at random</th></tr></thead><tbody>`, 100*failures)
	for _, row := range []struct {
		name, policy string
		queue        int
	}{
		{"no retry", noRetry, 0},
		{"3 retries, backoff, jitter", jittered, 0},
		{"… and a budget of 10", budgeted, 0},
		{"… in each of 200 processes", budgeted + " processes=200", 0},
		{"… a budget of 1 in each of them", smaller + " processes=200", 0},
		{"3 retries, a queue of at most 50", jittered, 50},
	} {
		o := storyState(row.policy, budgetWatch).overload()
		o.Queue, o.Work = row.queue, 0
		stalled, err := newScene(ctx, o)
		if err != nil {
			return err
		}
		o.Trigger.For, o.Failures, o.Runs = 0, failures, 1
		calm, err := newScene(ctx, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, `<tr><th scope="row">%s</th><td class="verdict %s">%s</td><td>%.1f %%</td></tr>`, row.name, stalled.grade, strings.TrimPrefix(stalled.verdict, "It "),
			100*float64(calm.result.GivenUp)/float64(calm.result.Operations))
	}
	fmt.Fprintf(b, `</tbody></table></div><div class="go"><pre tabindex="0" role="group" aria-label="Go"><code>%s</code></pre>`+
		`<p class="ask"><button type="button" class="copy">Copy the Go</button></p></div></section>`+"\n", html.EscapeString(storyGo()))
	return nil
}

// storyGo returns the Go code of the policy that saves the server: three statements.
func storyGo() string {
	s := must(budgeted)[0].Timed(Default().Patience)
	code := gocode.Policy("policy", s.Policy, s.Placement)
	code = strings.Replace(strings.TrimPrefix(code, "var "), " = ", " := ", 1)
	return strings.Replace(code, ", retry.", ",\n\tretry.", 1) + "\nv, err := retry.Do(ctx, policy, call)"
}
