package lab

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// figures returns the figures of a run of the story, as its picture has them.
func figures(t *testing.T, policy string, watch time.Duration) (s *scene, wasted int64) {
	t.Helper()
	s, err := storyScene(t.Context(), storyState(policy, watch))
	noError(t, err)
	return s, s.frames.Wasted[len(s.frames.Wasted)-1]
}

// The story's claims are what the simulation computes.
func TestStoryIsTrue(t *testing.T) {
	for _, test := range []struct {
		policy string
		watch  time.Duration
		well   bool
	}{
		{noRetry, 45 * time.Second, true},
		{jittered, storyWatch, false},
		{jittered, 20 * time.Minute, false},
		{budgeted, storyWatch, true},
		{budgeted + " processes=20", storyWatch, true},
		{budgeted + " processes=200", storyWatch, false},
		{smaller + " processes=200", storyWatch, true},
	} {
		s, wasted := figures(t, test.policy, test.watch)
		if (s.grade == report.Well) != test.well {
			t.Errorf("%s: %s within %v", test.policy, s.verdict, test.watch)
		}
		var vain, all int64 // since the stall's end
		for i := int(15 * time.Second / sceneBin); i < len(s.result.Flow.Wasted); i++ {
			vain, all = vain+s.result.Flow.Wasted[i], all+s.result.Flow.Wasted[i]+s.result.Flow.Succeeded[i]
		}
		if share := float64(vain) / float64(all); math.Abs(float64(wasted)-100*share) > 1 {
			t.Errorf("%s: the picture says %d %% of the work is in vain, the result %.3f", test.policy, wasted, share)
		}
		if never := strings.HasPrefix(s.verdict, "It never recovers: every request"); never && wasted != 100 || s.grade == report.Bad && !never || never && s.runs != "10 of 10 runs, each watched for 5 minutes" {
			t.Errorf("%s: %d %% of the work is in vain, and it says: %s, %s", test.policy, wasted, s.verdict, s.runs)
		}
	}
}

// Each request is in the frames once: it arrives, and is served, or in vain, or still in the queue.
func TestSceneCountsEachRequestOnce(t *testing.T) {
	for _, policy := range []string{noRetry, jittered, budgeted} {
		s, _ := figures(t, policy, storyWatch)
		sum := func(counts []int64) (n int64) {
			for _, c := range counts {
				n += c
			}
			return n
		}
		f, last := s.frames, len(s.frames.Left)-1
		if offered := sum(f.Arrived) + sum(f.Back); offered != s.result.Offered {
			t.Errorf("%s: %d requests in the frames, the run has %d", policy, offered, s.result.Offered)
		}
		// The queue's is its longest in the last step, and one more request may be in the server.
		rest := s.result.Offered - sum(f.Served) - sum(f.Vain)
		if queue := f.Waiting[last] + f.Left[last]; queue < rest-1 || queue > rest+int64(f.Room*4.2) {
			t.Errorf("%s: %d requests are in the queue, want about %d", policy, queue, rest)
		}
	}
}

// In a stall without retries the callers of the last second wait, and all before them have left.
func TestSceneTellsWhoHasLeft(t *testing.T) {
	s, _ := figures(t, noRetry, 45*time.Second)
	f := s.frames
	perSecond := int(1 / f.Step)
	end := int(f.To / f.Step) // the first frame after the stall
	var second, all int64
	for i := int(f.From / f.Step); i < end; i++ {
		all += f.Arrived[i]
		if i >= end-perSecond {
			second += f.Arrived[i]
		}
	}
	if waiting, left := f.Waiting[end-1], f.Left[end-1]; waiting != second || left < all-second-1 || left > all-second+5 {
		t.Errorf("at the end of the stall %d callers wait and %d have left; %d came in its last second, %d before", waiting, left, second, all-second)
	}
	if n := len(f.Left); f.Left[n-1] != 0 || f.Waiting[n-1] > 20 {
		t.Errorf("at the end %d wait and %d have left", f.Waiting[n-1], f.Left[n-1])
	}
}

