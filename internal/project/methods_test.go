package project_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newer reports whether, by its name, a file needs a newer Go than the running one, whose parser may not read it.
func newer(file string) bool {
	_, version, ok := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(file, ".go"), "_test"), "_go1")
	return ok && !slices.Contains(build.Default.ReleaseTags, "go1."+version)
}

// noMethod lists the operators on a stream that are only functions, with the reason.
var noMethod = map[string]string{
	"Distinct":             "a method cannot require that T is comparable: DistinctBy is a method",
	"DistinctUntilChanged": "a method cannot require that T is comparable: DistinctUntilChangedBy is a method",
	"Zip":                  "a Stream[Pair[T, B]] is an instantiation cycle: ZipWith is a method",
	"Pairwise":             "a Stream[Pair[T, T]] is an instantiation cycle",
	"Race":                 "none of its streams is special",
	"ZipSlice":             "none of its streams is special, and a Stream[[]T] is an instantiation cycle",
	"CombineLatestSlice":   "none of its streams is special, and a Stream[[]T] is an instantiation cycle",
	"RepeatWhen":           "its type Completion is in package operators, which imports stream",
	"RetryWhen":            "the method RetryWhen takes a handler",
	"MapRetry":             "package retry, whose Policy it takes, imports stream",
}

// TestMethods compares the functions of package operators with the methods of stream.Stream: from Go 1.27 on, each
// function that can be a method is one.
func TestMethods(t *testing.T) {
	inTop(t)
	functions := map[string]bool{}
	methods := map[string]bool{}
	eachFunc(t, "operators", func(f *ast.FuncDecl) {
		if f.Recv == nil && f.Name.IsExported() && takesStream(f) {
			functions[f.Name.Name] = true
		}
	})
	eachFunc(t, "stream", func(f *ast.FuncDecl) {
		if f.Recv != nil && f.Name.IsExported() {
			methods[f.Name.Name] = true
		}
	})
	if len(functions) == 0 {
		t.Error("no function of package operators that takes a stream was found")
	}
	for name, why := range noMethod {
		if !functions[name] {
			t.Errorf("%s is listed in noMethod (%s), but is not a function of package operators", name, why)
		}
		if methods[name] && name != "RetryWhen" {
			t.Errorf("%s is listed in noMethod (%s), but is a method", name, why)
		}
	}
	if newer("methods_go127.go") {
		return
	}
	for name := range functions {
		if !methods[name] && noMethod[name] == "" {
			t.Errorf("operators.%s is not a method of stream.Stream, and noMethod has no reason", name)
		}
	}
}

func eachFunc(t *testing.T, dir string, f func(*ast.FuncDecl)) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || newer(name) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				f(d)
			}
		}
	}
}

// takesStream reports whether the first parameter is a stream.Stream.
func takesStream(f *ast.FuncDecl) bool {
	if len(f.Type.Params.List) == 0 {
		return false
	}
	p := f.Type.Params.List[0].Type
	if e, ok := p.(*ast.Ellipsis); ok {
		p = e.Elt
	}
	index, ok := p.(*ast.IndexExpr)
	if !ok {
		return false
	}
	s, ok := index.X.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Stream"
}
