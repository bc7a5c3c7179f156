package lab

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// gate is the lab's server. When held, its requests for a state wait until it is released.
type gate struct {
	http.Handler
	hold    chan struct{} // takes one value: the next request waits
	waiting chan struct{} // a request waits
	release chan struct{}
	gone    atomic.Bool // no request gets a response
}

func serveGate(t *testing.T) (*gate, string) {
	t.Helper()
	g := &gate{hold: make(chan struct{}, 1), waiting: make(chan struct{}, 1), release: make(chan struct{})}
	s := httptest.NewUnstartedServer(g)
	g.Handler = handler(time.Hour, s.Listener.Addr().String())
	s.Start()
	t.Cleanup(s.Close)
	return g, s.URL + "/"
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.gone.Load() {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Path == "/api/state" {
		select {
		case <-g.hold:
			g.waiting <- struct{}{}
			<-g.release
		default:
		}
	}
	g.Handler.ServeHTTP(w, r)
}

// enter puts a value and the focus into a control and does not wait. No control may take the focus away.
func (p *tab) enter(id, value string) {
	p.t.Helper()
	p.text(fmt.Sprintf(`(() => {
		const e = document.getElementById(%q);
		if (!e) { document.activeElement.blur(); return ""; }
		e.focus();
		if (e.tagName === "BUTTON") { e.click(); return ""; }
		e.value = %q;
		e.dispatchEvent(new Event("input", {bubbles: true}));
		e.dispatchEvent(new Event("change", {bubbles: true}));
		return "";
	})()`, id, value))
}

// Input during a request is not lost.
func browserEdits(t *testing.T, ctx context.Context, _ string) {
	g, address := serveGate(t)
	type edit struct{ id, value string }
	for name, test := range map[string]struct {
		first edit
		then  []edit
		want  map[string]string
	}{
		"two words":        {edit{"jitter", "full"}, []edit{{"cap", "7s"}}, map[string]string{"text": "constant d=5s cap=7s jitter=full", "cap": "7s", "jitter": "full"}},
		"one field, twice": {edit{"affected", "40"}, []edit{{"affected", "45"}, {"no control", ""}}, map[string]string{"affected": "45"}},
		"started over":     {edit{"restart", ""}, []edit{{"cap", "7s"}}, map[string]string{"text": "constant d=5s cap=7s", "affected": "1000"}},
		"of what is added": {edit{"add", ""}, []edit{{"name", "mine"}, {"cap", "7s"}}, map[string]string{"name": "mine", "cap": "7s", "strategy-3": "on"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, ctx, address, 1440, 900)
			p.visit(small(TabOutage))
			g.hold <- struct{}{}
			before := p.drawn()
			p.enter(test.first.id, test.first.value)
			<-g.waiting
			for _, e := range test.then {
				p.enter(e.id, e.value)
			}
			g.release <- struct{}{}
			p.settle(before)
			for id, want := range test.want {
				if got := p.text(fmt.Sprintf(`document.getElementById(%q)?.value ?? "none"`, id)); got != want {
					t.Errorf("%s is %q, want %q", id, got, want)
				}
			}
			if cap := test.want["cap"]; cap != "" && !strings.Contains(p.text(`decodeURIComponent(location.search)`), "cap="+cap) {
				t.Errorf("the address is %s", p.text("location.href"))
			}
			p.clean()
		})
	}
}

// The controls appear when a window becomes wide, as when a tablet is turned.
func browserTurned(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 800, 1200)
	p.visit(small(TabOutage))
	visible := func() (yes bool) {
		t.Helper()
		p.eval(`document.getElementById("curve").checkVisibility()`, &yes)
		return yes
	}
	if visible() {
		t.Error("the controls come before the charts in a narrow window")
	}
	p.run(chromedp.EmulateViewport(1200, 800))
	p.run(chromedp.Poll(`innerWidth === 1200`, nil, patience))
	if !visible() {
		t.Error("there are no controls in the window that was made wide")
	}
}

