package project_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linked are the programs and packages whose modules THIRD_PARTY names. The command's archives contain the file.
var linked = []string{"./cmd/retrywhen", "./durable"}

// thirdParty returns THIRD_PARTY: the modules that are linked, and their licences, each text once.
func thirdParty(t *testing.T) string {
	t.Helper()
	users, folders := map[string][]string{}, map[string]string{}
	for _, pkg := range linked {
		for _, system := range []string{"darwin", "linux", "windows"} {
			list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", pkg)
			list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
			out, err := list.Output()
			if err != nil {
				t.Fatalf("%q: %v", list.Args, err)
			}
			for line := range strings.Lines(string(out)) {
				name, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
				if name == "" {
					continue
				}
				folders[name] = folder
				if !slices.Contains(users[name], pkg) {
					users[name] = append(users[name], pkg)
				}
			}
		}
	}
	var s strings.Builder
	s.WriteString("What the command and package durable link, and under which licences. The library links Go's standard library alone.\n" +
		"Made by go test ./internal/project -run TestThirdParty -update\n\n")
	texts := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		files, err := filepath.Glob(filepath.Join(folders[name], "[Ll][Ii][Cc][Ee][Nn][Ss][Ee]*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the licences of %s: %v, %v", name, files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&s, "%s, in %s\n", name, strings.Join(users[name], " and "))
		if strings.HasPrefix(name, "golang.org/x/sys ") {
			name += ", Go's standard library" // the same text
		}
		texts[string(text)] = append(texts[string(text)], name)
	}
	for _, text := range slices.SortedFunc(maps.Keys(texts), func(a, b string) int { return slices.Compare(texts[a], texts[b]) }) {
		fmt.Fprintf(&s, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), strings.Join(texts[text], ", "), strings.TrimSpace(text))
	}
	return s.String()
}

func TestThirdParty(t *testing.T) {
	inTop(t)
	want := thirdParty(t)
	if *update {
		if err := os.WriteFile("THIRD_PARTY", []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("THIRD_PARTY"); err != nil || string(got) != want {
		t.Errorf("THIRD_PARTY is not what is linked (%v): go test ./internal/project -run TestThirdParty -update", err)
	}
}
