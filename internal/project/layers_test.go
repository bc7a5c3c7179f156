package project_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
		if err != nil {
			t.Fatal(err)
		}
		for what, who := range seeing {
			if strings.Contains(string(text), what) && !slices.Contains(who, filepath.ToSlash(filepath.Dir(file))) {
				t.Errorf("%s has %s, want it only in %v", file, what, who)
			}
		}
	}
}