// The page ignores invalid parts of an address and reports them.
func browserWrongAddress(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit("?load=0&affected=20&tab=outage&utm_source=news")
	status := p.text(`document.getElementById("status").textContent`)
	for _, want := range []string{"want a whole number from 1", `there is no parameter "utm_source"`, "The page ignores them"} {
		if !strings.Contains(status, want) {
			t.Errorf("the page shows %q, want %q", status, want)
		}
	}
	p.expect("load, charts, utm", `document.getElementById("load").value + document.querySelectorAll("#outage svg").length + location.search.includes("utm")`, "806false")
	p.set("affected", "2")
	p.expect("corrected, the status", `document.getElementById("status").textContent`, "")
	p.clean()
}

// Changing a preset's policy removes its name. A name that was entered stays. A jitter that Tiled has replaced comes
// back.
func browserNames(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit(small(TabOutage) + "#3")
	names := `[...document.querySelectorAll("#strategies label")].map((e) => e.textContent.trim()).join()`
	for _, step := range []struct{ id, value, want string }{
		{"tiled", "true", "constant,15 %,equal,strategy 4,decorrelated,soon, then a wave"},
		{"tiled", "false", "constant,15 %,equal,strategy 4,decorrelated,soon, then a wave"},
		{"name", "mine", "constant,15 %,equal,mine,decorrelated,soon, then a wave"},
		{"cap", "7s", "constant,15 %,equal,mine,decorrelated,soon, then a wave"},
		{"jitter", "equal", "constant,15 %,equal,mine,decorrelated,soon, then a wave"},
	} {
		p.set(step.id, step.value)
		if got := p.text(names); got != step.want {
			t.Errorf("%s = %s: the strategies are %s, want %s", step.id, step.value, got, step.want)
		}
	}
	p.expect("the text", `document.getElementById("text").value`, "exponential base=1s factor=2 cap=7s jitter=equal")
	p.clean()
}

// What "Copy as Go" gives can be pasted, and what "retrywhen measure" prints: the page finds the policies in it.
func browserPaste(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit("?tab=outage&affected=60&down=15s&watch=50s&s=linear+d%3D1s+limit%3D9") // policies that come to an end take little time
	code := p.text(`fetch("api/state?" + new URLSearchParams({tab: "outage", s: "a: linear d=2s tiled limit=9 place=by-ordinal"}) + "&s=sidekiq+limit%3D3").then((r) => r.json()).then((s) => s.go)`)
	for _, pasted := range []struct{ text, want string }{
		{code, "a: linear d=2s tiled limit=9 place=by-ordinal|sidekiq limit=3"},
		{"policy: exponential base=1s factor=2 limit=4", "exponential base=1s factor=2 limit=4|sidekiq limit=3"},
		{"silent: it waits\r\n\r\npolicy: constant d=0s limit=2\r\n  or: linear d=1s\r\n", "constant d=0s limit=2|sidekiq limit=3"},
	} {
		before := p.drawn()
		p.eval(fmt.Sprintf(`(() => {
			const data = new DataTransfer();
			data.setData("text", %q);
			document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
		})()`, pasted.text), nil)
		p.settle(before)
		if got := p.text(`new URLSearchParams(location.search).getAll("s").slice(0, 2).join("|")`); got != pasted.want {
			t.Errorf("pasted, the strategies are %s, want %s; of the text\n%s", got, pasted.want, pasted.text)
		}
	}
	p.clean()
}

// Without its server the page shows an error, marks old charts, and recovers automatically.
func browserServerGone(t *testing.T, ctx context.Context, _ string) {
	g, address := serveGate(t)
	p := open(t, ctx, address, 1440, 900)
	p.visit(small(TabOutage))
	g.gone.Store(true)
	p.set("affected", "61")
	if got := p.text(`document.getElementById("status").textContent + document.body.className`); !strings.Contains(got, "does not respond") || !strings.Contains(got, "stale") {
		t.Errorf("the page shows %q", got)
	}
	g.gone.Store(false)
	p.run(chromedp.Poll(`document.getElementById("status").textContent === "" && document.body.className === ""`, nil, patience))
	if got := p.text(`document.getElementById("outage-sentence").textContent`); !strings.Contains(got, "61 clients wait") {
		t.Errorf("it came back with %q", got)
	}
}

