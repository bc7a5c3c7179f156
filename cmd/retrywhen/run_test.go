package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const quick = "constant d=1ms"

func TestRunRetriesUntilSuccess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	out, errOut, code := result(t, append([]string{"run", "--backoff", quick}, asChild(t, "count", file, "3", "7")...)...)
	if want := "run 1\nrun 2\nrun 3\n"; out != want || code != 0 {
		t.Errorf("stdout %q, exit code %d, want %q and 0", out, code, want)
	}
	want := "trouble 1\n" +
		"retrywhen: exit code 7; retry 1 of 5 in 1ms\n" +
		"trouble 2\n" +
		"retrywhen: exit code 7; retry 2 of 5 in 1ms\n" +
		"trouble 3\n"
	if errOut != want {
		t.Errorf("stderr\n%swant\n%s", errOut, want)
	}
}

func TestRunEndsWithTheCommandsExitCode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plain")
	must(t, os.WriteFile(file, []byte("no program"), 0o600))
	script := filepath.Join(t.TempDir(), "script")
	must(t, os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700)) //nolint:gosec // it is to be run
	tests := map[string]struct {
		args []string
		code int
		err  string
	}{
		"success":                 {asChild(t, "exit", "0"), 0, ""},
		"no retry":                {append([]string{"--limit=0"}, asChild(t, "exit", "3")...), 3, "retrywhen: exit code 3\n"},
		"gave up":                 {append([]string{"--limit=1"}, asChild(t, "exit", "3")...), 3, "retrywhen: exit code 3; retry 1 of 1 in 1ms\nretrywhen: exit code 3; gave up after 2 attempts\n"},
		"the text's limit":        {append([]string{"--backoff", quick + " limit=1"}, asChild(t, "exit", "4")...), 4, "retrywhen: exit code 4; retry 1 of 1 in 1ms\nretrywhen: exit code 4; gave up after 2 attempts\n"},
		"quiet":                   {append([]string{"-q", "--limit=1"}, asChild(t, "exit", "3")...), 3, ""},
		"another exit code":       {append([]string{"--on-exit=1,2"}, asChild(t, "exit", "3")...), 3, ""},
		"one of its exit codes":   {append([]string{"--on-exit=1,2", "--limit=1"}, asChild(t, "exit", "2")...), 2, "retrywhen: exit code 2; retry 1 of 1 in 1ms\nretrywhen: exit code 2; gave up after 2 attempts\n"},
		"within":                  {append([]string{"--backoff=constant d=1h", "--within=1s"}, asChild(t, "exit", "5")...), 5, "retrywhen: exit code 5\n"},
		"127 of its own":          {append([]string{"--limit=1"}, asChild(t, "exit", "127")...), 127, "retrywhen: exit code 127; retry 1 of 1 in 1ms\nretrywhen: exit code 127; gave up after 2 attempts\n"},
		"not found":               {[]string{"no-such-command"}, 127, "retrywhen: no-such-command: no such command\n"},
		"a pipeline":              {[]string{"echo 'a' | wc"}, 127, `retrywhen: echo 'a' | wc: no such command, want a shell for it: retrywhen run -- sh -c 'echo '\''a'\'' | wc'` + "\n"},
		"a shell word":            {[]string{"no command", "-l"}, 127, "retrywhen: no command: no such command\n"},
		"a duration":              {append([]string{"--backoff=1ms", "--limit=1"}, asChild(t, "exit", "3")...), 3, "retrywhen: exit code 3; retry 1 of 1 in 1ms\nretrywhen: exit code 3; gave up after 2 attempts\n"},
		"in a range":              {append([]string{"--on-exit=2-4", "--limit=1"}, asChild(t, "exit", "3")...), 3, "retrywhen: exit code 3; retry 1 of 1 in 1ms\nretrywhen: exit code 3; gave up after 2 attempts\n"},
		"an exception":            {append([]string{"--on-exit=all but 1,3-5"}, asChild(t, "exit", "4")...), 4, ""},
		"no exception":            {append([]string{"--on-exit=all but 1,3-5", "--limit=1"}, asChild(t, "exit", "6")...), 6, "retrywhen: exit code 6; retry 1 of 1 in 1ms\nretrywhen: exit code 6; gave up after 2 attempts\n"},
		"a policy":                {[]string{"constant d=1s", "true"}, 127, "retrywhen: constant d=1s: no such command, want the policy in --backoff \"constant d=1s\"\n"},
		"no such path":            {[]string{"./no/such"}, 127, "retrywhen: ./no/such: no such command\n"},
		"not executable":          {[]string{file}, 126, "retrywhen: " + file + ": cannot be run: permission denied\n"},
		"a folder":                {[]string{t.TempDir()}, 126, ": cannot be run: permission denied\n"},
		"no interpreter":          {[]string{script}, 127, ": its interpreter, in the first line, does not exist\n"},
		"until failure":           {append([]string{"--until=failure"}, asChild(t, "exit", "3")...), 0, "retrywhen: exit code 3 after 1 attempt\n"},
		"until its exit code":     {append([]string{"--until=3"}, asChild(t, "exit", "3")...), 0, "retrywhen: exit code 3 after 1 attempt\n"},
		"until another":           {append([]string{"--until=4", "--limit=1"}, asChild(t, "exit", "3")...), 3, "retrywhen: exit code 3; retry 1 of 1 in 1ms\nretrywhen: exit code 3; gave up after 2 attempts\n"},
		"until it fails, never":   {append([]string{"--until=failure", "--limit=1"}, asChild(t, "exit", "0")...), 1, "retrywhen: exit code 0; retry 1 of 1 in 1ms\nretrywhen: exit code 0; gave up after 2 attempts\n"},
		"until it can be found":   {[]string{"--until=failure", "no-such-command"}, 127, "retrywhen: no-such-command: no such command\n"},
		"flags are the command's": {append(asChild(t, "exit", "0"), "--limit", "x"), 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := result(t, append([]string{"run", "--backoff", quick}, test.args...)...)
			if code != test.code || out != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, test.code, out)
			}
			if errOut != test.err && (test.err == "" || !strings.HasSuffix(errOut, test.err) || strings.Count(errOut, "\n") != strings.Count(test.err, "\n")) {
				t.Errorf("stderr %q, want %q", errOut, test.err)
			}
		})
	}
}