// A picture shows the last frame: the dots of the queue, how much of the server's time is of use, and the ways.
func TestPictureShowsTheEnd(t *testing.T) {
	for _, policy := range []string{noRetry, jittered} {
		s, _ := figures(t, policy, storyWatch)
		f, last, picture := s.frames, len(s.frames.Left)-1, s.HTML()
		find := func(pattern string) string {
			t.Helper()
			m := regexp.MustCompile(pattern).FindStringSubmatch(picture)
			if m == nil {
				t.Fatalf("the picture has no %s", pattern)
			}
			return m[1]
		}
		for of, want := range map[string]string{
			"queue": depth(f.Waiting[last]+f.Left[last], s.rate), "wasted": fmt.Sprintf("%d %%", f.Wasted[last]),
		} {
			if got := find(`data-of="` + of + `"[^>]*>([^<]*)<`); got != want {
				t.Errorf("%s: %s is %s, want %s", policy, of, got, want)
			}
		}
		dots := func(class string) int64 {
			return int64(strings.Count(find(`<path class="`+class+`" d="([^"]*)"`), "M"))
		}
		most := int64(slotRows * slotColumns)
		left := min(f.Left[last], most)
		if got := dots("left"); got != left {
			t.Errorf("%s: %d dots of those who have left, want %d", policy, got, left)
		}
		if got, want := dots("waiting"), min(f.Left[last]+f.Waiting[last], most)-left; got != want {
			t.Errorf("%s: %d dots of those who wait, want %d", policy, got, want)
		}
		for class, n := range map[string]int64{"server": int64(f.Room), "vain": f.Vain[last] + f.Served[last], "served": f.Served[last]} {
			if got, want := find(`<rect class="`+class+`"[^>]*scaleY\(([\d.]+)\)`), fmt.Sprintf("%.2f", min(float64(n)/f.Room, 1)); got != want {
				t.Errorf("%s: %s fills %s of the server, want %s", policy, class, got, want)
			}
		}
		for class, n := range map[string]int64{"arrived": f.Arrived[last], "back": f.Back[last], "served": f.Served[last], "vain": f.Vain[last]} {
			if idle := strings.Contains(picture, `"lane `+class+` idle"`); idle != (n == 0) {
				t.Errorf("%s: %d requests on the way %q, which is idle: %v", policy, n, class, idle)
			}
		}
		// The highest point of the requests over time is the highest rate of a second.
		highest := float64(plotBottom)
		for _, m := range regexp.MustCompile(`V([\d.]+)`).FindAllStringSubmatch(find(`<path class="offered" d="([^"]*)"`), -1) {
			y, err := strconv.ParseFloat(m[1], 64)
			noError(t, err)
			highest = min(highest, y)
		}
		var peak int64
		for i := 0; i+1 < len(f.Arrived); i += 2 { // two frames are a second
			peak = max(peak, f.Arrived[i]+f.Back[i]+f.Arrived[i+1]+f.Back[i+1])
		}
		if want := plotBottom - float64(plotBottom-plotTop)*float64(peak)/(plotMost*s.rate); math.Abs(highest-want) > 0.1 {
			t.Errorf("%s: the highest point is at %v, want %v for %d per second", policy, highest, want, peak)
		}
	}
}

// The depth of the queue is in words.
func TestDepth(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 99: "99", 100: "100, a wait of 1s", 24243: "24,243, a wait of 4m2s"} {
		if got := depth(n, 100); got != want {
			t.Errorf("%d requests: %q, want %q", n, got, want)
		}
	}
}

