package project_test

import (
	"cmp"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/internal/check"
)

// withoutExample lists what needs no Example, with the reason. A method's name alone stands for that method of all
// types.
var withoutExample = map[string]string{
	"String": "every Example that prints the value calls it",
	"Error":  "every Example that prints the error calls it",
	"Unwrap": "errors.Is and errors.As call it",

	"MarshalText":   "encoding/json and flag call it; the Example of backoff.Backoff's shows how",
	"UnmarshalText": "encoding/json and flag call it; the Example of backoff.Backoff's shows how",

	"stream.RetryHandlerFunc.Handle": "RetryWhen calls it",

	"retryhttp.Transport.RoundTrip":            "http.Client calls it",
	"retryhttp.Transport.CloseIdleConnections": "http.Client calls it",
}

// surface is one public package: what it exports, and what its Examples name.
type surface struct {
	doc       *doc.Package
	files     *token.FileSet
	examples  []*doc.Example
	qualified map[string]bool // F of pkg.F
	selected  map[string]bool // M of any x.M
}

// surfaces parses the public packages of the module.
func surfaces(t *testing.T) map[string]*surface {
	t.Helper()
	all := map[string]*surface{}
	for _, p := range list(t) {
		name := within(p.ImportPath)
		if strings.Contains("/"+name+"/", "/internal/") {
			continue
		}
		names, err := filepath.Glob(filepath.Join(filepath.FromSlash(name), "*.go"))
		check.Must(t, err)
		s := &surface{files: token.NewFileSet(), qualified: map[string]bool{}, selected: map[string]bool{}}
		var files, tests []*ast.File
		for _, file := range names {
			if newer(file) {
				continue
			}
			f, err := parser.ParseFile(s.files, file, nil, parser.ParseComments)
			check.Must(t, err)
			if strings.HasSuffix(file, "_test.go") {
				tests = append(tests, f)
			} else {
				files = append(files, f)
			}
		}
		if len(files) == 0 {
			continue // tests only
		}
		s.examples = doc.Examples(tests...) // before NewFromFiles, which changes the files
		for _, e := range s.examples {
			ast.Inspect(e.Code, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && x.Name == path.Base(name) {
						s.qualified[sel.Sel.Name] = true
					} else {
						s.selected[sel.Sel.Name] = true
					}
				}
				return true
			})
		}
		if s.doc, err = doc.NewFromFiles(s.files, files, p.ImportPath); err != nil {
			t.Fatal(err)
		}
		all[cmp.Or(name, "retrywhen")] = s
	}
	if len(all) == 0 {
		t.Fatal("no public package was found")
	}
	return all
}

// shown reports whether an Example has one of the names, with or without a suffix.
func (s *surface) shown(name string) bool {
	for _, e := range s.examples {
		if e.Name == name || strings.HasPrefix(e.Name, name+"_") {
			return true
		}
	}
	return false
}

func TestEverythingExportedHasAComment(t *testing.T) {
	inTop(t)
	for name, s := range surfaces(t) {
		say := func(what, comment string) {
			t.Helper()
			for line := range strings.SplitSeq(comment, "\n") {
				if utf8.RuneCountInString("// "+line) > 120 {
					t.Errorf("%s.%s: a line of the comment is longer than 120 characters: %s", name, what, line)
				}
			}
			if strings.TrimSpace(comment) == "" {
				t.Errorf("%s.%s has no comment", name, what)
			} else if first, _, _ := strings.Cut(what, " "); !about(comment, first[strings.LastIndex(first, ".")+1:]) {
				t.Errorf("%s.%s: the comment begins with %.40q, want the name", name, what, comment)
			}
		}
		if !strings.HasPrefix(s.doc.Doc, "Package "+s.doc.Name+" ") {
			t.Errorf("%s: the package comment begins with %.40q, want %q", name, s.doc.Doc, "Package "+s.doc.Name)
		}
		functions := func(prefix string, list []*doc.Func) {
			for _, f := range list {
				say(prefix+f.Name, f.Doc)
			}
		}
		functions("", s.doc.Funcs)
		for _, typ := range s.doc.Types {
			say(typ.Name, typ.Doc)
			functions("", typ.Funcs)
			functions(typ.Name+".", typ.Methods)
			values(t, name, typ.Consts)
			values(t, name, typ.Vars)
		}
		values(t, name, s.doc.Consts)
		values(t, name, s.doc.Vars)
	}
}