// The environment has the number of the attempt and the last exit code. An outer run's variables are replaced.
func TestRunNamesTheAttempt(t *testing.T) {
	t.Setenv("RETRY_LAST_EXIT", "99")
	file := filepath.Join(t.TempDir(), "runs")
	out, _, code := result(t, append([]string{"run", "-q", "--limit=none", "--backoff", quick}, asChild(t, "environment", file, "8", "5")...)...)
	want := "1 unset\n2 5\n3 5\n4 5\n5 5\n6 5\n7 5\n8 5\n"
	if out != want || code != 0 {
		t.Errorf("exit code %d, stdout\n%swant\n%s", code, out, want)
	}
}

func TestRunUntilFailure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	out, errOut, code := result(t, append([]string{"run", "--until=failure", "--limit=none", "--backoff", quick}, asChild(t, "fail-at", file, "3", "7")...)...)
	want := "retrywhen: exit code 0; retry 1 in 1ms\nretrywhen: exit code 0; retry 2 in 1ms\nretrywhen: exit code 7 after 3 attempts\n"
	if out != "" || errOut != want || code != 0 {
		t.Errorf("exit code %d, %q, stderr\n%swant\n%s", code, out, errOut, want)
	}
}

func TestRunReadsAFileAnew(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	must(t, os.WriteFile(name, []byte("first line\nrest"), 0o600))
	in, err := os.Open(name)
	must(t, err)
	defer func() { _ = in.Close() }()
	_, err = in.Seek(int64(len("first line\n")), 0)
	must(t, err)
	p := command(t, append([]string{"run", "-q", "--limit=2", "--backoff", quick}, asChild(t, "cat", "1")...)...)
	p.Stdin = in
	p.start(t)
	if out, code := p.end(t); out != "[rest]\n[rest]\n[rest]\n" || code != 1 {
		t.Errorf("stdout %q, exit code %d, want the rest three times and 1", out, code)
	}
}

func TestRunGivesAPipeToEachAttempt(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"kept":            {nil, "[once]\n[once]\n"},
		"of exactly this": {[]string{"--keep-input=4"}, "[once]\n[once]\n"},
		"not kept":        {[]string{"--keep-input=0"}, "[once]\n[]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := command(t, slices.Concat([]string{"run", "-q", "--limit=1", "--backoff", quick}, test.args, asChild(t, "cat", "1"))...)
			p.Stdin = strings.NewReader("once")
			p.start(t)
			if out, code := p.end(t); out != test.want || code != 1 {
				t.Errorf("stdout %q, exit code %d, want %q and 1", out, code, test.want)
			}
		})
	}
}