// The page needs no script for its beginning: the scene and its text, what saves the server, and the map.
func TestStoryNeedsNoScript(t *testing.T) {
	page, err := whole()
	noError(t, err)
	_, first, _ := strings.Cut(page, `<div id="opening"`)
	first, _, _ = strings.Cut(first, `<main id="charts"`)
	if n := len(regexp.MustCompile(`class="[^"]*screen`).FindAllString(first, -1)); n != 3 {
		t.Errorf("%d screens, want 3", n)
	}
	pictures := regexp.MustCompile(`(?s)<svg class="scene".*?</svg>`).FindAllString(first, -1)
	if len(pictures) != 2 {
		t.Errorf("%d pictures, want 2", len(pictures))
	}
	for _, p := range pictures {
		if err := xml.NewDecoder(strings.NewReader(p)).Decode(new(struct{ XMLName xml.Name })); err != nil {
			t.Errorf("a picture is no XML: %v", err)
		}
		if strings.Contains(p, "NaN") || strings.Contains(p, "Inf") {
			t.Errorf("a picture has a number that is none: %.300s", p)
		}
	}
	if n := strings.Count(first, `<g class="cells `); n != len(mapPolicies()) {
		t.Errorf("the map has the cells of %d policies, want %d", n, len(mapPolicies()))
	}
	_, wasted := figures(t, jittered, storyWatch)
	if want := fmt.Sprintf("Since the stall %d\u00a0%% of its work is for nobody", wasted); !strings.Contains(first, want) {
		t.Errorf("the story does not say %q", want)
	}
	if all := regexp.MustCompile(`<td class="verdict (well">Back a[^<]*, in 10|bad">Never recovers, in 10|late">Back only after more than a minute, in 10|bad">Back after [^<]* [0-9]) of 10 runs[^<]*</td>`).FindAllString(first, -1); len(all) != 6 {
		t.Errorf("the table of what saves the server has the verdicts %q, want 6", all)
	}
	if _, wrong, ok := strings.Cut(first, "%!"); ok {
		t.Errorf("the story has a text without its value: %%!%.100s", wrong)
	}
	if len(first) > 200_000 {
		t.Errorf("the story has %d bytes", len(first))
	}
}

// ends is a context that ends at a look at it. Simulations look on several goroutines.
type ends struct {
	context.Context
	at    int64
	looks atomic.Int64
}

func (e *ends) Err() error {
	if e.looks.Add(1) > e.at {
		return context.Canceled
	}
	return nil
}

// A beginning that is stopped anywhere ends at once, and has no page, not a part of one.
func TestStoryIsStopped(t *testing.T) {
	for name, part := range map[string]func(context.Context) error{
		"saves": func(ctx context.Context) error { return saves(ctx, new(strings.Builder)) },
		"map":   func(ctx context.Context) error { return mapHTML(ctx, new(strings.Builder)) },
		"opening": func(ctx context.Context) error {
			text, err := opening(ctx)
			if text != "" {
				t.Errorf("%d bytes of a page", len(text))
			}
			return err
		},
	} {
		all := &ends{Context: context.Background(), at: math.MaxInt64}
		if name == "opening" {
			all.looks.Store(500) // of thousands
		} else if err := part(all); err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{0, all.looks.Load() / 2} {
			e := &ends{Context: context.Background(), at: at}
			if err, later := part(e), e.looks.Load()-e.at; !errors.Is(err, context.Canceled) || later > 8 { // the runs of a scene look so often
				t.Errorf("%s is stopped at look %d of %d: %v, then %d more looks", name, at, all.looks.Load(), err, later)
			}
		}
	}
}

// Every color of the story's style is in it, or in the page's.
func TestStoryHasItsColors(t *testing.T) {
	page, err := fs.ReadFile(assets(), "app.css")
	noError(t, err)
	for _, use := range regexp.MustCompile(`var\((--[\w-]+)\)`).FindAllStringSubmatch(storyStyle, -1) {
		if name := use[1] + ":"; !strings.Contains(storyStyle, name) && !strings.Contains(string(page), name) {
			t.Errorf("%s has no value", use[1])
		}
	}
}

// The lines of Go in the story compile.
func TestStoryGoCompiles(t *testing.T) {
	if n := strings.Count(storyGo(), "\n") + 1; n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
	var program bytes.Buffer
	program.WriteString("package main\n\nimport (\n\t\"context\"\n\t\"time\"\n\n")
	for _, name := range []string{"backoff", "jitter", "retry"} {
		fmt.Fprintf(&program, "\t\"github.com/retrywhen/retrywhen/%s\"\n", name)
	}
	fmt.Fprintf(&program, ")\n\nfunc main() {\n\tctx, call := context.Background(), func(context.Context) (int, error) { return 1, nil }\n\t%s\n\tprintln(v, err)\n}\n", storyGo())
	onDisk(t, program.Bytes(), "vet")
}

