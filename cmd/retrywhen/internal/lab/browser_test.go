package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// findBrowser returns the path of Chromium. If there is none the test is skipped, or with RETRYWHEN_BROWSER=required
// fails.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no browser: neither chromium nor google-chrome is installed"
	if os.Getenv("RETRYWHEN_BROWSER") == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// serveLab serves the page and returns its address. Its simulations have as long as a slow machine needs: what is not
// simulated in the page's time is missing in its figures.
func serveLab(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = handler(time.Hour, s.Listener.Addr().String())
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// tab is a page in the browser.
type tab struct {
	t       *testing.T
	ctx     context.Context
	address string

	mu       sync.Mutex
	problems []string // messages on the console
	requests []string
}

// patience is for waits of a page that computes on a busy machine. What bounds them is the tab's time, which is less
// than go test's so that the failure says which wait it was.
var patience = chromedp.WithPollingTimeout(0)

// open opens a tab of the given size.
func open(t *testing.T, browserCtx context.Context, address string, width, height int64) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browserCtx)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 8*time.Minute)
	t.Cleanup(stop)
	p := &tab{t: t, ctx: ctx, address: address}
	chromedp.ListenTarget(ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning || e.Type == runtime.APITypeAssert {
				text, _ := json.Marshal(e.Args)
				p.problems = append(p.problems, string(text))
			}
		case *runtime.EventExceptionThrown:
			p.problems = append(p.problems, e.ExceptionDetails.Error())
		case *cdplog.EventEntryAdded:
			if e.Entry.Level == cdplog.LevelError || e.Entry.Level == cdplog.LevelWarning {
				p.problems = append(p.problems, e.Entry.Text+" "+e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			p.requests = append(p.requests, e.Request.URL)
		}
	})
	p.run(cdplog.Enable(), network.Enable(), chromedp.EmulateViewport(width, height), emulation.SetFocusEmulationEnabled(true), page.BringToFront())
	return p
}

func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	noError(p.t, chromedp.Run(p.ctx, actions...))
}

// eval evaluates an expression.
func (p *tab) eval(expression string, into any) {
	p.t.Helper()
	p.run(chromedp.Evaluate(expression, into, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
}

func (p *tab) text(expression string) string {
	p.t.Helper()
	var s string
	p.eval(expression, &s)
	return s
}

// expect checks the text that an expression has.
func (p *tab) expect(what, expression, want string) {
	p.t.Helper()
	if got := p.text(expression); got != want {
		p.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// drawn returns how often the page has drawn.
func (p *tab) drawn() int {
	p.t.Helper()
	var n int
	p.eval(`Number(document.body?.dataset.drawn ?? 0)`, &n)
	return n
}

// settle waits until the page has drawn more often than before and is idle.
func (p *tab) settle(before int) {
	p.t.Helper()
	p.run(chromedp.Poll(fmt.Sprintf(`Number(document.body?.dataset.drawn ?? 0) > %d && !document.body.classList.contains("pending")`, before), nil,
		chromedp.WithPollingInterval(20*time.Millisecond), patience))
}

// visit opens an address and waits for its charts.
func (p *tab) visit(query string) {
	p.t.Helper()
	p.run(chromedp.Navigate(p.address + query))
	p.settle(0)
}

// set puts a value into a control with the events of a user's input, and waits for the charts.
func (p *tab) set(id, value string) {
	p.t.Helper()
	before := p.drawn()
	expression := fmt.Sprintf(`(() => {
		const e = document.getElementById(%q);
		if (e.type === "checkbox" || e.type === "radio") e.checked = %q === "true"; else e.value = %q;
		e.dispatchEvent(new Event("input", {bubbles: true}));
		e.dispatchEvent(new Event("change", {bubbles: true}));
		return e.value;
	})()`, id, value, value)
	p.text(expression)
	p.settle(before)
}

// small returns the query of a tab with small charts.
func small(tab Tab) string {
	s := First(tab)
	s.Affected, s.Down, s.Watch = 60, 15*time.Second, 50*time.Second
	return "?" + s.Query().Encode()
}

// turn opens a tab of the page.
func (p *tab) turn(to Tab) {
	p.t.Helper()
	before := p.drawn()
	p.eval(fmt.Sprintf(`document.getElementById("to-%s").click()`, to), nil)
	p.settle(before)
}

// clean fails the test if there was a message on the console.
func (p *tab) clean() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) > 0 {
		p.t.Errorf("the console says:\n%s", strings.Join(p.problems, "\n"))
	}
}

// sections are the sections of the page, by the ids of their contents.
var sections = []string{"recover", "outage", "outage-figures", "choose", "choose-policy", "choose-outages", "golines"}

// look returns the content of each section of the open tab, unfolded.
func (p *tab) look() map[string]string {
	p.t.Helper()
	p.eval(`(async () => {
		for (const fold of document.querySelectorAll("details.more")) fold.open = true;
		await new Promise((done) => setTimeout(done, 50)); // toggle events come later
	})()`, nil)
	shows := map[string]string{}
	for _, id := range sections {
		shows[id] = p.text(fmt.Sprintf(`document.getElementById(%[1]q).checkVisibility() ? document.getElementById(%[1]q).innerHTML : ""`, id))
	}
	return shows
}

// startBrowser starts a browser with its own profile, and returns the context of its first tab.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := findBrowser(t)
	profile, err := os.MkdirTemp("", "lab-browser-")
	noError(t, err)
	t.Cleanup(func() { removeProfile(t, profile) })
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(time.Minute),
	)
	allocated, kill := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(kill)
	ctx, stop := chromedp.NewContext(allocated)
	t.Cleanup(stop)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	t.Cleanup(func() { // close it; if that fails, it is killed
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("%s was killed: %v", path, err)
		}
	})
	return ctx
}