// saved returns the name and the content of the file that a button saves.
func (p *tab) saved(button string) (name string, content []byte) {
	p.t.Helper()
	saved := p.text(fmt.Sprintf(`new Promise((saved) => {
		let blob = null;
		URL.createObjectURL = (b) => ((blob = b), "data:,");
		HTMLAnchorElement.prototype.click = function () {
			const reader = new FileReader();
			reader.onload = () => saved(this.download + " " + reader.result.replace(/^.*base64,/, ""));
			reader.readAsDataURL(blob);
		};
		document.querySelector(%q).click();
	})`, button))
	name, data, _ := strings.Cut(saved, " ")
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		p.t.Fatalf("%s: %v", button, err)
	}
	return name, content
}

// looks fails the test if a picture has little paper, few colors, or much black that is not paper.
func looks(t *testing.T, name string, picture image.Image, paper color.NRGBA) {
	t.Helper()
	seen := map[color.NRGBA]int{}
	size := picture.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			seen[color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)]++
		}
	}
	if n := size.X * size.Y; size.X < 500 || seen[paper] < n/3 || len(seen) < 20 || seen[color.NRGBA{0, 0, 0, 255}] > n/1000 {
		t.Errorf("%s: %v, %d dots of paper, %d of black, %d colors", name, size, seen[paper], seen[color.NRGBA{0, 0, 0, 255}], len(seen))
	}
}

// The charts of each tab can be saved, in the colors of the page.
func browserPictures(t *testing.T, ctx context.Context, address string) {
	for scheme, paper := range map[string]color.NRGBA{"light": {255, 255, 255, 255}, "dark": {13, 17, 23, 255}} {
		p := open(t, ctx, address, 1440, 900)
		p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		p.visit("")
		for _, state := range Presets() {
			p.visit("?" + state.Query().Encode())
			name, data := p.saved("#save-png")
			drawn, err := png.Decode(bytes.NewReader(data))
			if err != nil || name != "retrywhen-"+string(state.Tab)+".png" {
				t.Fatalf("%s: %v", name, err)
			}
			if dir := os.Getenv("RETRYWHEN_SCREENSHOTS"); dir != "" {
				noError(t, os.WriteFile(filepath.Join(dir, scheme+"-"+name), data, 0o600))
			}
			looks(t, scheme+" "+name, drawn, paper)
			name, data = p.saved("#save-svg")
			if err := xml.Unmarshal(data, new(struct{ XMLName xml.Name })); err != nil || name != "retrywhen-"+string(state.Tab)+".svg" || bytes.Contains(data, []byte("var(")) {
				t.Errorf("%s: %v", name, err)
			}
			if os.Getenv("RETRYWHEN_RSVG") != "required" {
				continue
			}
			rsvg := exec.CommandContext(t.Context(), "rsvg-convert")
			rsvg.Stdin = bytes.NewReader(data)
			out, err := rsvg.Output()
			if err != nil {
				t.Fatalf("rsvg-convert %s: %v", name, err)
			}
			if drawn, err = png.Decode(bytes.NewReader(out)); err != nil {
				t.Fatal(err)
			}
			if dir := os.Getenv("RETRYWHEN_SCREENSHOTS"); dir != "" {
				noError(t, os.WriteFile(filepath.Join(dir, scheme+"-rsvg-"+name+".png"), out, 0o600))
			}
			looks(t, scheme+" "+name+" in librsvg", drawn, paper)
		}
		p.clean()
	}
}