// The server is healthy until the visitor stalls it. Controls and text switch the scene. Reduced motion shows the ends.
func browserOpening(t *testing.T, ctx context.Context, address string) {
	for _, motion := range []string{"no-preference", "reduce"} {
		p := open(t, ctx, address, 1440, 900)
		p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: motion}}))
		// The test says what time a frame has.
		p.run(chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(`
				let id = 0;
				window.frame = null;
				window.requestAnimationFrame = (f) => ((window.frame = f), ++id);
				window.cancelAnimationFrame = (n) => { if (n === id) window.frame = null; };
			`).Do(ctx)
			return err
		}))
		p.visit("")
		state := func() string {
			t.Helper()
			return p.text(`(() => {
				const f = document.querySelector(".story figure"), v = f.querySelector(".verdict");
				return [f.dataset.at, f.querySelector(".scene").classList.contains("stalled"), getComputedStyle(v).visibility === "visible" ? v.firstChild.textContent.trim() : ""].join("|");
			})()`)
		}
		check := func(when, want string) {
			t.Helper()
			if got := state(); got != want {
				t.Errorf("%s, %s: the scene is %q, want %q", motion, when, got, want)
			}
		}
		click := func(selector string) {
			t.Helper()
			p.eval(fmt.Sprintf(`document.querySelector(".story").querySelector(%q).click()`, selector), nil)
		}
		film := func() { // to its end
			t.Helper()
			if motion == "no-preference" {
				p.eval(`frame(1000)`, nil)
				p.eval(`frame(100_000)`, nil)
			}
		}
		const never = "It never recovers: every request it works on belongs to someone who left"
		check("at first", "healthy|false|")
		click(".play")
		if motion == "no-preference" {
			p.eval(`frame(1000)`, nil)
			for at, want := range map[int]string{1000: "stalled|true|", 2600: "stalled|false|"} {
				p.eval(fmt.Sprintf(`frame(1000 + %d)`, at), nil)
				check(fmt.Sprint(at, " ms after it was stalled"), want)
			}
		}
		film()
		check("at the end", "ended|false|"+never)
		click("[name=budget]")
		film()
		check("with a budget", "ended|false|Back after 16s")
		click("[name=budget]")
		click("[name=queue]")
		film()
		check("with a short queue", "ended|false|Back at once")
		click("[name=queue]")
		click("[name=retries][value='0']")
		film()
		check("without retries", "ended|false|Back after 16s")
		// The text leads the scene.
		p.eval(`document.querySelectorAll(".steps > section")[3].scrollIntoView({block: "center", behavior: "instant"})`, nil)
		p.run(chromedp.Poll(`document.querySelector(".story [name=budget]").checked && document.querySelector(".story [name=retries]:checked").value === "3"`, nil, chromedp.WithPollingInterval(20*time.Millisecond), patience))
		p.clean()
	}
	// A link to a run leads to it.
	p := open(t, ctx, address, 1440, 900)
	p.visit(small(TabOutage))
	if got := p.text(`[...document.getElementById("opening").querySelectorAll(":scope > :is(p, section, div)")].filter((e) => e.checkVisibility()).map((e) => e.className).join()`); got != "elsewhere" {
		t.Errorf("above a run that a link leads to are %q, want a link to the story", got)
	}
	p.clean()
}

// On a telephone the picture comes first, then its button, then the text.
func browserPhone(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 420, 900)
	p.visit("")
	if got := p.text(`["svg.scene", ".play", ".steps h2"].map((s) => [s, document.querySelector(".story").querySelector(s).getBoundingClientRect().top]).sort((a, b) => a[1] - b[1]).map((x) => x[0]).join()`); got != "svg.scene,.play,.steps h2" {
		t.Errorf("from the top: %s", got)
	}
	p.clean()
}
