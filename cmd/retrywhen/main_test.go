package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is three programs: the tests, the command itself if RETRYWHEN_TEST_MAIN is set, and the program that
// the command runs if childWord is the first argument.
const childWord = "child-of-the-test"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == childWord:
		os.Exit(beChild(os.Args[2], os.Args[3:]))
	case os.Getenv("RETRYWHEN_TEST_MAIN") != "":
		computing = func() { fmt.Println("computing") }
		main()
		os.Exit(0)
	default:
		_ = os.Setenv("LC_ALL", "C.UTF-8") // charts are compared
		restoreSignals()
		os.Exit(m.Run())
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// restoreSignals gives the programs that the tests start the default signals, even if some were ignored when the tests
// started, as with nohup or in the background of a script. A signal that is caught here has its default effect there.
func restoreSignals() {
	for _, s := range passedOn {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// beChild behaves like one of several commands and returns the exit code.
func beChild(what string, args []string) int {
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	switch what {
	case "exit":
		return number(0)
	case "count": // FILE, N, CODE: fails with the code until it has been run n times
		n := runs(args[0])
		fmt.Printf("run %d\n", n)
		fmt.Fprintf(os.Stderr, "trouble %d\n", n)
		if n < number(1) {
			return number(2)
		}
		return 0
	case "environment": // FILE, N, CODE: as count, and prints its environment
		last, ok := os.LookupEnv("RETRY_LAST_EXIT")
		if !ok {
			last = "unset"
		}
		fmt.Println(os.Getenv("RETRY_ATTEMPT"), last)
		if runs(args[0]) < number(1) {
			return number(2)
		}
	case "fail-at": // FILE, N, CODE: succeeds until it has been run n times
		if runs(args[0]) >= number(1) {
			return number(2)
		}
	case "cat": // CODE
		in, _ := io.ReadAll(os.Stdin)
		fmt.Printf("[%s]\n", in)
		return number(0)
	case "read": // N, CODE: prints the first n bytes of its input
		in := make([]byte, number(0))
		n, _ := io.ReadFull(os.Stdin, in)
		fmt.Printf("%s\n", in[:n])
		return number(1)
	case "count-input": // CODE: prints the length of its input
		n, _ := io.Copy(io.Discard, os.Stdin)
		fmt.Println(n)
		return number(0)
	case "lines": // FILE, N: prints each line of its input; before the n-th run, it fails after the first
		last := runs(args[0]) >= number(1)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(in.Text())
			if !last {
				return 1
			}
		}
	case "trap": // CODE: prints ready, waits for a signal and prints its name
		got := make(chan os.Signal, 1)
		// Not SIGCONT: it follows each signal that ends the run, and may be received first.
		signal.Notify(got, slices.DeleteFunc(slices.Clone(passedOn), func(s os.Signal) bool { return s.String() == "continued" })...)
		fmt.Println("ready", os.Getpid())
		fmt.Println("got", <-got)
		return number(0)
	case "stops": // waits for ^Z and for what makes it go on, and prints their names
		got := make(chan os.Signal, 2)
		signal.Notify(got, passedOn...)
		fmt.Println("ready", os.Getpid())
		fmt.Println("got", <-got)
		fmt.Println("got", <-got)
		return 42
	case "until": // NAME: prints its signals until that one
		got := make(chan os.Signal, 10)
		signal.Notify(got, slices.DeleteFunc(slices.Clone(passedOn), func(s os.Signal) bool { return s.String() == "continued" })...)
		fmt.Println("ready", os.Getpid())
		for s := range got {
			if fmt.Println("got", s); s.String() == args[0] {
				return 42
			}
		}
	case "default": // dies of its signals
		fmt.Println("ready", os.Getpid())
		time.Sleep(time.Hour)
	case "stubborn": // dies of SIGKILL only
		signal.Ignore(passedOn...)
		fmt.Println("ready", os.Getpid())
		time.Sleep(time.Hour)
	case "flood": // [CODE]: writes until that fails, then exits with the code if there is one
		if len(args) > 0 {
			signal.Ignore(syscall.SIGPIPE)
		}
		for {
			if _, err := fmt.Println("flood"); err != nil {
				return number(0)
			}
		}
	case "kill": // dies of SIGKILL at its first signal
		got := make(chan os.Signal, 1)
		signal.Notify(got, passedOn...)
		fmt.Println("ready")
		<-got
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		time.Sleep(time.Hour)
	case "proven": // FAULT, ADDR, FILE: a client of a logServer
		return beProven(args[0], args[1], args[2])
	case "measured": // FAULT, URL: a client that makes a call
		return beMeasured(args[0], args[1])
	case "parent": // waits in a child, as a shell script does
		c := exec.Command(os.Args[0], childWord, "trap", "0")
		c.Stdout = os.Stdout
		signal.Ignore(passedOn...)
		if err := c.Run(); err != nil {
			return 1
		}
		return 9
	default:
		panic(what)
	}
	return 0
}

// runs counts a run in the file and returns the number of runs.
func runs(file string) int {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprint(f, ".")
	n, _ := f.Seek(0, io.SeekEnd)
	return int(n)
}

// asChild returns the arguments with which the command runs beChild.
func asChild(t *testing.T, args ...string) []string {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	return append([]string{"--", self, childWord}, args...)
}

// proc is the command in a process of its own.
type proc struct {
	*exec.Cmd
	pipe io.ReadCloser // stdout
	out  *bufio.Reader // of pipe
	err  bytes.Buffer  // stderr, complete when the process has ended
}

func command(t *testing.T, args ...string) *proc {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &proc{Cmd: exec.CommandContext(ctx, self, args...)}
	p.Env = append(os.Environ(), "RETRYWHEN_TEST_MAIN=1", "GORACE=atexit_sleep_ms=0", "NO_COLOR=1")
	p.Stderr = &p.err
	ownSession(p.Cmd)
	return p
}

func (p *proc) start(t *testing.T) {
	t.Helper()
	out, err := p.StdoutPipe()
	must(t, err)
	p.pipe, p.out = out, bufio.NewReader(out)
	must(t, p.Start())
}

// line reads one line of stdout.
func (p *proc) line(t *testing.T) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		rest := p.Wait()
		t.Fatalf("stdout ended: %v; %v; stderr: %s", err, rest, p.err.String())
	}
	return strings.TrimSuffix(s, "\n")
}

