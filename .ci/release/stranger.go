package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// A stranger has an empty folder, an empty module cache, and the proxy.

//go:embed testdata/user.go
var program []byte

// tryAll uses each module as its users will.
func (t *tools) tryAll(out io.Writer, proxy, version string, modules []module) error {
	env := t.cache("stranger", library(modules), proxy, t.third)
	for _, m := range modules {
		var err error
		switch {
		case m.Dir == ".":
			err = t.tryLibrary(out, env, m, version, program)
		case strings.HasPrefix(m.Dir, "cmd/"):
			err = t.tryCommand(out, env, m, version)
		default:
			err = t.tryModule(out, env, m, version)
		}
		if err != nil {
			return fmt.Errorf("a stranger with %s@%s: %w", m.Path, version, err)
		}
	}
	return nil
}

// empty returns a new folder, with a module in it.
func (t *tools) empty(env []string) (string, error) {
	dir, err := os.MkdirTemp(t.temp, "stranger")
	if err != nil {
		return "", err
	}
	_, err = t.run(dir, env, "go", "mod", "init", "example.com/stranger")
	return dir, err
}

// tryLibrary writes a program, gets the library, and runs it. No module but the library may be linked, and go.sum may
// have the contents of the library only; of what the library requires it may have the go.mod files.
func (t *tools) tryLibrary(out io.Writer, env []string, m module, version string, program []byte) error {
	dir, err := t.empty(env)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), program, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n$ go get %s@%s\n", m.Path, version)
	if _, err := t.run(dir, env, "go", "get", m.Path+"@"+version); err != nil {
		return err
	}
	printed, err := t.run(dir, env, "go", "run", ".")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "$ go run .\n%s", printed)
	linked, err := t.run(dir, env, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".")
	if err != nil {
		return err
	}
	set := map[string]bool{}
	for path := range strings.FieldsSeq(linked) {
		set[path] = true
	}
	if len(set) != 1 || !set[m.Path] {
		return fmt.Errorf("the program links %v, want %s only", sorted(set), m.Path)
	}
	fmt.Fprintf(out, "It links %s only.\n", m.Path)
	if err := sums(out, dir, "go.sum after go get", m.Path); err != nil {
		return err
	}
	if _, err := t.run(dir, env, "go", "mod", "tidy"); err != nil {
		return err
	}
	if _, err := t.run(dir, env, "go", "mod", "verify"); err != nil {
		return err
	}
	return sums(out, dir, "go.sum after go mod tidy", "")
}

// sums prints go.sum. If only is not empty it is the one module whose contents may be listed.
func sums(out io.Writer, dir, title, only string) error {
	text, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s:\n", title)
	var extra []string
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		fmt.Fprintln(out, "\t"+lines.Text())
		if f := strings.Fields(lines.Text()); len(f) == 3 && only != "" && f[0] != only && !strings.HasSuffix(f[1], "/go.mod") {
			extra = append(extra, f[0]+" "+f[1])
		}
	}
	if len(extra) > 0 {
		return fmt.Errorf("%s has the contents of %s", title, strings.Join(extra, ", "))
	}
	return nil
}

// tryCommand installs a command and asks it for help.
func (t *tools) tryCommand(out io.Writer, env []string, m module, version string) error {
	bin, err := os.MkdirTemp(t.temp, "bin")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n$ go install %s@%s\n", m.Path, version)
	if _, err := t.run(bin, append(env, "GOBIN="+bin), "go", "install", m.Path+"@"+version); err != nil {
		return err
	}
	command := filepath.Join(bin, filepath.Base(m.Dir))
	if runtime.GOOS == "windows" {
		command += ".exe"
	}
	help, err := t.run(bin, nil, command, "-h")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "$ %s -h\n\t%s\n", filepath.Base(m.Dir), strings.ReplaceAll(strings.TrimSpace(help), "\n", "\n\t"))
	return nil
}

// tryModule gets all packages of a module: whatever they import must be there.
func (t *tools) tryModule(out io.Writer, env []string, m module, version string) error {
	dir, err := t.empty(env)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n$ go get %s/...@%s\n", m.Path, version)
	if _, err := t.run(dir, env, "go", "get", m.Path+"/...@"+version); err != nil {
		return err
	}
	packages, err := t.run(dir, env, "go", "list", m.Path+"/...")
	if err != nil {
		return err
	}
	if _, err := t.run(dir, env, "go", "list", "-deps", m.Path+"/..."); err != nil {
		return err
	}
	fmt.Fprintf(out, "\t%s\n", strings.ReplaceAll(strings.TrimSpace(packages), "\n", "\n\t"))
	return nil
}
