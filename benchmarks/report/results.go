package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// results is what the runs came to, and where.
type results struct {
	Machine  string            `json:"machine"`
	Go       string            `json:"go"`
	Command  string            `json:"command"`
	Rounds   int               `json:"rounds"`
	Date     string            `json:"date"`
	Versions map[string]string `json:"versions"` // of the modules that are compared
	Figures  []figure          `json:"figures"`
}

func newResults(dir string, p plan) (*results, error) {
	versions, err := command(dir, "go", "list", "-m", "-f", "{{if not .Indirect}}{{.Path}} {{.Version}}{{end}}", "all")
	if err != nil {
		return nil, err
	}
	goVersion, err := command(dir, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return nil, err
	}
	r := &results{
		Machine:  machine(),
		Go:       strings.Join(strings.Fields(string(goVersion)), " "),
		Command:  p.command,
		Rounds:   p.rounds,
		Date:     time.Now().UTC().Format(time.DateOnly),
		Versions: map[string]string{},
	}
	for line := range strings.Lines(string(versions)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok && version != "v0.0.0" {
			r.Versions[path] = version
		}
	}
	return r, nil
}

// machine names the processor, as far as the system tells.
func machine() string {
	name := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d processors", name, runtime.NumCPU())
}

func load(file string) (*results, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(results)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

func (r *results) save(file string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// documents returns what the results are written to, by path from the module's directory.
func (r *results) documents(dir string) (map[string][]byte, error) {
	comparison := filepath.Join("..", "docs", "comparison.md")
	text, err := os.ReadFile(filepath.Join(dir, comparison))
	if err != nil {
		return nil, err
	}
	if text, err = r.fill(text); err != nil {
		return nil, fmt.Errorf("%s: %w", comparison, err)
	}
	return map[string][]byte{
		comparison:   text,
		"RESULTS.md": []byte(r.markdown()),
		filepath.Join("..", "docs", "img", "bench-items.svg"):       r.itemsChart(),
		filepath.Join("..", "docs", "img", "bench-resubscribe.svg"): r.resubscribeChart(),
	}, nil
}

func (r *results) write(dir string) error {
	documents, err := r.documents(dir)
	if err != nil {
		return err
	}
	for path, text := range documents {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// get returns a figure's median.
func (r *results) get(name, unit string) (float64, bool) {
	for _, f := range r.Figures {
		if f.Name == name && f.Unit == unit {
			return f.Median, true
		}
	}
	return 0, false
}

// spread returns a figure's spread as benchstat gives it, empty if there is none.
func (r *results) spread(name, unit string) string {
	for _, f := range r.Figures {
		if f.Name == name && f.Unit == unit && f.Spread != "∞" {
			return f.Spread
		}
	}
	return ""
}

// label is how the documents name a way of a benchmark.
func (r *results) label(way string) string {
	for _, l := range labels {
		if l.way == way {
			if v := r.Versions[l.module]; v != "" {
				return l.label + " " + v + l.rest
			}
			return l.label + l.rest
		}
	}
	return way
}

// labels are the names in the documents: the version stands before the rest.
var labels = []struct{ way, label, module, rest string }{
	{"loop", "plain loop", "", ""},
	{"loop-inlined", "plain loop, all inlined", "", ""},
	{"iter.Seq", "`iter.Seq`", "", ""},
	{"retrywhen", "**retrywhen**", "", ""},
	{"retrywhen-background", "**retrywhen**, `context.Background()`", "", ""},
	{"retrywhen-Retry", "**retrywhen** `Retry(n)`", "", ""},
	{"retrywhen-RetryWhen", "**retrywhen** `RetryWhen(policy)`", "", ""},
	{"samber-ro", "samber/ro", "github.com/samber/ro", ""},
	{"cilium-stream", "cilium/stream", "github.com/cilium/stream", ""},
	{"rxgo", "rxgo", "github.com/reactivex/rxgo/v2", ""},
	{"rxgo-Retry", "rxgo", "github.com/reactivex/rxgo/v2", " `Retry`"},
	{"rxgo-BackOffRetry", "rxgo", "github.com/reactivex/rxgo/v2", " `BackOffRetry`"},
	{"destel-rill", "destel/rill", "github.com/destel/rill", ""},
	{"sourcegraph-conc", "sourcegraph/conc stream", "github.com/sourcegraph/conc", ""},
	{"channels", "channels", "", ""},
	{"channels-select", "channels, select with ctx", "", ""},
	{"channels-buffered", "channels of 128", "", ""},
	{"channels-buffered-select", "channels of 128, select with ctx", "", ""},
	{"cenkalti-backoff", "cenkalti/backoff", "github.com/cenkalti/backoff/v7", ""},
	{"avast-retry-go", "avast/retry-go", "github.com/avast/retry-go/v5", ""},
	{"avast-retry-go-own-context", "avast/retry-go", "github.com/avast/retry-go/v5", ", a context for each call"},
	{"failsafe-go", "failsafe-go", "github.com/failsafe-go/failsafe-go", ""},
	{"sethvargo-go-retry", "sethvargo/go-retry", "github.com/sethvargo/go-retry", ""},
	{"k8s-wait", "k8s.io/apimachinery wait", "k8s.io/apimachinery", ""},
	{"goroutine", "a goroutine that sleeps", "", ""},
	{"AfterFunc", "`time.AfterFunc`", "", ""},
	{"MapRetry", "**retrywhen** `MapRetry`", "", ""},
}
