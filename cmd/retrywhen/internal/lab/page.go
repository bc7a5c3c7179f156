package lab

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// inside is the data in a page.
type inside struct {
	Engine   string            `json:"engine"` // the source of further numbers: worker or none
	Defaults describedDefaults `json:"defaults"`
	State    described         `json:"state"`
	Numbers  map[Tab]any       `json:"numbers"`
}

// data returns the data in a page of the first state, with the stored numbers of all tabs.
func data(engine string) ([]byte, error) {
	in := inside{Engine: engine, Defaults: describeDefaults(), State: describe(Default(), nil), Numbers: map[Tab]any{}}
	for _, t := range Tabs {
		var err error
		if in.Numbers[t], err = stored("first-" + string(t) + ".json"); err != nil {
			return nil, err
		}
	}
	return json.Marshal(in) // Marshal escapes <, so no text ends the script
}

// slot is the place of the data in the page.
const slot = `<script id="data" type="application/json"></script>`

func filled(data []byte) string {
	return strings.TrimSuffix(slot, "</script>") + string(data) + "</script>"
}

// WriteResult writes the page of a result as one file that needs no server: a tab, without controls. The command line
// is that of the result.
func WriteResult(w io.Writer, t Tab, commandLine string, r report.Paged) error {
	in := inside{Engine: "none", Numbers: map[Tab]any{t: r.Page()}}
	in.Defaults.Presets, in.Defaults.Most = []describedPreset{}, map[string]int{}
	in.State = described{Fields: map[string]string{"tab": string(t), "y": "shared"}, Strategies: []describedStrategy{}, Command: commandLine}
	for _, x := range r.Compared() {
		in.State.Strategies = append(in.State.Strategies, describeStrategy(x, 0))
	}
	data, err := json.Marshal(in) // Marshal escapes <, so no text ends the script
	if err != nil {
		return err
	}
	page, err := alone()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, strings.Replace(page, slot, filled(data), 1))
	return err
}

// alonePage is the name under which the script finds alone.
const alonePage = "alone.html"

// alone returns the page as one file without data, and without what the site says of itself. A page that is saved is
// this with the data of the page.
func alone() (string, error) {
	files := map[string]string{}
	for _, name := range []string{"index.html", "app.css", "app.js", "app.licenses.txt"} {
		b, err := fs.ReadFile(assets(), name)
		if err != nil {
			return "", err
		}
		files[name] = string(b)
	}
	head, rest, _ := strings.Cut(files["index.html"], `<link rel="canonical"`)
	_, rest, _ = strings.Cut(rest, `content="summary_large_image">`)
	return strings.NewReplacer(
		"Five seconds of standstill, and your retries make it an outage", "A simulation of retries",
		`<link rel="stylesheet" href="app.css">`, "<style>\n"+files["app.css"]+"</style>",
		`<script src="app.js" defer></script>`, "<!--\n"+strings.ReplaceAll(files["app.licenses.txt"], "--", "- -")+"-->\n<script>"+files["app.js"]+"</script>",
	).Replace(head + rest), nil
}

// WriteSite writes the page into a folder for a file server. The numbers of Default are in the page, so that it draws
// them at once. A worker computes all others. It needs the program of folder wasm as lab.wasm.gz in the same folder,
// and wasm_exec.js of the Go version that built it.
func WriteSite(folder string) error {
	data, err := data("worker")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(folder, assets()); err != nil {
		return err
	}
	page, err := whole()
	if err != nil {
		return err
	}
	saved, err := alone()
	return errors.Join(err,
		os.WriteFile(filepath.Join(folder, "index.html"), []byte(strings.Replace(page, slot, filled(data), 1)), 0o644),
		os.WriteFile(filepath.Join(folder, alonePage), []byte(saved), 0o644))
}

// whole returns index.html with its opening.
func whole() (string, error) {
	page, err := fs.ReadFile(assets(), "index.html")
	if err != nil {
		return "", err
	}
	first, err := keptFiles.ReadFile("stored/opening.html")
	return strings.Replace(string(page), "<!-- opening -->\n", string(first), 1), err
}
