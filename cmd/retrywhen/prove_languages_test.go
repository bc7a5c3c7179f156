//go:build unix

package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A right client and a wrong one in each language.
func TestProveLanguages(t *testing.T) {
	for _, test := range []struct {
		language, file, fault, ways string
		want                        []string // how the lines of stdout begin, but for the last one
	}{
		{"bash", "lines.sh", "", "cut,amid", nil},
		{"bash", "lines.sh", "half", "amid", []string{"lost: ", "foreign: "}},
		{"python3", "lines.py", "", "end,silence", nil},
		{"python3", "lines.py", "deaf", "silence", []string{"silent: "}},
		{"node", "lines.js", "", "cut,end", nil},
		{"node", "lines.js", "throws", "cut", []string{"gave-up: it gave up after 1 connection: exit status 1: Error: read ECONNRESET; "}},
		{"perl", "lines.pl", "", "end,refuse", nil},
		{"perl", "lines.pl", "spins", "refuse", []string{"hot: refuse ("}},
	} {
		t.Run(test.language+"/"+test.fault, func(t *testing.T) {
			if _, err := exec.LookPath(test.language); err != nil {
				t.Skip("there is no ", test.language)
			}
			t.Parallel()
			// More places than events: a heartbeat may be one, and nothing breaks amid its one byte.
			args := proveArgs(t, "", "--ways="+test.ways, "--within=15s", "--places=8")
			folder := filepath.Dir(args[len(args)-1])
			args = append(args[:slices.Index(args, "--")+1], test.language, filepath.Join("testdata", "prove", test.file), "{host}", "{port}", filepath.Join(folder, "{run}"), test.fault)
			for tries := 1; ; tries++ {
				out, errOut, err := inProcess(t, args...)
				if tooBusy(t, err) {
					return
				}
				code, ok := errors.AsType[exitCode](err)
				lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
				lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasSuffix(line, " the break did not take place") })
				switch {
				case (err == nil || ok) && (code == 1) == (test.want != nil) && slices.EqualFunc(lines[:len(lines)-1], test.want, begins):
					return
				case test.want != nil && tries < 5: // on a busy machine a connection may break elsewhere
				default:
					t.Fatalf("%v\n%s\n%s\nwant %q", err, out, errOut, test.want)
				}
			}
		})
	}
}