// In a loop that reads a pipe, run would take the lines of the next rounds. A writer that goes on is told by SIGPIPE.
func TestRunReportsInputThatNobodyReads(t *testing.T) {
	const taken = "retrywhen: run has taken 4 bytes that the command did not read from the pipe; for a loop that reads it use --keep-input 0, or </dev/null\n"
	for name, test := range map[string]struct {
		code  string
		open  bool // the writer has not ended
		flags []string
		want  string
	}{
		"lost":              {code: "0", want: taken},
		"lost, quiet":       {code: "0", flags: []string{"-q"}, want: taken},
		"until failure":     {code: "3", flags: []string{"-q", "--until=failure"}, want: taken},
		"fails":             {code: "3", flags: []string{"-q", "--limit=0"}},
		"kept by nobody":    {code: "0", flags: []string{"--keep-input=0"}},
		"the writer is yes": {code: "0", open: true},
	} {
		t.Run(name, func(t *testing.T) {
			in, out, err := os.Pipe()
			must(t, err)
			defer func() { _, _ = in.Close(), out.Close() }()
			fmt.Fprint(out, "abcdef")
			if !test.open {
				_ = out.Close()
			}
			p := command(t, slices.Concat([]string{"run"}, test.flags, asChild(t, "read", "2", test.code))...)
			p.Stdin = in
			p.start(t)
			if got, _ := p.end(t); got != "ab\n" || p.err.String() != test.want {
				t.Errorf("stdout %q, stderr %q, want ab and %q", got, p.err.String(), test.want)
			}
		})
	}
}

// The first attempt ends before its input does. The second one gets the beginning again, then what follows.
func TestRunGivesAPipeToEachAttempt_ThatGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	p := command(t, append([]string{"run", "-q", "--backoff", quick}, asChild(t, "lines", file, "2")...)...)
	in, err := p.StdinPipe()
	must(t, err)
	p.start(t)
	fmt.Fprintln(in, "one")
	if got := p.line(t) + p.line(t); got != "oneone" {
		t.Errorf("the attempts read %q, want the first line each", got)
	}
	fmt.Fprintln(in, "two")
	if got := p.line(t); got != "two" {
		t.Errorf("the second attempt goes on with %q", got)
	}
	must(t, in.Close())
	if rest, code := p.end(t); rest != "" || code != 0 {
		t.Errorf("then %q, exit code %d", rest, code)
	}
}

func TestRunDoesNotRepeatALongInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"fails":            {asChild(t, "count-input", "3"), 3, "retrywhen: exit code 3: its input is longer than --keep-input 64KiB, so it cannot be given again\n"},
		"succeeds":         {asChild(t, "count-input", "0"), 0, ""},
		"until it fails":   {append([]string{"--until=failure"}, asChild(t, "count-input", "0")...), 1, "retrywhen: exit code 0: its input is longer than --keep-input 64KiB, so it cannot be given again\n"},
		"is not retryable": {append([]string{"--on-exit=4"}, asChild(t, "count-input", "3")...), 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := command(t, append([]string{"run", "--keep-input=64KiB", "--backoff", quick}, test.args...)...)
			p.Stdin = strings.NewReader(long)
			p.start(t)
			if out, code := p.end(t); out != "1048576\n" || code != test.code || p.err.String() != test.err {
				t.Errorf("the command has read %q; exit code %d, stderr %q; want all, %d, %q", out, code, p.err.String(), test.code, test.err)
			}
		})
	}
}

// What no attempt reads is not read by run either, but for what fits into a pipe.
func TestRunRetriesACommandThatReadsNothing(t *testing.T) {
	p := command(t, append([]string{"run", "--limit=2", "--keep-input=512KiB", "--backoff", quick}, asChild(t, "exit", "3")...)...)
	p.Stdin = strings.NewReader(strings.Repeat("x", 8<<20))
	p.start(t)
	if _, code := p.end(t); code != 3 || strings.Count(p.err.String(), "retry") != 5 {
		t.Errorf("exit code %d, stderr %q, want 2 retries", code, p.err.String())
	}
}