// removeProfile removes a browser's profile. Processes of the browser may outlive it briefly and write to the profile,
// so the first try may fail because of new files (which would fail t.TempDir).
func removeProfile(t *testing.T, dir string) {
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := os.RemoveAll(dir)
		if err == nil {
			return
		}
		if time.Now().After(until) {
			t.Errorf("the browser's profile cannot be removed: %v", err)
			return
		}
	}
}

// nightly reports whether all of the browser's tests run, which takes more than a minute: see CONTRIBUTING.md.
func nightly() bool { return os.Getenv("RETRYWHEN_NIGHTLY") == "1" }

// quiet reports whether nothing else runs on the machine, so that durations have bounds.
func quiet() bool { return os.Getenv("RETRYWHEN_QUIET") == "1" }

func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a browser takes its time")
	}
	ctx := startBrowser(t)
	address := serveLab(t)
	tests := map[string]func(*testing.T, context.Context, string){
		"loads":              browserLoads,
		"widths and schemes": browserLayout,
		"edits":              browserEdits,
		"wrong address":      browserWrongAddress,
		"names and jitter":   browserNames,
		"server gone":        browserServerGone,
		"site":               browserSite,
		"opening":            browserOpening,
		"phone":              browserPhone,
		"paste":              browserPaste,
		"chosen":             browserChosen,
	}
	if nightly() {
		maps.Copy(tests, map[string]func(*testing.T, context.Context, string){
			"controls":    browserControls,
			"tabs":        browserTabs,
			"sharing":     browserSharing,
			"readings":    browserReadings,
			"go line":     browserGoLine,
			"deep link":   browserDeepLink,
			"keyboard":    browserKeyboard,
			"wrong input": browserWrongInput,
			"strategies":  browserStrategies,
			"static page": browserStatic,
			"pictures":    browserPictures,
			"turned":      browserTurned,
			"axe":         browserAxe,
			"map":         browserMap,
			"go on":       browserGoOn,
		})
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, ctx, address) })
	}
}

func browserLoads(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit("")
	count := func(id string, want int) {
		t.Helper()
		var n int
		p.eval(fmt.Sprintf(`document.querySelectorAll("#%s figure > .chart > svg").length`, id), &n)
		if n != want {
			t.Errorf("%s has %d charts, want %d", id, n, want)
		}
	}
	count("recover", 3)
	p.expect("the sentence", `document.getElementById("recover-sentence").textContent`, "“3 retries” keeps the server down; “3 retries and a budget” and “no retry” do not.")
	p.turn(TabOutage)
	count("outage", 6)
	p.turn(TabChoose)
	var one int
	p.eval(`document.querySelectorAll("#choose .chart > svg").length`, &one)
	if s := p.text(`document.getElementById("choose-sentence").textContent`); one != 1 || !strings.Contains(s, "use the backoff “1s, then 55s, tiled”:") {
		t.Errorf("%d charts, the sentence is %q", one, s)
	}
	p.mu.Lock()
	for _, r := range p.requests {
		if !strings.HasPrefix(r, address) && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asks for %s", r)
		}
	}
	p.mu.Unlock()
	p.clean()
}

