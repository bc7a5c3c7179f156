package project_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

const module = "github.com/retrywhen/retrywhen"

// layers lists the packages of this module that each package may import. A package that is not listed fails the test.
var layers = map[string][]string{
	"":                            {}, // tests only
	"internal/docs":               {}, // tests only
	"docs/readme":                 {}, // tests only
	"docs/tutorial":               {"backoff", "jitter", "operators", "retry", "retryhttp", "stream"},
	"jitter":                      {},
	"backoff":                     {"jitter", "internal/words"},
	"stream":                      {"internal/"},
	"retry":                       {"backoff", "jitter", "stream", "internal/"},
	"operators":                   {"backoff", "jitter", "retry", "stream", "operators/internal/mapretry", "internal/"},
	"operators/conformance":       {}, // tests only
	"operators/internal/mapretry": {"retry", "stream", "internal/"},
	"operators/rx":                {"operators", "retry", "stream", "internal/"},
	"streamtest":                  {"stream", "internal/"},
	"prove":                       {"internal/calls", "internal/judge"},
	"reconnecttest":               {"stream", "prove", "internal/"},
	"retryhttp":                   {"backoff", "retry", "stream", "internal/"},
	"internal/timer":              {"internal/ending"},
	"internal/attempt":            {},
	"internal/ending":             {},
	"internal/judge":              {},
	"internal/marble":             {},
	"internal/project":            {}, // tests only
	"internal/words":              {},
	"internal/handoff":            {"internal/ending"},
	"internal/calls":              {"internal/judge"},
	"internal/check":              {},
	"internal/op":                 {"internal/timer", "internal/ending", "internal/handoff"},
	"internal/virtual":            {"internal/timer"},
}

// heavy lists the packages that may link modules which other users must not link.
var heavy = map[string][]string{
	"github.com/reactivex/rxgo":   {"operators/rx"},
	"github.com/benbjohnson/":     {"streamtest"},
	"github.com/stretchr/testify": {"operators/rx"}, // through rxgo
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := dec.Decode(&p); err {
		case nil:
			pkgs = append(pkgs, p)
		case io.EOF:
			return pkgs
		default:
			t.Fatal(err)
		}
	}
}

func within(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func TestImportsFollowTheLayers(t *testing.T) {
	inTop(t)
	for _, p := range list(t) {
		name := within(p.ImportPath)
		allowed, known := layers[name]
		if !known {
			t.Errorf("package %s is not listed in layers", name)
		}
		for _, path := range p.Imports {
			if !strings.HasPrefix(path, module) {
				continue
			}
			imported := within(path)
			if !slices.ContainsFunc(allowed, func(a string) bool {
				return imported == a || strings.HasSuffix(a, "/") && strings.HasPrefix(imported, a)
			}) {
				t.Errorf("%s imports %s, which layers does not allow", name, imported)
			}
			if strings.HasPrefix(name, "internal/") && !strings.HasPrefix(imported, "internal/") {
				t.Errorf("%s imports %s, which is above it", name, imported)
			}
		}
	}
}

func TestPlainUsersLinkNothingHeavy(t *testing.T) {
	inTop(t)
	for _, p := range list(t) {
		for prefix, who := range heavy {
			if slices.Contains(who, within(p.ImportPath)) {
				continue
			}
			if i := slices.IndexFunc(p.Deps, func(dep string) bool { return strings.HasPrefix(dep, prefix) }); i >= 0 {
				t.Errorf("%s links %s", p.ImportPath, p.Deps[i])
			}
		}
		plain := !slices.Contains([]string{"operators/rx", "streamtest", "internal/check"}, within(p.ImportPath))
		for _, dep := range p.Deps {
			domain, _, _ := strings.Cut(dep, "/")
			if plain && strings.Contains(domain, ".") && !strings.HasPrefix(dep, module) {
				t.Errorf("%s links %s, want only the standard library", p.ImportPath, dep)
			}
		}
	}
}

// seeing lists the modules that may require modules which other users must not have in their go.sum.
var seeing = map[string][]string{
	"google.golang.org/grpc ": {"retrygrpc", "benchmarks", "benchmarks/reconnect", "examples"},
	"go.opentelemetry.io/":    {"retryotel", "retrygrpc", "benchmarks", "benchmarks/reconnect", "examples"}, // gRPC's own tests require it
}

func TestOnlyTheirModulesRequireGRPCAndOpenTelemetry(t *testing.T) {
	inTop(t)
	var files []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); name == "go.mod" || name == "go.sum" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%v; %d files were found", err, len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.Must(t, err)
		for what, who := range seeing {
			if strings.Contains(string(text), what) && !slices.Contains(who, filepath.ToSlash(filepath.Dir(file))) {
				t.Errorf("%s has %s, want it only in %v", file, what, who)
			}
		}
	}
}

// TestNoModuleImportsAnothersInternalPackages: they would be an API without looking like one, and a released module
// would not compile with a newer one. It reads every file, tests too, except those of benchmarks, which is never
// released.
func TestNoModuleImportsAnothersInternalPackages(t *testing.T) {
	inTop(t)
	read := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "benchmarks" || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		own := moduleOf(filepath.ToSlash(filepath.Dir(path)))
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			below, ours := strings.CutPrefix(imported, module+"/")
			if !ours || !strings.Contains("/"+below+"/", "/internal/") {
				continue
			}
			read++
			if theirs := moduleOf(below); theirs != own {
				t.Errorf("%s imports %s, an internal package of another module", path, imported)
			}
		}
		return nil
	})
	if err != nil || read == 0 {
		t.Errorf("%v; %d imports of internal packages were read", err, read)
	}
}

// linked are the programs and packages whose modules THIRD_PARTY names. The command's archives contain the file.
var linked = []string{"./cmd/retrywhen", "./durable"}

// thirdParty returns THIRD_PARTY: the modules that are linked, and their licences, each text once.
func thirdParty(t *testing.T) string {
	t.Helper()
	users, folders := map[string][]string{}, map[string]string{}
	for _, pkg := range linked {
		for _, system := range []string{"darwin", "linux", "windows"} {
			env := append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0", "GOWORK=", "GOFLAGS=") // in the workspace
			out := command(t, env, "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", pkg)
			for line := range strings.Lines(out) {
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
		check.Must(t, err)
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
		check.Must(t, os.WriteFile("THIRD_PARTY", []byte(want), 0o644)) //nolint:gosec // a document
	}
	if got, err := os.ReadFile("THIRD_PARTY"); err != nil || string(got) != want {
		t.Errorf("THIRD_PARTY is not what is linked (%v): go test ./internal/project -run TestThirdParty -update", err)
	}
}