// about reports whether the comment's first sentence begins with the name: "Name …", "A Name …", "The zero Name …".
func about(comment, name string) bool {
	words := strings.Fields(comment)
	for _, word := range words[:min(4, len(words))] {
		if strings.TrimRight(word, ",:;.'s") == strings.TrimRight(name, ",:;.'s") {
			return true
		}
	}
	return false
}

// values reports the exported constants and variables without a comment of their own or of their group.
func values(t *testing.T, name string, groups []*doc.Value) {
	t.Helper()
	for _, group := range groups {
		for _, spec := range group.Decl.Specs {
			v := spec.(*ast.ValueSpec)
			if group.Doc == "" && v.Doc == nil && v.Comment == nil {
				t.Errorf("%s.%s has no comment", name, v.Names[0].Name)
			}
		}
	}
}

// TestEverythingExportedIsInAnExample: a function is shown if an Example of its package's tests names it. A method is
// shown if an Example calls a method of that name. A type is shown if an Example names it, is named after it or one of
// its methods, or calls a function that returns it.
func TestEverythingExportedIsInAnExample(t *testing.T) {
	inTop(t)
	used := map[string]bool{}
	for name, s := range surfaces(t) {
		want := func(what, method string, shown bool) {
			t.Helper()
			for _, exempt := range []string{name + "." + what, method} {
				if _, ok := withoutExample[exempt]; ok && !shown {
					used[exempt] = true
					return
				}
			}
			if !shown {
				t.Errorf("%s.%s is in no Example: add one in a test file of the package", name, what)
			}
		}
		returned := map[string]bool{} // by functions that are shown
		function := func(f *doc.Func) {
			shown := s.qualified[f.Name] || s.shown(f.Name)
			want(f.Name, "", shown)
			if shown {
				results(f.Decl, returned)
			}
		}
		for _, f := range s.doc.Funcs {
			function(f)
		}
		for _, typ := range s.doc.Types {
			for _, f := range typ.Funcs {
				function(f)
			}
			for _, m := range typ.Methods {
				if m.Level > 0 {
					continue // a method of an embedded type
				}
				shown := s.selected[m.Name] || s.shown(typ.Name+"_"+m.Name)
				want(typ.Name+"."+m.Name, m.Name, shown)
				if shown {
					results(m.Decl, returned)
				}
			}
		}
		for _, typ := range s.doc.Types {
			want(typ.Name, "", returned[typ.Name] || s.qualified[typ.Name] || s.shown(typ.Name))
		}
	}
	for name := range maps.Keys(withoutExample) {
		if !used[name] {
			t.Errorf("withoutExample: %s is in an Example, or does not exist", name)
		}
	}
}

// results adds the names of the types in a function's results.
func results(f *ast.FuncDecl, to map[string]bool) {
	if f.Type.Results == nil {
		return
	}
	ast.Inspect(f.Type.Results, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			to[id.Name] = true
		}
		return true
	})
}

// An Example without output would be compiled but never run.
func TestEveryExampleIsRun(t *testing.T) {
	inTop(t)
	for name, s := range surfaces(t) {
		for _, e := range s.examples {
			if e.Output == "" && !e.EmptyOutput {
				t.Errorf("%s: Example%s has no output comment", name, e.Name)
			}
		}
	}
}

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
	check.Must(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || newer(name) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		check.Must(t, err)
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