func browserControls(t *testing.T, ctx context.Context, address string) {
	type control struct {
		id, value string
		changes   []string
		keeps     []string
	}
	policy := func(sections ...string) []control {
		all := append(sections, "golines")
		return []control{
			{"text", "exponential base=2s factor=2 cap=30s limit=3", all, nil},
			{"curve", "linear", all, nil},
			{"p-d", "3s", all, nil},
			{"curve", "exponential", all, nil},
			{"p-base", "1s", all, nil},
			{"p-factor", "3", all, nil},
			{"cap", "5s", all, nil},
			{"plus", "500ms", all, nil},
			{"jitter", "equal", all, nil},
			{"jitter", "none", all, nil},
			{"tiled", "true", all, nil},
			{"name", "mine", all[:len(all)-1], nil},
			{"seed", "7", sections[:1], []string{"golines"}},
		}
	}
	tests := map[Tab][]control{
		TabRecover: append(policy("recover"),
			control{"limit", "2", []string{"recover", "golines"}, nil},
			control{"budget", "5,1,0.1", []string{"recover"}, nil},
			control{"load", "60", []string{"recover"}, []string{"golines"}},
			control{"rate", "90", []string{"recover"}, nil},
			control{"stall", "2s", []string{"recover"}, nil},
			control{"patience", "3s", []string{"recover"}, nil},
			control{"watch", "55s", []string{"recover"}, nil}),
		TabOutage: append(policy("outage"),
			control{"affected", "300", []string{"outage"}, nil},
			control{"down", "20s", []string{"outage"}, nil},
			control{"capacity", "7", []string{"outage"}, nil},
			control{"timeout", "2s", []string{"outage"}, nil},
			control{"place", "by-ordinal", []string{"golines"}, nil},
			control{"own-y", "true", []string{"outage"}, nil}),
		TabChoose: {
			{"affected", "900", []string{"choose", "choose-policy", "golines"}, nil},
			{"capacity", "9", []string{"choose", "choose-policy", "golines"}, nil},
			{"fleet", "30", []string{"choose-policy", "choose"}, nil},
			{"patience", "700ms", []string{"choose-policy"}, []string{"choose"}},
			{"outages", "1s,30s,2m", []string{"choose-outages"}, nil},
		},
	}
	for tab, controls := range tests {
		p := open(t, ctx, address, 1440, 900)
		p.visit(small(tab))
		before := p.look()
		for _, test := range controls {
			p.set(test.id, test.value)
			if message := p.text(`document.getElementById("error").textContent + document.getElementById("status").textContent`); message != "" {
				t.Errorf("%s: %s = %s: %s", tab, test.id, test.value, message)
			}
			after := p.look()
			for _, s := range test.changes {
				if before[s] == after[s] {
					t.Errorf("%s: %s = %s does not change %s", tab, test.id, test.value, s)
				}
			}
			for _, s := range test.keeps {
				if before[s] != after[s] {
					t.Errorf("%s: %s = %s changes %s", tab, test.id, test.value, s)
				}
			}
			before = after
		}
		p.clean()
	}
}

// A click on another tab opens it at once, and it says that it is being simulated. Its first state can be restored.
func browserTabs(t *testing.T, ctx context.Context, _ string) {
	g, address := serveGate(t)
	p := open(t, ctx, address, 1440, 900)
	p.visit("")
	p.expect("the tabs", `[...document.querySelectorAll("[role=tab]")].filter((e) => e.checkVisibility()).map((e) => e.textContent).join()`, "Recover,Choose,Outage")
	g.hold <- struct{}{}
	before := p.drawn()
	p.run(chromedp.Click("#to-outage", chromedp.ByQuery))
	<-g.waiting
	p.run(chromedp.Poll(`document.getElementById("status").textContent === "Simulating …"`, nil, patience))
	p.expect("while it is simulated the page", `document.querySelector("[aria-selected=true]").id + document.body.className`, "to-outagepending unknown")
	g.release <- struct{}{}
	p.settle(before)
	p.expect("simulated, the page", `document.getElementById("status").textContent + document.body.className`, "")
	p.set("affected", "70")
	before = p.drawn()
	p.run(chromedp.Click("#restart", chromedp.ByQuery))
	p.settle(before)
	p.expect("started over, the clients", `document.getElementById("affected").value`, fmt.Sprint(First(TabOutage).Affected))
	p.clean()
}

