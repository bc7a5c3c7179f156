package lab

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPageIsWhole(t *testing.T) {
	state := Default()
	state.Strategies = append(state.Strategies, must("</script><i>: linear d=1s")...)
	state.Affected, state.Down, state.Watch = 60, 15*time.Second, 50*time.Second
	for _, tab := range Tabs {
		r := result(t, tab, state)
		var page bytes.Buffer
		noError(t, WriteResult(&page, tab, "retrywhen </script>", r))
		text := page.String()
		for _, no := range []string{`src="`, `href="app`, "</script><i>", "https://cdn", "standstill", "canonical", `"og:`} {
			if strings.Contains(text, no) {
				t.Errorf("the page has %s", no)
			}
		}
		if n := strings.Count(text, "</script>"); n != 2 {
			t.Errorf("%d scripts end, want 2", n)
		}
		_, rest, _ := strings.Cut(text, `<script id="data" type="application/json">`)
		data, _, _ := strings.Cut(rest, "</script>")
		var inside struct {
			Engine  string
			State   struct{ Strategies []struct{ Title, Go string } }
			Numbers map[Tab]json.RawMessage
		}
		noError(t, json.Unmarshal([]byte(data), &inside))
		if inside.Engine != "none" || len(inside.Numbers) != 1 {
			t.Errorf("engine %s, numbers of %d tabs", inside.Engine, len(inside.Numbers))
		}
		var want any
		wrote, err := json.Marshal(r.Page())
		if err != nil || json.Unmarshal(wrote, &want) != nil || string(inside.Numbers[tab]) != string(wrote) {
			t.Errorf("%s: %v, the page has other numbers than the result", tab, err)
		}
		if all := inside.State.Strategies; tab != TabChoose && all[len(all)-1].Title != "</script><i>" || tab == TabRecover && !strings.Contains(all[0].Go, "retry.AttemptTimeout(time.Second)") {
			t.Errorf("%s: %+v", tab, all)
		}
	}
}

// result computes the result of a tab.
func result(t *testing.T, tab Tab, s State) (r report.Paged) {
	t.Helper()
	var err error
	switch tab {
	case TabRecover:
		r, err = s.overload().Run(t.Context())
	case TabChoose:
		r, err = s.choose().Run(t.Context())
	default:
		r, err = s.outage().Run(t.Context())
	}
	noError(t, err)
	return r
}

// The labels of the controls are those of the errors, and the colors of the strategies those of the pictures.
func TestPageAgreesWithTheProgram(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		b, err := fs.ReadFile(assets(), name)
		noError(t, err)
		return string(b)
	}
	page, ids := read("index.html"), map[string]string{"y": "own-y"}
	for _, f := range fields {
		label := regexp.MustCompile(`<label [^>]*for="` + cmp.Or(ids[f.name], f.name) + `">([^<]*)(<input[^>]*> ([^<]*))?`).FindStringSubmatch(page)
		if f.name != "tab" && (label == nil || strings.TrimSpace(label[1]+label[3]) != f.label) {
			t.Errorf("the control of %s has the label %q, want %q", f.name, label, f.label)
		}
	}
	light, dark, _ := strings.Cut(read("app.css"), "prefers-color-scheme")
	for i := range report.MaxStrategies {
		for at, css := range []string{light, dark} {
			if want := fmt.Sprintf("--s%d: %s;", i, picture.Series(i).Hex(at == 1)); !strings.Contains(css, want) {
				t.Errorf("app.css has no %s", want)
			}
		}
	}
}

// The bundle is built from src. The test runs nightly, because it needs npm, its registry, and some time.
func TestBundleIsBuiltFromItsSource(t *testing.T) {
	if os.Getenv("RETRYWHEN_NPM") != "required" {
		t.Skip("it runs nightly: RETRYWHEN_NPM=required")
	}
	dir := npmInstall(t)
	made := filepath.Join(dir, "made")
	build := exec.CommandContext(t.Context(), "npm", "run", "build", "--", made)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("npm run build: %v\n%s", err, out)
	}
	for _, name := range []string{"app.js", "worker.js", "app.licenses.txt"} {
		want, err := os.ReadFile(filepath.Join(made, name))
		noError(t, err)
		got, err := fs.ReadFile(assets(), name)
		noError(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("assets/%s is not built from src: npm ci && npm run build in cmd/retrywhen/internal/lab", name)
		}
	}
}

// npmInstall copies the sources to a folder of the test and installs the packages there.
func npmInstall(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "build.mjs"} {
		copyFile(t, name, filepath.Join(dir, name))
	}
	noError(t, os.CopyFS(filepath.Join(dir, "src"), os.DirFS("src")))
	install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	noError(t, err)
	noError(t, os.WriteFile(to, b, 0o600))
}

// The stored numbers are those that are computed, so nothing on the page depends on how fast a machine is.
func TestStored(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes all first numbers of the page")
	}
	check := func(name, want string) {
		t.Helper()
		file := filepath.Join("stored", name)
		if *update {
			noError(t, os.WriteFile(file, []byte(want), 0o644))
		}
		if got, err := keptFiles.ReadFile("stored/" + name); !*update && (err != nil || string(got) != want) {
			t.Errorf("%s is not what is computed (%v): go test -run TestStored -update ./internal/lab", file, err)
		}
	}
	first, err := opening(t.Context())
	noError(t, err)
	check("opening.html", first)
	for _, tab := range Tabs {
		page, err := computes[tab](t.Context(), First(tab))
		noError(t, err)
		text, err := json.Marshal(page)
		noError(t, err)
		check("first-"+string(tab)+".json", string(text))
	}
}

// The page's script formats times as the text and the axes do.
func TestTimesOfTheScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("RETRYWHEN_NPM") == "required" {
			t.Fatal(err)
		}
		t.Skip("there is no node")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	times := []time.Duration{0, 1, 999, 1000, 999_499, 999_999_999, time.Second, 59_950 * time.Millisecond, time.Minute, 90 * time.Second, 90_250 * time.Millisecond,
		time.Hour - time.Millisecond, time.Hour, 24*time.Hour - time.Second, 36 * time.Hour, 800 * time.Hour, 100 * 365 * 24 * time.Hour, -90 * time.Second}
	for range 2000 {
		times = append(times, time.Duration(math.Pow(10, 18*rng.Float64())))
	}
	in := make([]report.Seconds, len(times))
	for i, d := range times {
		in[i] = report.Seconds(d)
	}
	text, err := json.Marshal(in)
	noError(t, err)
	script := `import {time} from "./src/time.js"; console.log(JSON.stringify(` + string(text) + `.map((s) => [s, time(s)])))`
	out, err := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got [][2]any
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(times) {
		t.Fatalf("%v, %d times", err, len(got))
	}
	for _, g := range got { // of the numbers in the page's data, which have six digits
		if want := axis.Time(time.Duration(math.Round(g[0].(float64) * 1e9))); g[1] != want {
			t.Errorf("%v s is %s, want %s", g[0], g[1], want)
		}
	}
}
