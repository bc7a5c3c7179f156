package lab

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

// figures returns the figures of a run of the story, as its picture has them.
func figures(t *testing.T, policy string, watch time.Duration) (s *scene, wasted int64) {
	t.Helper()
	s, err := storyScene(t.Context(), storyState(policy, watch))
	if err != nil {
		t.Fatal(err)
	}
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
		{atOnce, storyWatch, false},
		{atOnce, 20 * time.Minute, false},
		{backedOff, storyWatch, false},
		{jittered, storyWatch, false},
		{budgeted, budgetWatch, true},
		{budgeted + " processes=20", budgetWatch, true},
		{budgeted + " processes=200", budgetWatch, false},
		{smaller + " processes=200", budgetWatch, true},
	} {
		s, wasted := figures(t, test.policy, test.watch)
		if (s.grade == report.Well) != test.well {
			t.Errorf("%s: %s within %v", test.policy, s.verdict, test.watch)
		}
		r := s.result
		if share := float64(r.Wasted) / float64(r.Wasted+r.Served+r.Failed); wasted != int64(100*share+0.5) {
			t.Errorf("%s: the picture says %d %% of the work is in vain, the result %.3f", test.policy, wasted, share)
		}
		if r.Recovery.Verdict == sim.NotRecovered && wasted < 50 {
			t.Errorf("%s: %d %% of the work is in vain, and it does not recover", test.policy, wasted)
		}
	}
}

