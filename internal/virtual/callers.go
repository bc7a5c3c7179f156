package virtual

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"
)

// Callers is the stack of a goroutine at an action, innermost call first.
type Callers []uintptr

// CallersOf returns the callers of the caller's caller, skip frames further out.
func CallersOf(skip int) Callers {
	var pcs [24]uintptr
	n := runtime.Callers(3+skip, pcs[:])
	return append(Callers(nil), pcs[:n]...)
}

// module is the path of the library.
const module = "github.com/retrywhen/retrywhen/"

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
func folder(f runtime.Frame) string {
	file, ok := strings.CutPrefix(f.File, library)
	if !ok || strings.HasSuffix(file, "_test.go") {
		return ""
	}
	return path.Dir(file)
}

// bodies is the folder with the implementations of package operators.
const bodies = "internal/op"

// plumbing reports whether a call is of no interest to a reader: a call in this package, or one that passes a wait on
// to the clock.
func plumbing(f runtime.Frame) bool {
	switch dir := folder(f); dir {
	case "":
		pkg := packageOf(f.Function)
		return pkg == "runtime" || pkg == "testing" || pkg == "testing/synctest" || pkg == "internal/synctest"
	case "stream":
		return strings.HasSuffix(f.File, "/clock.go")
	default:
		return dir == "streamtest" || dir == "reconnecttest" || strings.HasPrefix(dir, "internal/") && dir != bodies
	}
}

// frames returns the calls of c that are of interest to a reader.
func (c Callers) frames() (all []runtime.Frame) {
	if len(c) == 0 {
		return nil
	}
	frames := runtime.CallersFrames(c)
	for {
		f, more := frames.Next()
		if f.Function != "" && !plumbing(f) {
			all = append(all, f)
		}
		if !more {
			return all
		}
	}
}

// String lists the calls of c, innermost first, one a line.
func (c Callers) String() string {
	var b strings.Builder
	for i, f := range c.frames() {
		if i == 8 {
			break
		}
		fmt.Fprintf(&b, "\n        %s  %s:%d", shortFunc(f.Function), shortFile(f.File), f.Line)
	}
	return b.String()
}

// Operator returns the name of the code that armed a wait: the innermost exported function of the library on the stack,
// as "stream.Delay" or "retry.Policy.Handle", or else the innermost function.
func (c Callers) Operator() string {
	frames := c.frames()
	for _, f := range frames {
		dir := folder(f)
		if dir == bodies {
			dir = "operators"
		}
		if dir != "" {
			if name := exportedName(f.Function); name != "" {
				return path.Base(dir) + "." + name
			}
		}
	}
	if len(frames) > 0 {
		return shortFunc(frames[0].Function)
	}
	return "unknown"
}

// exportedName returns the innermost exported function that is or contains function: Delay for
// stream.Stream[...].Delay.func1.2, Timer for main.main.Timer.func1. Methods of a Stream have only their own names,
// other methods also their types.
func exportedName(function string) string {
	words := strings.Split(strings.ReplaceAll(function[len(packageOf(function)):], "[...]", ""), ".")
	for i := len(words) - 1; i > 0; i-- {
		switch name := words[i]; {
		case name == "" || name[0] < 'A' || name[0] > 'Z':
		case words[i-1] == "(*subscription)" && name == "Next":
			return "Policy.Handle" // RetryWhen asks a policy without Handle's stream
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
	slash := strings.LastIndexByte(cutTypeArgs(function), '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return function
	}
	return function[:slash+dot]
}

// cutTypeArgs returns the part of a function's name before type arguments, which may contain slashes too.
func cutTypeArgs(function string) string {
	before, _, _ := strings.Cut(function, "[")
	return before
}

// shortFunc drops the directories of a function's import path. In its last part, dots are escaped.
func shortFunc(function string) string {
	return strings.ReplaceAll(function[strings.LastIndexByte(cutTypeArgs(function), '/')+1:], "%2e", ".")
}

// shortFile returns the last two parts of a file's path.
func shortFile(file string) string {
	dir, base := path.Split(file)
	return path.Join(path.Base(path.Clean(dir)), base)
}
