package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// house is a repository like this one, which needs no module of others.
var house = map[string]string{
	"go.mod":           "module github.com/example/house\n\ngo 1.26.0\n",
	"house.go":         "package house\n\nfunc Name() string { return \"house\" }\n",
	"LICENSE":          "MIT\n",
	".gitignore":       "/dist/\n",
	"go.work":          "go 1.26.0\n\nuse (\n\t.\n\t./cmd/house\n\t./deep\n\t./deep/inner\n)\n",
	"cmd/house/go.mod": nested("cmd/house", "../../"),
	"cmd/house/main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/example/house\"\n)\n\n" +
		"func main() { fmt.Println(\"usage:\", house.Name()) }\n",
	"deep/go.mod":  nested("deep", "../"),
	"deep/deep.go": "package deep\n\nimport \"github.com/example/house\"\n\nfunc Name() string { return house.Name() + \" deep\" }\n",
	"deep/inner/go.mod": "module github.com/example/house/deep/inner\n\ngo 1.26.0\n\nrequire github.com/example/house/deep v0.0.0\n\n" +
		"require github.com/example/house v0.0.0 // indirect\n\n" +
		"replace (\n\tgithub.com/example/house => ../../\n\tgithub.com/example/house/deep => ../\n)\n",
	"deep/inner/inner.go": "package inner\n\nimport \"github.com/example/house/deep\"\n\nvar Name = deep.Name()\n",
	"benchmarks/go.mod":   nested("benchmarks", "../"),
	"benchmarks/b.go":     "package benchmarks\n",
}

func nested(folder, up string) string {
	return fmt.Sprintf("module github.com/example/house/%s\n\ngo 1.26.0\n\nrequire github.com/example/house v0.0.0\n\n"+
		"replace github.com/example/house => %s\n", folder, up)
}

// build makes a repository of the house, changed by the given files.
func build(t *testing.T, changes map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, files := range []map[string]string{house, changes} {
		for name, text := range files {
			write(t, filepath.Join(dir, name), text)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull) // what whoever runs the tests has set is nothing to them
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "config", "user.name", "A Maintainer")
	git(t, dir, "config", "user.email", "maintainer@example.com")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "-m", "A house")
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ofHouse has the library's user be one of the house, and no proxy be asked.
func ofHouse(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	saved := program
	t.Cleanup(func() { program = saved })
	program = []byte("package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/example/house\"\n)\n\nfunc main() { fmt.Println(house.Name()) }\n")
}

var houseTags = []string{"cmd/house/v0.3.0", "deep/inner/v0.3.0", "deep/v0.3.0", "v0.3.0"}

