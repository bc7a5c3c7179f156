package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// module is the go command's description of a module that this one requires.
type module struct {
	Path, Version, Dir string
	Replace            *struct{ Dir string }
}

// module returns the module with the path, or the zero module for this library's own and for "".
func (w *writer) module(path string) module {
	if path == "" || path == retrywhenModule {
		return module{}
	}
	m, ok := w.modules[path]
	if !ok {
		cmd := exec.Command("go", "list", "-m", "-json", path)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &m)
		}
		if err != nil && w.err == nil {
			w.err = fmt.Errorf("go list -m %s: %w", path, err)
		}
		w.modules[path] = m
	}
	return m
}

// repositories maps modules to their GitHub repositories, if the path does not show them.
var repositories = map[string]string{k8sModule: "kubernetes/apimachinery", rxgoModule: "ReactiveX/RxGo"}

// link returns a link to the line of the module's code, or to the issue.
func (w *writer) link(modulePath string, p place) (string, error) {
	if p.issue != "" {
		repository, number, _ := strings.Cut(p.issue, "#")
		return fmt.Sprintf("[#%s](https://github.com/%s/issues/%s)", number, repository, number), nil
	}
	if p.module != "" {
		modulePath = p.module
	}
	m := w.module(modulePath)
	code, err := os.ReadFile(filepath.Join(m.Dir, filepath.FromSlash(p.file)))
	if err != nil {
		return "", err
	}
	i := strings.Index(string(code), p.text)
	if i < 0 {
		return "", fmt.Errorf("%s %s: %s no longer has %q", modulePath, m.Version, p.file, p.text)
	}
	line := 1 + strings.Count(string(code[:i]), "\n")
	return fmt.Sprintf("[%s:%d](https://github.com/%s/blob/%s/%s#L%d)", path.Base(p.file), line, repository(modulePath), m.Version, p.file, line), nil
}

func repository(modulePath string) string {
	if r := repositories[modulePath]; r != "" {
		return r
	}
	parts := strings.Split(modulePath, "/")
	return strings.Join(parts[1:3], "/")
}