// end waits for the process and returns the rest of stdout and the exit code.
func (p *proc) end(t *testing.T) (rest string, code int) {
	t.Helper()
	out, err := io.ReadAll(p.out)
	must(t, err)
	err = p.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	}
	must(t, err)
	return string(out), 0
}

// result runs the command to its end.
func result(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	p := command(t, args...)
	p.start(t)
	stdout, code = p.end(t)
	return stdout, p.err.String(), code
}

// inProcess runs the command line in this process.
func inProcess(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	c := newCommand(&out, &errOut)
	c.SetArgs(args)
	err = execute(t.Context(), c)
	return out.String(), errOut.String(), err
}

func TestHelp(t *testing.T) {
	root := newCommand(io.Discard, io.Discard)
	all := append(slices.Clone(root.Commands()), root)
	for _, c := range root.Commands() {
		if c.Name() == "sim" {
			all = append(all, c.Commands()...)
		}
	}
	for _, c := range all {
		if c.Name() == "completion" || c.Name() == "help" {
			continue
		}
		if c.Short == "" || c.Long == "" {
			t.Errorf("%s says nothing", c.CommandPath())
		}
		path := strings.Fields(c.CommandPath())[1:]
		out, _, err := inProcess(t, append(path, "--help")...)
		usage, text, ok := strings.Cut(out, "\n\n"+c.Long+"\n\nFlags:\n")
		if err != nil || !ok || text == "" || !strings.HasPrefix(usage, c.Short+"\n\nUsage:\n") {
			t.Errorf("%s --help: %v\n%s", c.CommandPath(), err, out)
		}
		if c != root && !c.HasSubCommands() && !strings.Contains(usage, "Examples:") {
			t.Errorf("%s --help has no examples before the text", c.CommandPath())
		}
		if strings.Contains(out, " …\n") {
			t.Errorf("%s: a line is cut off", c.CommandPath())
		}
		for line := range strings.Lines(c.Long) {
			if len(line) > 82 {
				t.Errorf("%s: a line of %d characters: %s", c.CommandPath(), len(line), line)
			}
		}
	}
}

// refusal is a command line and what the error must say.
type refusal struct{ args, want []string }

// refuses checks that the command refuses each of these.
func refuses(t *testing.T, command string, tests map[string]refusal) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := inProcess(t, append([]string{command}, test.args...)...)
			for _, want := range test.want {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("%v\nwant it to contain %q", err, want)
				}
			}
		})
	}
}