func TestReleaseIsACommitBesideTheBranch(t *testing.T) {
	ofHouse(t)
	dir := build(t, nil)
	head := git(t, dir, "rev-parse", "HEAD")
	var out strings.Builder
	if err := release(t.Context(), &out, dir, "v0.3.0", false); err != nil {
		t.Fatal(err)
	}
	if git(t, dir, "rev-parse", "HEAD") != head || git(t, dir, "status", "--porcelain") != "" || git(t, dir, "tag") != "" {
		t.Error("the repository is not what it was")
	}
	made := filepath.Join(dir, "dist", "release-v0.3.0")
	if parent := git(t, made, "rev-parse", "HEAD^"); parent != head {
		t.Errorf("the release is on %s, want %s", parent, head)
	}
	if author := git(t, made, "log", "-1", "--format=%an <%ae>"); author != "A Maintainer <maintainer@example.com>" {
		t.Errorf("the release is %s's", author)
	}
	if got := strings.Fields(git(t, made, "tag", "--points-at", "HEAD")); !slices.Equal(got, houseTags) {
		t.Errorf("tags %v, want %v", got, houseTags)
	}
	for _, folder := range []string{"cmd/house", "deep", "deep/inner"} {
		text := read(t, filepath.Join(made, folder, "go.mod"))
		if strings.Contains(text, "replace") || strings.Contains(text, "v0.0.0") || !strings.Contains(text, "house v0.3.0") {
			t.Errorf("%s/go.mod:\n%s", folder, text)
		}
		if sums := read(t, filepath.Join(made, folder, "go.sum")); !strings.Contains(sums, "github.com/example/house v0.3.0 h1:") {
			t.Errorf("%s/go.sum:\n%s", folder, sums)
		}
	}
	if text := read(t, filepath.Join(made, "go.work")); !strings.Contains(text, "github.com/example/house/deep v0.3.0 => ./deep\n") {
		t.Errorf("go.work:\n%s", text)
	}
	if text := read(t, filepath.Join(made, "benchmarks", "go.mod")); text != house["benchmarks/go.mod"] {
		t.Errorf("benchmarks/go.mod:\n%s", text)
	}
	for _, want := range []string{
		"$ go install github.com/example/house/cmd/house@v0.3.0\n$ house -h\n\tusage: house\n",
		"It links github.com/example/house only.",
		"git push --atomic origin refs/tags/v0.3.0 refs/tags/cmd/house/v0.3.0 refs/tags/deep/v0.3.0 refs/tags/deep/inner/v0.3.0\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}

	// What it says is to be done brings the tags here, and a second release of the version is refused.
	for line := range strings.Lines(out.String()) {
		if args := strings.Fields(line); len(args) > 2 && args[0] == "git" && args[1] == "fetch" {
			git(t, dir, args[1:]...)
		}
	}
	if got := strings.Fields(git(t, dir, "tag")); !slices.Equal(got, houseTags) {
		t.Errorf("fetched %v, want %v", got, houseTags)
	}
	if err := release(t.Context(), &out, dir, "v0.3.0", false); err == nil || !strings.Contains(err.Error(), "released already") {
		t.Errorf("a second release: %v", err)
	}
	// A dry run still works then.
	if err := release(t.Context(), &out, dir, "v0.3.0", true); err != nil {
		t.Error(err)
	}
}

func TestDryRunTakesTheWorkTreeAndLeavesNothing(t *testing.T) {
	ofHouse(t)
	temp := t.TempDir()
	dir := build(t, nil)
	write(t, filepath.Join(dir, "house.go"), "package house\n\nfunc Name() string { return \"mansion\" }\n")
	write(t, filepath.Join(dir, "cmd", "house", "version.go"), "package main\n\nimport \"fmt\"\n\nfunc init() { fmt.Println(\"new\") }\n")
	if err := os.Remove(filepath.Join(dir, "deep", "inner", "inner.go")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "deep", "inner", "other.go"), "package inner\n\nimport \"github.com/example/house/deep\"\n\nvar Name = deep.Name()\n")
	t.Setenv("TMPDIR", temp)
	var out strings.Builder
	if err := release(t.Context(), &out, dir, "v0.3.0", true); err != nil {
		t.Fatal(err)
	}
	if want := "$ house -h\n\tnew\n\tusage: mansion\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, &out)
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "dist")); err == nil {
		t.Error("left dist")
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		changes map[string]string
		dirty   bool
		want    string
	}{
		"no version":      {version: "0.3.0", want: `version "0.3.0": want one like v0.1.0`},
		"major version":   {version: "v2.0.0", want: `version "v2.0.0"`},
		"short version":   {version: "v1.2", want: `version "v1.2"`},
		"changes":         {dirty: true, want: "the work tree has changes"},
		"wrong path":      {changes: map[string]string{"deep/go.mod": "module example.com/deep\n"}, want: "want github.com/example/house/deep"},
		"foreign replace": {changes: map[string]string{"deep/go.mod": house["deep/go.mod"] + "replace golang.org/x/mod => ../mod\n"}, want: "it replaces golang.org/x/mod"},
		"exclude":         {changes: map[string]string{"deep/go.mod": house["deep/go.mod"] + "exclude golang.org/x/mod v0.1.0\n"}, want: "it excludes golang.org/x/mod"},
		"not released": {changes: map[string]string{"deep/go.mod": "module github.com/example/house/deep\n\ngo 1.26.0\n\n" +
			"require github.com/example/house/benchmarks v0.0.0\n"}, want: "github.com/example/house/benchmarks, which is not a released module"},
		"circle": {changes: map[string]string{"deep/go.mod": house["deep/go.mod"] + "require github.com/example/house/deep/inner v0.0.0\n"}, want: "requires itself"},
		"links others": {
			changes: map[string]string{
				"go.mod":            "module github.com/example/house\n\ngo 1.26.0\n\nrequire github.com/example/house/other v0.0.0\n\nreplace github.com/example/house/other => ./other\n",
				"house.go":          "package house\n\nimport \"github.com/example/house/other\"\n\nfunc Name() string { return other.Name }\n",
				"other/go.mod":      "module github.com/example/house/other\n\ngo 1.26.0\n",
				"other/other.go":    "package other\n\nconst Name = \"other\"\n",
				"cmd/house/go.mod":  house["cmd/house/go.mod"] + "require github.com/example/house/other v0.0.0\n\nreplace github.com/example/house/other => ../../other\n",
				"deep/go.mod":       house["deep/go.mod"] + "require github.com/example/house/other v0.0.0\n\nreplace github.com/example/house/other => ../other\n",
				"deep/inner/go.mod": house["deep/inner/go.mod"] + "require github.com/example/house/other v0.0.0\n\nreplace github.com/example/house/other => ../../other\n",
			},
			want: "the program links [github.com/example/house github.com/example/house/other]",
		},
		"a command that does not build": {changes: map[string]string{"cmd/house/main.go": "package main\n\nimport \"github.com/example/house\"\n\nfunc main() { house.Nome() }\n"}, want: "undefined: house.Nome"},
	} {
		t.Run(name, func(t *testing.T) {
			ofHouse(t)
			dir := build(t, c.changes)
			if c.dirty {
				write(t, filepath.Join(dir, "new"), "new\n")
			}
			if c.version == "" {
				c.version = "v0.3.0"
			}
			var out strings.Builder
			err := release(t.Context(), &out, dir, c.version, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want one with %q", err, c.want)
			}
		})
	}
}
