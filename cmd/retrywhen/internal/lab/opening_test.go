package lab

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
)

// storyStyle is in the page with the story, so that other pages do not have it.
//
//go:embed testdata/story.css
var storyStyle string

// The policies of the story.
const (
	noRetry  = "constant d=0s limit=0"
	jittered = "exponential base=100ms factor=2 cap=10s jitter=full limit=3"
	budgeted = jittered + " budget=10,1,0.1"
	smaller  = jittered + " budget=1,1,0.1"
)

const (
	storyWatch = 2 * time.Minute // how long the story's runs are watched at first
	storyQueue = 50              // the bound of a short queue
)

// setting is what the visitor sets of the story's scene.
type setting struct {
	retries int
	budget  bool
	short   bool // the queue
}

// settings are all that differ: without retries a budget changes nothing.
func settings() []setting {
	var all []setting
	for _, retries := range []int{0, 1, 3} {
		for _, budget := range []bool{false, true} {
			if retries > 0 || !budget {
				all = append(all, setting{retries, budget, false}, setting{retries, budget, true})
			}
		}
	}
	return all
}

// key is the setting's name in the page, as the script makes it of the controls.
func (s setting) key() string {
	key := strconv.Itoa(s.retries)
	if s.budget {
		key += " budget"
	}
	if s.short {
		key += " queue"
	}
	return key
}

// state returns the state of the setting's run.
func (s setting) state() State {
	policy := strings.Replace(jittered, "limit=3", fmt.Sprintf("limit=%d", s.retries), 1)
	if s.budget {
		policy += " budget=10,1,0.1"
	}
	x := storyState(policy, storyWatch)
	if s.short {
		x.Queue = storyQueue
	}
	return x
}

// storyState returns the state of a run of the story.
func storyState(policy string, watch time.Duration) State {
	s := Default()
	s.Strategies, s.Watch = must(policy), watch
	return s
}

// storyScene computes the runs of a state.
func storyScene(ctx context.Context, s State) (*scene, error) {
	o := s.overload()
	o.Work = 0 // ctx bounds it
	return newScene(ctx, o)
}

// step is a part of the story's text, which switches the scene.
type step struct {
	setting
	title, text string
}

// steps returns the text of the story. Every figure in it is computed.
func steps(down *scene) []step {
	d := Default()
	words := map[string]string{}
	for _, w := range must(budgeted)[0].Policy.Words() {
		words[w.Name] = w.Value
	}
	tokens := strings.Split(words["budget"], ",")
	return []step{
		{setting{retries: 3}, "Stall this server", fmt.Sprintf("It can serve %d requests a second, and %d come. Whoever has waited for %s leaves, and sends the request again: "+
			"up to three times, with backoff and jitter. Stall it for %s and see what becomes of it.", d.Rate, d.Load, axis.Time(d.Patience), axis.Time(d.Stall))},
		{setting{retries: 3}, "It works for people who left", fmt.Sprintf("The server does not notice who has left, and its queue has no bound. Since the stall %d\u00a0%% of its work "+
			"is for nobody. What keeps it down are the retries: %.1f requests for each operation, and it has room for %.2f. Longer waits help a little, they do not make them fewer.",
			down.frames.Wasted[len(down.frames.Wasted)-1], down.result.Amplification, float64(d.Rate)/float64(d.Load))},
		{setting{}, "Without retries it comes back", "But then each failure is an error, also those that a second attempt would have mended."},
		{setting{retries: 3, budget: true}, "A budget ends it", fmt.Sprintf("A retry costs %s token, a success brings back %s, and there are at most %s. Once they are used up, nobody retries until "+
			"successes have brought back a token. But a budget is one process's, and each process starts with a full one: where many processes call, take a budget of 1 in each.", tokens[1], tokens[2], tokens[0])},
		{setting{retries: 3, short: true}, "So does a short queue", fmt.Sprintf("If at most %d requests wait, each is served before its caller leaves. Only the server's owner can bound it.", storyQueue)},
	}
}

