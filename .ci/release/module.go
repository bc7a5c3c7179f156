package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// module is one module of the repository that is released.
type module struct {
	Path     string
	Dir      string   // its folder, with slashes; "." is the library's
	own      []string // the modules of the repository that it requires
	replaces []string // the modules of the repository that it replaces
}

func (m module) tag(version string) string { return path.Join(m.Dir, version) }

// library returns the path of the module at the top, which begins that of every other.
func library(modules []module) string {
	return modules[slices.IndexFunc(modules, func(m module) bool { return m.Dir == "." })].Path
}

// unreleased are the folders whose modules are for the repository alone.
var unreleased = []string{"benchmarks", ".ci"}

// goMod is what go mod edit -json writes.
type goMod struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
	Exclude []struct{ Path, Version string }
}

// modules returns the modules in dir that are released, each after those that it requires.
func (t *tools) modules(dir string) ([]module, error) {
	if _, err := t.git(dir, "add", "--all"); err != nil {
		return nil, err
	}
	files, err := t.git(dir, "ls-files", "--", "go.mod", "**/go.mod")
	if err != nil {
		return nil, err
	}
	parsed := map[string]goMod{}
	var order []string
	root := ""
	for file := range strings.FieldsSeq(files) {
		folder := path.Dir(file)
		if top, _, _ := strings.Cut(folder, "/"); slices.Contains(unreleased, top) || strings.Contains("/"+folder+"/", "/testdata/") {
			continue
		}
		text, err := t.run(filepath.Join(dir, folder), nil, "go", "mod", "edit", "-json")
		if err != nil {
			return nil, err
		}
		var mod goMod
		if err := json.Unmarshal([]byte(text), &mod); err != nil {
			return nil, err
		}
		if folder == "." {
			root = mod.Module.Path
		}
		parsed[folder] = mod
		order = append(order, folder)
	}
	if root == "" {
		return nil, errors.New("no go.mod at the top of the repository")
	}
	all := map[string]*module{}
	for _, folder := range order {
		m, err := newModule(root, folder, parsed[folder])
		if err != nil {
			return nil, err
		}
		all[m.Path] = m
	}
	for _, m := range all {
		for _, p := range append(m.own, m.replaces...) {
			if all[p] == nil {
				return nil, fmt.Errorf("%s requires or replaces %s, which is not a released module of the repository", m.Path, p)
			}
		}
	}
	var inOrder []module
	const begun, done = 1, 2
	state := map[string]int{}
	var visit func(p string) error
	visit = func(p string) error {
		switch state[p] {
		case begun:
			return fmt.Errorf("%s requires itself, by way of others", p)
		case done:
			return nil
		}
		state[p] = begun
		for _, q := range all[p].own {
			if err := visit(q); err != nil {
				return err
			}
		}
		state[p] = done
		inOrder = append(inOrder, *all[p])
		return nil
	}
	for _, folder := range append([]string{"."}, order...) { // the library first, if it can be
		if err := visit(parsed[folder].Module.Path); err != nil {
			return nil, err
		}
	}
	return inOrder, nil
}

func newModule(root, folder string, mod goMod) (*module, error) {
	m := &module{Path: mod.Module.Path, Dir: folder}
	if want := path.Join(root, folder); m.Path != want {
		return nil, fmt.Errorf("%s/go.mod: the module is %s, want %s", folder, m.Path, want)
	}
	within := func(p string) bool { return p == root || strings.HasPrefix(p, root+"/") }
	for _, r := range mod.Require {
		if within(r.Path) {
			m.own = append(m.own, r.Path)
		}
	}
	for _, r := range mod.Replace {
		if !within(r.Old.Path) {
			return nil, fmt.Errorf("%s/go.mod: it replaces %s, which no importer would see", folder, r.Old.Path)
		}
		if r.Old.Version != "" {
			return nil, fmt.Errorf("%s/go.mod: it replaces one version of %s, want all", folder, r.Old.Path)
		}
		m.replaces = append(m.replaces, r.Old.Path)
	}
	if len(mod.Exclude) > 0 {
		return nil, fmt.Errorf("%s/go.mod: it excludes %s, which no importer would see", folder, mod.Exclude[0].Path)
	}
	return m, nil
}