func TestRunWritesTheLastOutputOnly(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder)
	file := filepath.Join(t.TempDir(), "runs")
	for _, test := range []struct {
		args []string
		out  string
		code int
	}{
		{asChild(t, "count", file, "3", "7"), "run 3\n", 0},
		{asChild(t, "environment", file+"2", "2", "7"), "2 7\n", 0}, // shorter than "1 unset"
		{append([]string{"--limit=2"}, asChild(t, "count", file, "100", "7")...), "run 6\n", 7},
		{[]string{"no-such-command"}, "", 127},
	} {
		out, _, code := result(t, append([]string{"run", "--stdout=last", "--backoff", quick}, test.args...)...)
		if out != test.out || code != test.code {
			t.Errorf("stdout %q, exit code %d, want %q and %d", out, code, test.out, test.code)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v, %v: the temporary files are still there", left, err)
	}
}

func TestRunCannotKeepItsOutput(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	t.Setenv("TMP", filepath.Join(t.TempDir(), "missing"))
	_, errOut, code := result(t, append([]string{"run", "--stdout=last"}, asChild(t, "exit", "0")...)...)
	if code != codeOwn || !strings.HasPrefix(errOut, "retrywhen: run: --stdout last: ") {
		t.Errorf("exit code %d, stderr %q", code, errOut)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]size{"0": 0, "1": 1, "1023": 1023, "1KiB": 1 << 10, "8MiB": 8 << 20, "1GiB": 1 << 30} {
		var s size
		if err := s.Set(text); err != nil || s != want || s.String() != text {
			t.Errorf("%s is read as %d, %v, and printed as %v", text, s, err, s)
		}
	}
	for _, text := range []string{"", "-1", "1 MiB", "1MB", "MiB", "99999999999", "9999999999GiB"} {
		var s size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	tests := map[string]refusal{
		"no command":      {nil, []string{"no command given", "retrywhen run -- make test"}},
		"an empty one":    {[]string{"--", ""}, []string{"no command given"}},
		"a curve":         {[]string{"--backoff=exponental base=1s factor=2", "--", "true"}, []string{`"exponental"`, "did you mean exponential?"}},
		"a word":          {[]string{"--backoff=linear d=1s jiter=full", "--", "true"}, []string{`"jiter=full"`, "did you mean jitter?"}},
		"limit, no word":  {[]string{"--limit=all", "--", "true"}, []string{`--limit is "all", want a whole number, at least 0, or none`}},
		"two limits":      {[]string{"--limit=none", "--backoff=constant d=1s limit=3", "--", "true"}, []string{"want a limit in --backoff or --limit none, not both"}},
		"until":           {[]string{"--until=never", "--", "true"}, []string{`--until is "never", want success, failure, or an exit code from 0 to 255`}},
		"until 256":       {[]string{"--until=256", "--", "true"}, []string{`--until is "256", want success`}},
		"until, on exit":  {[]string{"--until=failure", "--on-exit=3", "--", "true"}, []string{"want --on-exit or --until failure, not both"}},
		"within":          {[]string{"--within=-1s", "--", "true"}, []string{"--within is -1s, want at least 0"}},
		"timeout":         {[]string{"--timeout=-1s", "--", "true"}, []string{"--timeout is -1s, want at least 0"}},
		"kill-after":      {[]string{"--kill-after=0", "--", "true"}, []string{"--kill-after is 0s, want more than 0"}},
		"exit code 0":     {[]string{"--on-exit=0", "--", "true"}, []string{`--on-exit is "0", want exit codes from 1 to 255`}},
		"exit code 256":   {[]string{"--on-exit=1,256", "--", "true"}, []string{`--on-exit is "1,256", want`}},
		"no range":        {[]string{"--on-exit=7-5", "--", "true"}, []string{`--on-exit is "7-5", want`}},
		"an open range":   {[]string{"--on-exit=7-", "--", "true"}, []string{`--on-exit is "7-", want`}},
		"but nothing":     {[]string{"--on-exit=all but", "--", "true"}, []string{`--on-exit is "all but", want`}},
		"a negative wait": {[]string{"--backoff=-2s", "--", "true"}, []string{`"d=-2s"`}},
		"keep-input":      {[]string{"--keep-input=8MB", "--", "true"}, []string{`--keep-input is "8MB", want a number of bytes, as in 64MiB`}},
		"stdout":          {[]string{"--stdout=first", "--", "true"}, []string{`--stdout is "first", want all or last`}},
	}
	refuses(t, "run", tests)
}

func TestWrongUsageIsExitCode2(t *testing.T) {
	_, errOut, code := result(t, "run", "--limit=-1", "--", "true")
	if code != 2 || errOut != "retrywhen: run: --limit is -1, want at least 0, or none\n" {
		t.Errorf("exit code %d, stderr %q", code, errOut)
	}
}