// opening returns the HTML of the page's story and map, with the pictures of their runs. It needs no script.
func opening(ctx context.Context) (string, error) {
	scenes, first := map[string]pictured{}, setting{retries: 3}
	var down *scene
	for _, s := range settings() {
		p, err := storyScene(ctx, s.state())
		if err != nil {
			return "", err
		}
		if scenes[s.key()] = p.pictured(); s == first {
			down = p
		}
	}
	data, err := json.Marshal(scenes) // Marshal escapes <, so no text ends the script
	if err != nil {
		return "", err
	}
	d := Default()
	var b strings.Builder
	fmt.Fprintf(&b, `<div id="opening" data-query="%s">`+"\n<style>\n%s</style>\n", html.EscapeString(d.Query().Encode()), storyStyle)
	b.WriteString("<noscript><style>.subjects, .page, .tools, .ask { display: none !important; }</style></noscript>\n")
	b.WriteString(`<p class="elsewhere"><a id="to-story" href="./">Stall a server, and the map of loads</a></p>` + "\n")
	fmt.Fprintf(&b, `<script id="scenes" type="application/json">%s</script>`+"\n", data)
	fmt.Fprintf(&b, `<section class="story screen" role="region" aria-label="A server to stall"><div class="stage"><figure>%s<div class="ask"><button type="button" class="play">Stall it for %s</button>`+
		`<fieldset><legend>Retries</legend>`, down.HTML(), axis.Time(d.Stall))
	for _, n := range []int{0, 1, 3} {
		checked := ""
		if n == first.retries {
			checked = " checked"
		}
		fmt.Fprintf(&b, `<label><input type="radio" name="retries" value="%d"%s> %[1]d</label>`, n, checked)
	}
	fmt.Fprintf(&b, `</fieldset><label><input type="checkbox" name="budget"> a budget</label><label><input type="checkbox" name="queue"> a queue of at most %d</label></div></figure></div><div class="steps">`, storyQueue)
	for i, s := range steps(down) {
		fmt.Fprintf(&b, `<section class="words" aria-labelledby="step-%d" data-key="%s"><h2 id="step-%[1]d">%[3]s</h2><p>%[4]s</p></section>`, i, s.key(), s.title, s.text)
	}
	b.WriteString("</div></section>\n")
	if err := saves(ctx, &b); err != nil {
		return "", err
	}
	if err := mapHTML(ctx, &b); err != nil {
		return "", err
	}
	b.WriteString("</div>\n")
	return b.String(), nil
}

// saves writes the last screen: what saves the server, as a table, and as Go.
func saves(ctx context.Context, b *strings.Builder) error {
	const failures = 0.01
	b.WriteString(`<section class="screen saves" aria-labelledby="screen-saves"><div class="words"><h2 id="screen-saves">What saves you</h2>` +
		`<p>A budget: a small one, if there are many processes. Or a server with a short queue. ` +
		`Without retries the server is safe too, but every failure is an error.</p></div>`)
	fmt.Fprintf(b, `<div class="scroll" tabindex="0" role="region" aria-label="After the stall"><table><thead><tr><th scope="col">callers</th><th scope="col">after the stall</th>`+
		`<th scope="col">errors, if %.0f %% of the requests fail at random</th></tr></thead><tbody>`, 100*failures)
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
		o := storyState(row.policy, storyWatch).overload()
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
		verdict, _, _ := strings.Cut(strings.Replace(stalled.verdict, "It never", "Never", 1), ":")
		runs, _, _ := strings.Cut(strings.TrimPrefix(stalled.runs, "in "), ",")
		fmt.Fprintf(b, `<tr><th scope="row">%s</th><td class="verdict %s">%s, in %s</td><td>%.1f %%</td></tr>`, row.name, stalled.grade, verdict, runs,
			100*float64(calm.result.GivenUp)/float64(calm.result.Operations))
	}
	fmt.Fprintf(b, `</tbody></table></div><div class="go"><pre tabindex="0" role="group" aria-label="Go"><code>%s</code></pre>`+
		`<p><code>go get github.com/retrywhen/retrywhen@main</code></p><p class="ask"><button type="button" class="copy">Copy the Go</button></p></div></section>`+"\n", html.EscapeString(storyGo()))
	return nil
}

// storyGo returns the Go code of the policy that saves the server: three statements.
func storyGo() string {
	s := must(budgeted)[0].Timed(Default().Patience)
	code := gocode.Policy("policy", s.Policy, s.Placement)
	code = strings.Replace(strings.TrimPrefix(code, "var "), " = ", " := ", 1)
	return strings.Replace(code, ", retry.", ",\n\tretry.", 1) + "\nv, err := retry.Do(ctx, policy, call)"
}