// The state can be copied as a link, a command and Go, and saved as a page that needs no server.
func browserSharing(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit("?tab=outage&affected=60&down=15s&watch=50s&s=linear+d%3D1s+limit%3D9") // the saved page has the numbers of all tabs
	p.run(chromedp.Evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`, nil))
	for id, want := range map[string]string{
		"copy-link": address + "?", "copy-command": "retrywhen sim outage --clients 60 --down 15s --capacity 20 ", "copy-go": "package policies\n\nimport (",
	} {
		p.run(chromedp.Evaluate(fmt.Sprintf(`document.getElementById(%q).click()`, id), nil))
		p.run(chromedp.Poll(fmt.Sprintf(`(window.copied ?? "").startsWith(%q)`, want), nil, patience))
	}
	name, page := p.saved("#download")
	file := filepath.Join(t.TempDir(), name)
	noError(t, os.WriteFile(file, page, 0o600))
	alone := open(t, ctx, "file://"+file, 1440, 900)
	alone.visit("")
	if got := alone.text(`document.getElementById("outage-sentence").textContent`); !strings.Contains(got, "60 clients wait") {
		t.Errorf("the saved page says %q", got)
	}
	p.clean()
	alone.clean()
}

// A chart shows the values of a point, for the pointer and for the keyboard.
func browserReadings(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit(small(TabOutage))
	p.run(chromedp.Focus("#outage .chart", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowRight))
	if got := p.text(`document.querySelector("#outage .tip").textContent`); !strings.Contains(got, " per second, ") || !strings.HasSuffix(got, " served") {
		t.Errorf("the first point is %q", got)
	}
	p.run(chromedp.Poll(`document.getElementById("said").textContent.endsWith(" served")`, nil, patience))
	p.run(chromedp.Evaluate(`(() => {
		const chart = document.querySelectorAll("#outage .chart")[1], box = chart.getBoundingClientRect();
		chart.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + 60, clientY: box.top + 50}));
	})()`, nil))
	if got := p.text(`document.querySelectorAll("#outage .tip")[1].textContent`); !strings.HasSuffix(got, " served") {
		t.Errorf("the second chart says %q", got)
	}
	p.clean()
}

// The text under the chart of the choice is that of the chosen dot.
func browserChosen(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit("?tab=choose")
	shown := func() string { return p.text(`document.querySelector("#choose-policy code").textContent`) }
	if got := shown(); !strings.Contains(got, "backoff.Table(time.Second, 55*time.Second).Tiled()") {
		t.Errorf("at first it is %s", got)
	}
	p.run(chromedp.Evaluate(`document.getElementById("choose-0").click()`, nil))
	if got := shown(); !strings.Contains(got, "Jitter(jitter.Full)") {
		t.Errorf("of the first one it is %s", got)
	}
	p.run(chromedp.Focus("#choose .chart", chromedp.ByQuery), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.Enter)) // the soonest
	if got := shown(); !strings.Contains(got, "backoff.Constant(55*time.Second).Tiled()") {
		t.Errorf("with the keys it is %s", got)
	}
	p.clean()
}

// axe reports no problem in any tab.
func browserAxe(t *testing.T, ctx context.Context, address string) {
	if os.Getenv("RETRYWHEN_NPM") != "required" {
		t.Skip("it runs nightly: RETRYWHEN_NPM=required")
	}
	axe, err := os.ReadFile(filepath.Join(npmInstall(t), "node_modules", "axe-core", "axe.min.js"))
	noError(t, err)
	for _, width := range []int64{390, 1440} {
		p := open(t, ctx, address, width, 900)
		p.run(page.SetBypassCSP(true))
		p.visit("")
		p.run(chromedp.Evaluate(string(axe), nil))
		for i, tab := range Tabs {
			p.turn(tab)
			p.look()
			part := `document`
			if i > 0 {
				part = `{exclude: "#opening"}` // it is the same on all tabs
			}
			var faults []string
			p.eval(`axe.run(`+part+`).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 100))))`, &faults)
			for _, f := range faults {
				t.Errorf("%s, %d wide: %s", tab, width, f)
			}
		}
	}
}

// A choice that is not finished can be computed to its end.
func browserGoOn(t *testing.T, ctx context.Context, _ string) {
	s := httptest.NewUnstartedServer(nil)
	real := handler(time.Hour, s.Listener.Addr().String())
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/choose" {
			real.ServeHTTP(w, r)
			return
		}
		all := httptest.NewRecorder()
		real.ServeHTTP(all, r)
		_, _ = io.WriteString(w, strings.Replace(all.Body.String(), "{", `{"note":"Not finished: one run of each.",`, 1))
	})
	s.Start()
	t.Cleanup(s.Close)
	p := open(t, ctx, s.URL+"/", 1440, 900)
	p.visit("?tab=choose&affected=50&outages=2s")
	const note = `document.getElementById("choose-note").textContent`
	p.expect("the note", note, "Not finished: one run of each. Go on")
	p.eval(`document.getElementById("go-on").click()`, nil)
	p.run(chromedp.Poll(note+` === "" && !document.body.classList.contains("pending")`, nil, chromedp.WithPollingInterval(20*time.Millisecond), patience))
	p.clean()
}
