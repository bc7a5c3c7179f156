package streamtest

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// place is where something was done: the stack of the goroutine that did it, innermost call first.
type place []uintptr

// here returns the place of the caller's caller, skip frames further out.
func here(skip int) place {
	var pcs [24]uintptr
	n := runtime.Callers(3+skip, pcs[:])
	return append(place(nil), pcs[:n]...)
}

// module is the import path of the library.
const module = "github.com/retrywhen/retrywhen/"

// plumbing reports whether a frame says nothing to a reader: this package, and what hands a wait on to the clock.
func plumbing(f runtime.Frame) bool {
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	switch pkg := packageOf(f.Function); pkg {
	case module + "streamtest", module + "internal/alarm", "runtime", "testing", "testing/synctest", "internal/synctest":
		return true
	case module + "stream":
		return strings.HasPrefix(f.Function[len(pkg):], ".adapted")
	}
	return false
}

// frames returns the calls of p that say something.
func (p place) frames() (all []runtime.Frame) {
	if len(p) == 0 {
		return nil
	}
	frames := runtime.CallersFrames(p)
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

// String lists the calls of p, innermost first, one a line.
func (p place) String() string {
	var b strings.Builder
	for i, f := range p.frames() {
		if i == 8 {
			break
		}
		fmt.Fprintf(&b, "\n        %s  %s:%d", shortFunc(f.Function), shortFile(f.File), f.Line)
	}
	return b.String()
}

// operator names what armed a wait: the innermost exported function of the library on the stack, as "stream.Delay" or
// "retry.Policy.Handle"; without one, the innermost function.
func (p place) operator() string {
	frames := p.frames()
	for _, f := range frames {
		pkg, ok := strings.CutPrefix(packageOf(f.Function), module)
		if !ok || strings.HasSuffix(f.File, "_test.go") {
			continue
		}
		if name := exportedName(f.Function); name != "" {
			return path.Base(pkg) + "." + name
		}
	}
	if len(frames) > 0 {
		return shortFunc(frames[0].Function)
	}
	return "unknown"
}

// exportedName returns the exported function or method that function is or lies in: Delay for
// stream.Stream[...].Delay.func1.2, since a Stream's methods are known by their own names.
func exportedName(function string) string {
	words := strings.Split(strings.ReplaceAll(function[len(packageOf(function)):], "[...]", ""), ".")
	var name []string
	for _, w := range words[1:] {
		if w == "" || w[0] < 'A' || w[0] > 'Z' {
			break
		}
		name = append(name, w)
	}
	if len(name) > 1 && name[0] == "Stream" {
		name = name[1:]
	}
	if len(name) > 2 {
		name = name[:2]
	}
	return strings.Join(name, ".")
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

// cutTypeArgs returns the part of a function's name before type arguments, which may hold slashes too.
func cutTypeArgs(function string) string {
	before, _, _ := strings.Cut(function, "[")
	return before
}

// shortFunc drops the directories of a function's import path.
func shortFunc(function string) string {
	return function[strings.LastIndexByte(cutTypeArgs(function), '/')+1:]
}

// shortFile returns the last two parts of a file's path.
func shortFile(file string) string {
	dir, base := path.Split(file)
	return path.Join(path.Base(path.Clean(dir)), base)
}
