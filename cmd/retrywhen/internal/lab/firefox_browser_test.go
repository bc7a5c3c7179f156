package lab

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// firefox is a running Firefox, which is controlled by Marionette: JSON texts, each after its length and a colon.
type firefox struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	id   int
}

// startFirefox starts Firefox with a profile of its own. Without Firefox the test is skipped, or with
// RETRYWHEN_FIREFOX=required fails.
func startFirefox(t *testing.T) *firefox {
	t.Helper()
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		path, err = exec.LookPath("firefox")
	}
	if err != nil && os.Getenv("RETRYWHEN_FIREFOX") == "required" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip("there is no Firefox")
	}
	profile, err := os.MkdirTemp("", "lab-firefox-")
	noError(t, err)
	t.Cleanup(func() { removeProfile(t, profile) })
	prefs := `user_pref("marionette.port", 0);
user_pref("app.update.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.enabled", false);
`
	noError(t, os.WriteFile(filepath.Join(profile, "user.js"), []byte(prefs), 0o600))
	c := exec.Command(path, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", profile)
	c.Env = append(os.Environ(), "HOME="+profile, "MOZ_CRASHREPORTER_DISABLE=1")
	noError(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	f := &firefox{t: t}
	t.Cleanup(func() {
		if f.conn != nil {
			_ = f.conn.Close()
		}
		_ = c.Process.Kill()
		<-ended
	})
	port := filepath.Join(profile, "MarionetteActivePort") // Firefox writes it when it listens
	for until := time.Now().Add(2 * time.Minute); f.conn == nil; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(port)
		if err == nil && len(text) > 0 {
			f.conn, err = net.Dial("tcp4", "127.0.0.1:"+strings.TrimSpace(string(text)))
		}
		if f.conn == nil && time.Now().After(until) {
			t.Fatalf("%s does not listen: %v", path, err)
		}
	}
	f.in = bufio.NewReader(f.conn)
	f.read() // its greeting
	f.do("WebDriver:NewSession", map[string]any{"capabilities": map[string]any{}})
	f.do("WebDriver:SetTimeouts", map[string]any{"pageLoad": 120_000, "script": 120_000})
	return f
}

// read reads one text.
func (f *firefox) read() []byte {
	f.t.Helper()
	_ = f.conn.SetDeadline(time.Now().Add(3 * time.Minute)) // it fails only for a closed connection
	length, err := f.in.ReadString(':')
	noError(f.t, err)
	n, err := strconv.Atoi(strings.TrimSuffix(length, ":"))
	noError(f.t, err)
	text := make([]byte, n)
	if _, err := io.ReadFull(f.in, text); err != nil {
		f.t.Fatal(err)
	}
	return text
}

// do runs a command and returns the value of its result.
func (f *firefox) do(command string, parameters map[string]any) json.RawMessage {
	f.t.Helper()
	f.id++
	text, err := json.Marshal([]any{0, f.id, command, parameters})
	noError(f.t, err)
	if _, err := fmt.Fprintf(f.conn, "%d:%s", len(text), text); err != nil {
		f.t.Fatal(err)
	}
	var reply [4]json.RawMessage // 1, the id, an error, the result
	noError(f.t, json.Unmarshal(f.read(), &reply))
	if string(reply[2]) != "null" {
		f.t.Fatalf("%s: %s", command, reply[2])
	}
	var result struct{ Value json.RawMessage }
	_ = json.Unmarshal(reply[3], &result) // some results have no value
	return result.Value
}

// eval runs the body of a function in the page.
func (f *firefox) eval(script string, into any) {
	f.t.Helper()
	value := f.do("WebDriver:ExecuteScript", map[string]any{"script": script, "args": []any{}})
	if into == nil {
		return
	}
	if err := json.Unmarshal(value, into); err != nil {
		f.t.Fatalf("%v: %s", err, value)
	}
}

// wait waits until an expression is true.
func (f *firefox) wait(expression string) {
	f.t.Helper()
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var yes bool
		if f.eval("return Boolean("+expression+")", &yes); yes {
			return
		}
		if time.Now().After(until) {
			f.t.Fatalf("%s has not become true", expression)
		}
	}
}

// errors returns the errors of pages on the console.
func (f *firefox) errors() (all []string) {
	f.t.Helper()
	defer f.chrome()()
	f.eval(`return Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError && !(m.flags & Ci.nsIScriptError.warningFlag) && /^(http|file)/.test(m.sourceName)).map((m) => m.sourceName + ":" + m.lineNumber + ": " + m.errorMessage)`, &all)
	return all
}

// chrome leads scripts to the browser itself, until its result is called.
func (f *firefox) chrome() (back func()) {
	f.do("Marionette:SetContext", map[string]any{"value": "chrome"})
	return func() { f.do("Marionette:SetContext", map[string]any{"value": "content"}) }
}

// resize makes the page so wide. A window cannot be as narrow as a telephone.
func (f *firefox) resize(width int) {
	f.t.Helper()
	f.do("WebDriver:SetWindowRect", map[string]any{"width": max(width, 800), "height": 1000})
	defer f.chrome()()
	f.eval(fmt.Sprintf(`gBrowser.selectedBrowser.style.maxWidth = "%dpx"`, width), nil)
}

// The page works in Firefox too: the story and the first result are drawn, and a picture moves.
func TestFirefox(t *testing.T) {
	if testing.Short() || !nightly() {
		t.Skip("it runs nightly")
	}
	f := startFirefox(t)
	address := serveLab(t)
	for _, width := range []int{420, 1440} {
		f.resize(width)
		f.do("WebDriver:Navigate", map[string]any{"url": address})
		f.wait(`Number(document.body.dataset.drawn) > 0 && !document.body.classList.contains("pending")`)
		var page struct {
			Charts, Scenes, Wide, Inner int
			Sentence                    string
			Map                         bool
		}
		f.eval(`return {
			charts: document.querySelectorAll("#recover svg").length,
			scenes: [...document.querySelectorAll("svg.scene")].filter((s) => s.getBoundingClientRect().height > 100).length,
			wide: document.documentElement.scrollWidth, inner: innerWidth,
			sentence: document.getElementById("recover-sentence").textContent,
			map: [...document.querySelectorAll(".map .cells")].filter((c) => c.checkVisibility()).length === 1,
		}`, &page)
		if page.Charts != 3 || page.Scenes != 2 || !page.Map || !strings.Contains(page.Sentence, "keeps the server down; ") {
			t.Errorf("%d wide: %+v", width, page)
		}
		if page.Wide > page.Inner || page.Inner != width {
			t.Errorf("the page is %d wide in a window of %d, want %d", page.Wide, page.Inner, width)
		}
		f.eval(`document.querySelector(".story .play").click()`, nil)
		f.wait(`document.querySelector(".screen .lane").style.strokeDasharray === "none"`) // it has moved
		f.eval(`document.querySelector(".map .dot").dispatchEvent(new KeyboardEvent("keydown", {key: "Home", bubbles: true}))`, nil)
		f.wait(`document.querySelector("#map .verdict").textContent.startsWith("Back at once")`)
		if dir := os.Getenv("RETRYWHEN_SCREENSHOTS"); dir != "" {
			var data string
			noError(t, json.Unmarshal(f.do("WebDriver:TakeScreenshot", map[string]any{"full": true}), &data))
			png, err := base64.StdEncoding.DecodeString(data)
			noError(t, err)
			noError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("firefox-%d.png", width)), png, 0o600))
		}
	}
	for _, e := range f.errors() {
		t.Error(e)
	}
}