func browserGoLine(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit("")
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		p.run(chromedp.ActionFunc(func(ctx context.Context) error {
			return browser.SetPermission(&browser.PermissionDescriptor{Name: name}, browser.PermissionSettingGranted).
				Do(cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser))
		}))
	}
	var lines []string
	for _, state := range Presets() {
		p.visit("?" + state.Query().Encode())
		p.look()
		var n int
		if state.Tab == TabOutage {
			p.set("place", "by-ordinal")
		}
		p.eval(`document.querySelectorAll("#golines button").length`, &n)
		for i := range n {
			p.run(chromedp.Click(fmt.Sprintf("#golines .goline:nth-child(%d) button", i+1), chromedp.ByQuery))
			p.run(chromedp.Poll(fmt.Sprintf(`document.querySelector("#golines .goline:nth-child(%d) button").textContent === "Copied"`, i+1), nil, patience))
			lines = append(lines, p.text(`navigator.clipboard.readText()`))
			p.run(chromedp.Poll(`document.getElementById("said").textContent === "The line is copied."`, nil, patience))
		}
	}
	compiles(t, lines)
	p.clean()
}

// compiles builds a program of the lines, each in its own function.
func compiles(t *testing.T, lines []string) {
	t.Helper()
	var program bytes.Buffer
	program.WriteString("package main\n\nimport (\n\t\"time\"\n\n\t\"github.com/retrywhen/retrywhen/backoff\"\n\t\"github.com/retrywhen/retrywhen/jitter\"\n\t\"github.com/retrywhen/retrywhen/retry\"\n)\n\nvar _, _ = jitter.None, time.Second\n\nfunc main() { _ = backoff.Default }\n\n")
	for i, l := range lines {
		if f, ok := strings.CutPrefix(l, "func policy("); ok {
			fmt.Fprintf(&program, "func f%d(%s\n", i, f)
			continue
		}
		fmt.Fprintf(&program, "func f%d() retry.Policy {\n\t%s\n\treturn policy\n}\n", i, l)
	}
	onDisk(t, program.Bytes(), "build", "-o", os.DevNull)
}

// onDisk runs a command of go with the program, in the module, so that it finds the dependencies.
func onDisk(t *testing.T, program []byte, command ...string) {
	t.Helper()
	dir, err := os.MkdirTemp(".", "_program-")
	noError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	noError(t, os.WriteFile(filepath.Join(dir, "main.go"), program, 0o600))
	if out, err := exec.CommandContext(t.Context(), "go", append(command, "./"+dir)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, program)
	}
}

func browserDeepLink(t *testing.T, ctx context.Context, address string) {
	state := Default()
	state.Strategies = must("a: linear d=2s tiled place=by-ordinal", "sidekiq limit=3")
	state.Tab, state.OwnY, state.Load, state.Rate, state.Stall, state.Patience, state.Watch = TabOutage, true, 70, 90, 3*time.Second, 2*time.Second, 50*time.Second
	state.Affected, state.Down, state.Capacity, state.Timeout, state.Seed = 200, 30*time.Second, 9, time.Second, 11
	p := open(t, ctx, address, 1440, 900)
	p.visit("?" + state.Query().Encode() + "#1")
	restored := func(when string) {
		t.Helper()
		for id, want := range map[string]string{
			"seed": "11", "affected": "200", "down": "30s",
			"load": "70", "rate": "90", "stall": "3s", "patience": "2s", "watch": "50s", "limit": "3",
			"capacity": "9", "timeout": "1s", "text": "sidekiq limit=3", "name": "", "curve": "sidekiq",
		} {
			if got := p.text(fmt.Sprintf(`document.getElementById(%q).value`, id)); got != want {
				t.Errorf("%s: %s is %q, want %q", when, id, got, want)
			}
		}
		u, err := url.Parse(p.text(`location.href`))
		noError(t, err)
		if got, problems := ParseState(u.Query()); problems != nil || got.Query().Encode() != state.Query().Encode() {
			t.Errorf("%s: the address is %s: %v", when, u, problems)
		}
	}
	restored("opened")
	before := p.look()
	p.run(chromedp.Reload())
	p.settle(0)
	restored("reloaded")
	for name, shows := range p.look() {
		if shows != before[name] {
			t.Errorf("%s is another one after a reload", name)
		}
	}
	// The address has the choices, and the browser's back button restores them.
	p.set("affected", "210")
	p.expect("affected in the address", `new URLSearchParams(location.search).get("affected")`, "210")
	p.set("affected", "200")
	p.turn(TabChoose)
	n := p.drawn()
	p.run(chromedp.Evaluate(`history.back()`, nil))
	p.settle(n)
	p.expect("back at", `document.getElementById("affected").value + " " + document.querySelectorAll("#outage-figures tbody tr").length`, "200 2")
	p.clean()
}

