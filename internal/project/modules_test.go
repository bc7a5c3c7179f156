package project_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

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