// Each request is in the frames once: it arrives, and is served, or in vain, or still in the queue.
func TestSceneCountsEachRequestOnce(t *testing.T) {
	for _, policy := range []string{noRetry, atOnce, budgeted} {
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
	for _, policy := range []string{noRetry, atOnce} {
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
			"clock": axis.Time(f.end().Round(time.Second)), "queue": strconv.FormatInt(f.Waiting[last]+f.Left[last], 10), "wasted": fmt.Sprintf("%d %%", f.Wasted[last]),
		} {
			if got := find(`data-of="` + of + `"[^>]*>([^<]*)<`); got != want {
				t.Errorf("%s: %s is %s, want %s", policy, of, got, want)
			}
		}
		dots := func(class string) int64 {
			return int64(strings.Count(find(`<path class="`+class+`" d="([^"]*)"`), "M"))
		}
		most := int64(slotRows * slotColumns)
		left := min((f.Left[last]+dotOf-1)/dotOf, most)
		if got := dots("left"); got != left {
			t.Errorf("%s: %d dots of those who have left, want %d", policy, got, left)
		}
		if got, want := dots("waiting"), min((f.Left[last]+f.Waiting[last]+dotOf-1)/dotOf, most)-left; got != want {
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
			if err != nil {
				t.Fatal(err)
			}
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

// The pictures of a run and of the map are those in testdata; go test -run TestPicturesAreTheSame -update writes them.
func TestPicturesAreTheSame(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may differ in the last digit")
	}
	run, _ := figures(t, budgeted, storyWatch)
	counts, err := parseMap(mapText)
	if err != nil {
		t.Fatal(err)
	}
	var drawn strings.Builder
	drawn.WriteString(run.HTML() + "\n" + run.label() + "\n")
	mapPicture(&drawn, counts, 6, 15)
	got := strings.ReplaceAll(drawn.String(), "><", ">\n<") + "\n"
	file := filepath.Join("testdata", "pictures.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	left, right := strings.Split(got, "\n"), strings.Split(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n")
	if len(left) != len(right) {
		t.Fatalf("%d lines, want %d", len(left), len(right))
	}
	for i := range left {
		if left[i] != right[i] {
			t.Errorf("%s:%d differs: %.300s, want %.300s", file, i+1, left[i], right[i])
		}
	}
}

// The page needs no script for its beginning: four screens and the map, with their pictures.
func TestStoryNeedsNoScript(t *testing.T) {
	page, err := served()
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(page, `<div id="opening"`)
	first, _, _ = strings.Cut(first, `<main id="charts"`)
	if n := strings.Count(first, `class="screen`); n != 5 {
		t.Errorf("%d screens, want 5", n)
	}
	pictures := regexp.MustCompile(`(?s)<svg class="scene".*?</svg>`).FindAllString(first, -1)
	if len(pictures) != 4 {
		t.Errorf("%d pictures, want 4", len(pictures))
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
	_, wasted := figures(t, atOnce, storyWatch)
	if want := fmt.Sprintf("%d\u00a0%% of its work is for people who left", wasted); !strings.Contains(first, want) {
		t.Errorf("the story does not say %q", want)
	}
	if all := regexp.MustCompile(`<td class="verdict (well">recovers in 10|(late|bad)">recovers in [0-9]) of 10 runs[^<]*</td>`).FindAllString(first, -1); len(all) != 6 {
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
		"screens": func(ctx context.Context) error { _, err := screens(ctx); return err },
		"saves":   func(ctx context.Context) error { return saves(ctx, new(strings.Builder)) },
		"map":     func(ctx context.Context) error { return mapHTML(ctx, new(strings.Builder)) },
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
	if err != nil {
		t.Fatal(err)
	}
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

// runs clicks on a control of a screen and returns the verdict of the picture of the query, or why there is none.
func (p *tab) runs(screen int, control, query string) string {
	p.t.Helper()
	section := fmt.Sprintf(`document.querySelectorAll(".screen")[%d]`, screen)
	p.eval(fmt.Sprintf(`%s.querySelector(%q).click()`, section, control), nil)
	p.run(chromedp.Poll(section+`.querySelector("figure:not(.waits)") !== null`, nil, chromedp.WithPollingInterval(20*time.Millisecond), patience))
	if asked := p.text(section + `.querySelector("figure").dataset.query`); !strings.Contains(asked, query) {
		p.t.Errorf("screen %d shows %s, want %s", screen, asked, query)
	}
	return p.verdict(screen)
}

func (p *tab) verdict(screen int) string {
	p.t.Helper()
	return p.text(fmt.Sprintf(`document.querySelectorAll(".screen")[%d].querySelector(".verdict").textContent`, screen))
}

// The story's pictures move, and its controls change them. Reduced motion shows their ends.
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
		await := func(expression string) {
			t.Helper()
			p.run(chromedp.Poll(expression, nil, chromedp.WithPollingInterval(20*time.Millisecond), patience))
		}
		const playing = `document.querySelector(".screen .playing") !== null`
		if motion == "reduce" {
			if p.text(`String(`+playing+`)`) != "false" || p.text(`String(document.querySelector(".play").checkVisibility())`) != "false" {
				t.Error("a picture moves, or a button would move it")
			}
		} else {
			p.run(chromedp.Evaluate(`document.querySelector(".screen .play").scrollIntoView({block: "center"})`, nil))
			await(playing + ` && window.frame !== null`)
			p.eval(`frame(1000)`, nil)
			for _, step := range []struct {
				at   int // ms after the first frame
				want string
			}{{800, "8s false true"}, {1200, "12s true true"}, {30_000, "2m false false"}} {
				p.eval(fmt.Sprintf(`frame(1000 + %d)`, step.at), nil)
				got := p.text(`[document.querySelector(".screen [data-of=clock]").textContent, document.querySelector(".scene").classList.contains("stalled"), ` + playing + `].join(" ")`)
				if got != step.want {
					t.Errorf("%d ms after its first frame the first picture is at %s, want %s", step.at, got, step.want)
				}
			}
		}
		for _, step := range []struct {
			screen       int
			click, query string
		}{
			{2, `label:last-child input`, "2000"},
			{0, `.longer`, "watch=5m"},
		} {
			const want = "It recovers in 0 of 10 runs"
			if got := p.runs(step.screen, step.click, step.query); got != want {
				t.Errorf("screen %d says %q, want %q", step.screen, got, want)
			}
		}
		if got := p.text(`document.querySelectorAll(".screen h2")[0].textContent`); motion == "reduce" && got != p.verdict(0) {
			t.Errorf("the headline of a run that has ended is %q", got)
		}
		p.clean()
	}
	// A link to a run leads to it.
	p := open(t, ctx, address, 1440, 900)
	p.visit(small(TabOutage))
	if got := p.text(`[...document.getElementById("opening").querySelectorAll(":scope > :is(p, section)")].filter((e) => e.checkVisibility()).map((e) => e.className).join()`); got != "elsewhere" {
		t.Errorf("above a run that a link leads to are %q, want a link to the story", got)
	}
	p.clean()
}