func browserKeyboard(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit("?" + First(TabOutage).Query().Encode())
	focus := func() string {
		t.Helper()
		return p.text(`document.activeElement.id || document.activeElement.className || document.activeElement.tagName`)
	}
	p.run(chromedp.Evaluate(`document.querySelector("#bar .rest").open = true`, nil))
	// The first Tab focuses the link to the charts. From there every control comes in turn, with a visible focus.
	var order []string
	for range 60 {
		p.run(chromedp.KeyEvent(kb.Tab))
		at := focus()
		order = append(order, at)
		var outlined bool
		p.eval(`(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1; })()`, &outlined)
		if !outlined {
			t.Errorf("%s has the focus and does not show it", at)
		}
		if at == "own-y" {
			break
		}
	}
	got := strings.Join(order, " ")
	want := "skip A A to-story to-outage restart SUMMARY strategy-0 remove-0 remove-1 remove-2 remove-3 remove-4 remove-5 add text name curve p-d cap jitter limit budget processes tiled SUMMARY BUTTON BUTTON BUTTON affected down capacity timeout SUMMARY seed own-y"
	if got != want {
		t.Errorf("Tab goes through\n%s\nwant\n%s", got, want)
	}
	// Arrows lead from tab to tab.
	p.run(chromedp.Focus("#to-outage", chromedp.ByQuery))
	n := p.drawn()
	p.run(chromedp.KeyEvent(kb.ArrowRight))
	p.settle(n)
	n = p.drawn()
	p.run(chromedp.KeyEvent(kb.ArrowLeft))
	p.settle(n)
	if focus() != "to-outage" {
		t.Errorf("the arrows led to %s", focus())
	}
	// Arrows choose the strategy.
	p.run(chromedp.Focus("#strategy-0", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown))
	p.expect("the arrow chose", `document.getElementById("name").value`, "15 %")
	// Typing redraws, and does not change the field.
	n = p.drawn()
	p.run(chromedp.Focus("#p-factor", chromedp.ByQuery), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(".5"))
	p.settle(n)
	p.expect("typed", `document.getElementById("p-factor").value + " " + document.getElementById("text").value`, "2.5 exponential base=1s factor=2.5 cap=30s jitter=default")
	if focus() != "p-factor" {
		t.Errorf("the focus went to %s", focus())
	}
	// Space ticks a box, Enter presses a button.
	n = p.drawn()
	p.run(chromedp.Focus("#tiled", chromedp.ByQuery), chromedp.KeyEvent(" "))
	p.settle(n)
	p.expect("ticked", `document.getElementById("text").value`, "exponential base=1s factor=2.5 cap=30s tiled")
	n = p.drawn()
	p.run(chromedp.Focus("#add", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	p.settle(n)
	n = p.drawn()
	p.run(chromedp.Focus("#remove-0", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	p.settle(n)
	p.expect("the strategies", `[...document.querySelectorAll("#outage-figures tbody th")].map((e) => e.textContent).join()`, "strategy 2,equal,full,decorrelated,soon, then a wave,strategy 7")
	p.clean()
}

func browserWrongInput(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit("?tab=outage&s=mine:+exponential+base%3D1s+factor%3D2+cap%3D30s")
	before := p.look()
	tests := []struct{ id, value, at, says string }{
		{"text", "exponental base=1s factor=2", "text", "did you mean exponential?"},
		{"text", "exponential base=1s factor=2 jiter=full", "text", `"jiter=full"`},
		{"text", "exponential base=1s factor=2 cap=30s", "", ""},
		{"cap", "soon", "cap", `"cap=soon": "soon" is not a duration`},
		{"cap", "30s", "", ""},
		{"p-factor", "two", "p-factor", `"two" is not a number`},
		{"p-factor", "2", "", ""},
		{"affected", "99999999", "affected", "want a whole number from 1 to 2000"},
		{"affected", "1000", "", ""},
	}
	for _, test := range tests {
		p.set(test.id, test.value)
		message := p.text(`document.getElementById("error").textContent + document.getElementById("status").textContent`)
		if !strings.Contains(message, test.says) || (test.says == "") != (message == "") {
			t.Errorf("%s = %s says %q, want %q", test.id, test.value, message, test.says)
		}
		if at := p.text(`document.querySelector("[aria-invalid]")?.id ?? ""`); at != test.at {
			t.Errorf("%s = %s marks %q, want %q", test.id, test.value, at, test.at)
		}
		if after := p.look(); after["outage"] != before["outage"] {
			t.Errorf("%s = %s: the charts are not those of before", test.id, test.value)
		}
	}
	p.clean()
}

func browserStrategies(t *testing.T, ctx context.Context, address string) {
	p := open(t, ctx, address, 1440, 900)
	p.visit(small(TabOutage))
	click := func(selector string) {
		t.Helper()
		n := p.drawn()
		p.run(chromedp.Click(selector, chromedp.ByQuery))
		p.settle(n)
	}
	for range report.MaxStrategies - 6 {
		click("#add")
	}
	var rows int
	p.eval(`document.querySelectorAll("#outage-figures tbody tr").length`, &rows)
	var disabled bool
	p.eval(`document.getElementById("add").disabled`, &disabled)
	if rows != report.MaxStrategies || !disabled {
		t.Errorf("%d strategies, adding disabled: %v; want %d and true", rows, disabled, report.MaxStrategies)
	}
	// The focus stays in the list when the last of eight strategies is removed, and the removal can be undone.
	p.run(chromedp.Focus(fmt.Sprintf("#remove-%d", report.MaxStrategies-1), chromedp.ByQuery))
	n := p.drawn()
	p.run(chromedp.KeyEvent(kb.Enter))
	p.settle(n)
	p.expect("the focus", `document.activeElement.id`, "add")
	titles := `[...document.querySelectorAll("#strategies label")].map((e) => e.textContent.trim()).join()`
	before := p.text(titles)
	click("#remove-1")
	click("#undo button")
	p.expect("undone, the strategies", titles, before)
	for range report.MaxStrategies - 2 {
		click("#remove-0")
	}
	p.eval(`document.querySelectorAll(".strategy button").length`, &rows)
	if rows != 0 {
		t.Error("the last strategy can be removed")
	}
	p.clean()
}

func browserLayout(t *testing.T, ctx context.Context, address string) {
	for _, width := range []int64{420, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			if !nightly() && (width != 420 || scheme != "dark") {
				continue
			}
			t.Run(fmt.Sprintf("%d %s", width, scheme), func(t *testing.T) {
				p := open(t, ctx, address, width, 1300)
				p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
				p.visit("")
				for _, state := range Presets() {
					p.visit("?" + state.Query().Encode())
					p.look()
					var wrong []string
					p.eval(layoutProblems, &wrong)
					for _, w := range wrong {
						t.Errorf("%s: %s", state.Tab, w)
					}
					if dir := os.Getenv("RETRYWHEN_SCREENSHOTS"); dir != "" {
						p.screenshot(filepath.Join(dir, fmt.Sprintf("lab-%s-%d-%s.png", state.Tab, width, scheme)))
					}
				}
				var more []string
				p.eval(`([...document.querySelectorAll("details.rest")].forEach((d) => (d.open = true)), document.getElementById("panel").open = document.getElementById("share").open = true, `+layoutProblems+`)`, &more)
				for _, w := range more {
					t.Error(w)
				}
				p.clean()
			})
		}
	}
}

// screenshot writes a picture of the top of the page in its first state.
func (p *tab) screenshot(name string) {
	p.t.Helper()
	var png []byte
	p.run(chromedp.Evaluate(`for (const fold of document.querySelectorAll("details.more")) fold.open = false; scrollTo(0, 0)`, nil), chromedp.CaptureScreenshot(&png))
	noError(p.t, os.WriteFile(name, png, 0o600))
}

// layoutProblems returns what makes a page hard to read: elements wider than the window, letters that are too small or
// too pale, charts larger than their figure, axis labels that overlap, and controls too small to hit.
const layoutProblems = `(() => {
	const wrong = [];
	if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page is " + document.documentElement.scrollWidth + " wide");
	const channel = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
	const parse = (s) => { const m = s.match(/[\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m; };
	const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
	for (const e of document.querySelectorAll("h1, h2, h3, p, label, legend, th, td, dt, dd, code, button, summary, figcaption, svg text, .legend span")) {
		if (!e.textContent.trim() || e.disabled || !e.getClientRects().length) continue;
		const s = getComputedStyle(e);
		const name = e.tagName + " " + e.textContent.trim().slice(0, 30);
		if (parseFloat(s.fontSize) < 11) wrong.push(name + ": letters of " + s.fontSize);
		const a = luminance(parse(e instanceof SVGElement ? s.fill : s.color)), b = luminance(ground(e));
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (contrast < 4.5) wrong.push(name + ": a contrast of " + contrast.toFixed(1));
	}
	for (const f of document.querySelectorAll("figure")) {
		const box = f.getBoundingClientRect();
		for (const svg of f.querySelectorAll("svg")) {
			const r = svg.getBoundingClientRect();
			if (r.right > box.right + 1 || r.left < box.left - 1) wrong.push(f.dataset.title + ": the chart runs out of its figure");
			if (r.width < Math.min(300, box.width - 1)) wrong.push(f.dataset.title + ": the chart is " + r.width + " wide");
			const labels = [...svg.querySelectorAll("text")].map((e) => e.getBoundingClientRect()).filter((r) => r.width > 0);
			for (let i = 0; i < labels.length; i++) for (let j = 0; j < i; j++) {
				const x = Math.min(labels[i].right, labels[j].right) - Math.max(labels[i].left, labels[j].left);
				const y = Math.min(labels[i].bottom, labels[j].bottom) - Math.max(labels[i].top, labels[j].top);
				if (x > 1 && y > 4) wrong.push(svg.parentElement.getAttribute("aria-label") + ": labels over each other");
			}
		}
	}
	for (const e of document.querySelectorAll("input:not([type=checkbox], [type=radio]), select, button")) {
		const r = e.getBoundingClientRect();
		if (r.width && (r.height < 28 || r.width < 28)) wrong.push(e.id + " is " + r.width + " by " + r.height);
		if (e.tagName === "BUTTON" && e.scrollWidth > e.clientWidth + 1) wrong.push(e.id + ": its text runs out of it");
	}
	for (const e of document.querySelectorAll("[aria-label]")) {
		if (!e.role && !["A", "BUTTON", "INPUT", "SELECT", "FORM", "NAV", "ASIDE"].includes(e.tagName)) wrong.push(e.tagName + " has a name and no role");
	}
	for (const e of document.querySelectorAll("input[type=radio]")) {
		const r = e.getBoundingClientRect();
		if (r.width && r.width < 12) wrong.push(e.id + " is squeezed to " + r.width);
	}
	return [...new Set(wrong)];
})()`

func browserStatic(t *testing.T, ctx context.Context, _ string) {
	for tab, want := range map[Tab]int{TabOutage: 6, TabRecover: 6} {
		state := First(tab)
		state.Strategies = append(report.DefaultHerd().Strategies, must("</script><b>: linear d=1s")...)
		r := result(t, tab, state)
		name := filepath.Join(t.TempDir(), "page.html")
		f, err := os.Create(name)
		noError(t, err)
		noError(t, errors.Join(WriteResult(f, tab, "retrywhen sim <b>", r), f.Close()))
		p := open(t, ctx, "file://"+name, 1440, 900)
		p.visit("")
		p.eval(`document.querySelectorAll("details.more").forEach((d) => (d.open = true))`, nil)
		p.look()
		var charts, live, tabs int
		p.eval(`[...document.querySelectorAll("figure svg")].filter((e) => e.checkVisibility()).length`, &charts)
		p.eval(`[...document.querySelectorAll("form, #panel, header select, header button")].filter((e) => e.getClientRects().length).length`, &live)
		p.eval(`[...document.querySelectorAll(".tabs button")].filter((e) => e.getClientRects().length).length`, &tabs)
		if charts != want || live != 0 || tabs != 0 || p.text(`document.getElementById("made").textContent`) != "retrywhen sim <b>" {
			t.Errorf("%s: %d charts, want %d; %d controls and %d tabs, want none", tab, charts, want, live, tabs)
		}
		p.mu.Lock()
		for _, r := range p.requests {
			if r != "file://"+name && !strings.HasPrefix(r, "data:") {
				t.Errorf("the page asks for %s", r)
			}
		}
		p.mu.Unlock()
		p.clean()
	}
}
