package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The maximum time until the site's first picture on a slow computer, and the maximum layout shift.
const (
	slowness     = 4
	firstPicture = 1500 * time.Millisecond
	mostShift    = 0.1
)

// The site needs only a file server, and none after it is loaded: its worker computes the same numbers as the Go
// program.
func browserSite(t *testing.T, ctx context.Context, _ string) {
	for _, name := range []string{"site/main.go", "wasm/main.go"} { // so that the test is not cached when they change
		if _, err := os.Stat(name); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(t.TempDir(), "site")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "./site", folder).CombinedOutput(); err != nil {
		t.Fatalf("go run ./site: %v\n%s", err, out)
	}
	worker := filepath.Join(folder, "worker.js")
	script, err := os.ReadFile(worker)
	noError(t, err)
	const slow = `{ const now = performance.now.bind(performance); performance.now = () => now() / 1000; }` // so that no limit depends on the machine
	noError(t, os.WriteFile(worker, append([]byte(slow), script...), 0o600))
	s := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(s.Close)
	p := open(t, ctx, s.URL+"/", 1440, 900)
	p.run(emulation.SetCPUThrottlingRate(slowness))
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`
			const set = setTimeout;
			window.setTimeout = (f, ms) => set(f, ms < 20_000 ? ms : 2 ** 30); // as the worker's
			window.shift = 0;
			window.moved = "";
			new PerformanceObserver((list) => list.getEntries().filter((e) => !e.hadRecentInput).forEach((e) => {
				window.shift += e.value;
				for (const s of e.sources) window.moved += " " + (s.node?.id || s.node?.className || s.node?.nodeName) + " by " + (s.currentRect.top - s.previousRect.top);
			})).observe({type: "layout-shift", buffered: true});
		`).Do(ctx)
		return err
	}))
	p.visit("")
	p.expect("the first sentence", `document.getElementById("recover-sentence").textContent`, "“3 retries” keeps the server down; “3 retries and a budget” and “no retry” do not.")
	var ms float64
	p.eval(`performance.getEntriesByName("drawn")[0].startTime`, &ms)
	t.Logf("the first chart is drawn after %.0f ms", ms)
	p.run(chromedp.Poll(`performance.getEntriesByName("first-contentful-paint").length`, nil, patience))
	p.eval(`performance.getEntriesByName("first-contentful-paint")[0].startTime`, &ms) // the story's pictures are in the page
	if took := time.Duration(ms * 1e6); took > firstPicture && quiet() {               // else the machine may be busy
		t.Errorf("the first picture is drawn after %v, want %v", took, firstPicture)
	} else {
		t.Logf("the first picture is drawn after %v, %d times slowed down", took.Round(time.Millisecond), slowness)
	}
	var shift float64
	p.eval(`window.shift`, &shift)
	if shift >= mostShift {
		t.Errorf("the layout has shifted by %v, want less than %v:%s", shift, mostShift, p.text(`window.moved`))
	}
	p.run(emulation.SetCPUThrottlingRate(1))

	began := time.Now()
	p.turn(TabChoose)
	t.Logf("the choice is drawn after %v", time.Since(began).Round(time.Millisecond))
	s.Close() // the network is cut
	p.turn(TabOutage)
	p.set("affected", "300")
	state := First(TabOutage)
	state.Affected = 300
	want, err := numbers(t.Context(), TabOutage, state)
	noError(t, err)
	text, err := json.Marshal(want)
	noError(t, err)
	var o struct{ Sentence string }
	noError(t, json.Unmarshal(text, &o))
	p.expect("it computes", `document.getElementById("outage-sentence").textContent`, o.Sentence)
	// A new request cancels a long computation.
	before := p.drawn()
	p.enter("affected", "2000")
	p.run(chromedp.Sleep(250 * time.Millisecond))
	p.set("affected", "100")
	if got := p.text(`document.getElementById("outage-sentence").textContent`); !strings.Contains(got, "100 clients wait") || p.drawn() > before+2 {
		t.Errorf("after %d charts the sentence is %q", p.drawn()-before, got)
	}
	p.mu.Lock()
	for _, r := range p.requests {
		if !strings.HasPrefix(strings.TrimPrefix(r, "blob:"), s.URL) && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asks for %s", r)
		}
	}
	p.mu.Unlock()
	p.clean()
}
