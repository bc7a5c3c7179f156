package virtual

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Callers is the stack of a goroutine at an action, innermost call first.
type Callers []uintptr

// Here returns the callers of the caller.
func Here() Callers {
	var pcs [24]uintptr
	n := runtime.Callers(3, pcs[:])
	return append(Callers(nil), pcs[:n]...)
}

// library is the directory of the library's source files, as the compiler names it, with a slash.
var library = func() string {
	_, file, _, _ := runtime.Caller(0)
	return strings.TrimSuffix(path.Dir(file), "internal/virtual")
}()

// standard is the directory of the standard library's source files, with a slash; not one if the binary was built with
// -trimpath.
var standard = func() string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(path.Base).Pointer()).FileLine(0)
	return cmp.Or(strings.TrimSuffix(file, "path/path.go"), "no directory")
}()

// folder returns the folder of the library that contains a call, or "" for a call outside or in tests. A closure of an
// inlined function has the name of another package, so folder uses the file.
func folder(c Call) string {
	file, ok := strings.CutPrefix(c.Place, library)
	if !ok || strings.Contains(file, "_test.go:") {
		return ""
	}
	return path.Dir(file)
}

// bodies are the folders with the implementations of package operators: what their waits are called, or "" if the
// function is called as the operator.
var bodies = map[string]string{"internal/op": "", "operators/internal/mapretry": "MapRetry"}

// plumbing reports whether a call is of no interest to a reader: a call in this package, or one that passes a wait on
// to the clock.
func plumbing(c Call) bool {
	switch dir := folder(c); dir {
	case "":
		return slices.Contains([]string{"runtime", "testing", "testing/synctest", "internal/synctest"}, packageOf(c.Function))
	case "stream":
		return strings.Contains(c.Place, "/clock.go:")
	default:
		_, body := bodies[dir]
		return dir == "streamtest" || dir == "reconnecttest" || strings.HasPrefix(dir, "internal/") && !body
	}
}

// calls returns the calls of c that are of interest to a reader.
func (c Callers) calls() (all []Call) {
	frames := runtime.CallersFrames(c)
	for {
		f, more := frames.Next()
		call := Call{Function: f.Function, Place: fmt.Sprintf("%s:%d", f.File, f.Line)}
		if f.Function != "" && !plumbing(call) {
			all = append(all, call)
		}
		if !more {
			return all
		}
	}
}

// String lists the calls of c, innermost first, one a line.
func (c Callers) String() string { return lines(c.calls()) }

// lines lists calls, one a line, eight at most.
func lines(calls []Call) (text string) {
	for _, c := range calls[:min(len(calls), 8)] {
		text += "\n        " + shortFunc(c.Function) + "  " + shortFile(c.Place)
	}
	return text
}

// Operator returns the name of the code that armed a wait: the innermost exported function of the library on the stack,
// as "stream.Delay" or "retry.Policy.Handle", or else the innermost function.
func (c Callers) Operator() string {
	calls := c.calls()
	for _, f := range calls {
		dir := folder(f)
		if dir == "" {
			continue
		}
		name, body := bodies[dir]
		if body {
			dir = "operators"
		}
		if name = cmp.Or(name, exportedName(f.Function)); name != "" {
			return path.Base(dir) + "." + name
		}
	}
	if len(calls) > 0 {
		return shortFunc(calls[0].Function)
	}
	return "unknown"
}

// exportedName returns the innermost exported function that is or contains function: Delay for
// stream.Stream[...].Delay.func1.2, Timer for main.main.Timer.func1. Methods of a Stream have only their own names,
// those of a Policy also its name, and what RetryWhen calls of package retry's own types is Policy.Handle.
func exportedName(function string) string {
	words := strings.Split(strings.ReplaceAll(function[len(packageOf(function)):], "[...]", ""), ".")
	inRetry := strings.HasSuffix(packageOf(function), "/retry")
	for i := len(words) - 1; i > 0; i-- {
		switch name := words[i]; {
		case name == "" || name[0] < 'A' || name[0] > 'Z':
		case inRetry && strings.HasPrefix(words[i-1], "(*") && words[i-1][2] >= 'a':
			return "Policy.Handle"
		case words[i-1] == "Policy":
			return "Policy." + name
		default:
			return name
		}
	}
	return ""
}

// packageOf returns the import path of a function's package.
func packageOf(function string) string {
	directories, rest := split(function)
	name, _, _ := strings.Cut(rest, ".")
	return directories + name
}

// shortFunc drops the directories of a function's import path. In its last part, dots are escaped.
func shortFunc(function string) string {
	_, rest := split(function)
	return strings.ReplaceAll(rest, "%2e", ".")
}

// split splits a function after the last slash of its import path. Its type arguments may contain slashes too.
func split(function string) (directories, rest string) {
	name, _, _ := strings.Cut(function, "[")
	i := strings.LastIndexByte(name, '/') + 1
	return function[:i], function[i:]
}

// shortFile returns the last two parts of a file's path.
func shortFile(file string) string { return path.Join(path.Base(path.Dir(file)), path.Base(file)) }
