// Package killed runs a recipe in a program that is killed and started again, and counts what it loses and repeats.
package killed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/stream"
)

// The environment of the program.
const (
	argsVariable    = "RECIPE_ARGS"    // JSON
	effectsVariable = "RECIPE_EFFECTS" // the file
	killVariable    = "RECIPE_KILL"    // after so many effects; 0 is never
)

// Program is what a test runs in a process of its own: with each event it calls e.Apply.
type Program func(ctx context.Context, e *Effects, args []string) error

// Main is for TestMain. In a process that Start has started it runs the program, otherwise the tests, as check.Main.
func Main(m *testing.M, program Program) {
	text, is := os.LookupEnv(argsVariable)
	if !is {
		check.Main(m)
	}
	var args []string
	e, err := Open(os.Getenv(effectsVariable))
	if err == nil {
		err = json.Unmarshal([]byte(text), &args)
	}
	if err == nil {
		e.kill, err = strconv.Atoi(os.Getenv(killVariable))
	}
	if err == nil {
		err = program(context.Background(), e, args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Effects is a file of the effects of all runs of the program, one a line, each with the position after its event: so the
// two are stored at once.
type Effects struct {
	file  *os.File
	lines []string
	kill  int
}

// Open opens the file of the effects.
func Open(name string) (*Effects, error) {
	text, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	lines := strings.Split(string(text), "\n")
	return &Effects{file: file, lines: lines[:len(lines)-1]}, err
}

// Position returns the position that was stored last, "" at first.
func (e *Effects) Position() string {
	if len(e.lines) == 0 {
		return ""
	}
	_, at, _ := strings.Cut(e.lines[len(e.lines)-1], " ")
	return at
}

// Counts returns how often each event has had its effect.
func (e *Effects) Counts() map[int]int {
	counts := map[int]int{}
	for _, line := range e.lines {
		group, _, _ := strings.Cut(line, " ")
		for number := range strings.SplitSeq(group, ",") {
			if n, err := strconv.Atoi(number); err == nil { // not a bookmark
				counts[n]++
			}
		}
	}
	return counts
}

// Apply has the effect of the event with the number n, and stores the position after it. Then it kills the process, if
// that is its turn.
func (e *Effects) Apply(n int, position string) error { return e.ApplyAll([]int{n}, position) }

// ApplyAll is Apply for a group of events.
func (e *Effects) ApplyAll(group []int, position string) error {
	return e.write(strings.Trim(strings.ReplaceAll(fmt.Sprint(group), " ", ","), "[]") + " " + position)
}

// Follow has the effect of each value, of which event returns the number and the position after it, until the program has
// had so many different events.
func Follow[T any](ctx context.Context, e *Effects, events int, values stream.Stream[T], event func(T) (n int, position any)) error {
	return values.TakeWhile(func(v T) bool {
		n, position := event(v)
		text, err := json.Marshal(position)
		if err = errors.Join(err, e.Apply(n, string(text))); err != nil {
			panic(err)
		}
		return len(e.Counts()) < events
	}).ForEach(ctx, func(T) {})
}

// Start reads the stored position; without one at remains what it is.
func (e *Effects) Start(at any) error {
	if e.Position() == "" {
		return nil
	}
	return json.Unmarshal([]byte(e.Position()), at)
}

// Bookmark stores a position alone.
func (e *Effects) Bookmark(position string) error { return e.write("- " + position) }

func (e *Effects) write(line string) error {
	if _, err := e.file.WriteString(line + "\n"); err != nil {
		return err
	}
	e.lines = append(e.lines, line)
	if e.kill--; e.kill == 0 {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := self.Kill(); err != nil { // SIGKILL
			return err
		}
		select {}
	}
	return nil
}

// Close closes the file.
func (e *Effects) Close() error { return e.file.Close() }

// Start starts the program. After so many effects it kills itself; 0 is never.
func Start(t *testing.T, effects string, kill int, args ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), argsVariable+"="+string(text), effectsVariable+"="+effects, killVariable+"="+strconv.Itoa(kill))
	program.Stdout, program.Stderr = os.Stderr, os.Stderr
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	return program
}

// Check starts the program again and again, until it ends by itself, which it must when it has had the last event. It is
// killed each time right after so many effects, at most the given number of times. Then the events first to last must
// have had their effect, in any order, each once, or more often if its server repeats what was not acknowledged.
func Check(t *testing.T, kills, each, first, last int, repeats bool, args ...string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "effects")
	killed := 0
	for ended := false; !ended; {
		kill := 0
		if killed < kills {
			kill = each
		}
		program := Start(t, name, kill, args...)
		watchdog := time.AfterFunc(20*time.Second, func() { _ = program.Process.Kill() })
		err := program.Wait()
		switch {
		case !watchdog.Stop():
			t.Error("the program has not ended after 20 s")
			ended = true
		case err == nil:
			ended = true
		case program.ProcessState.ExitCode() == 1 && kill == 0, program.ProcessState.Exited() && program.ProcessState.ExitCode() != 1:
			t.Fatal(err)
		default:
			killed++
		}
	}
	e, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	seen := e.Counts()
	lost, repeated := 0, 0
	for n := first; n <= last; n++ {
		if seen[n] == 0 {
			lost++
		}
		repeated += max(0, seen[n]-1)
	}
	t.Logf("killed %d times, %d events, %d lost, %d repeated", killed, last-first+1, lost, repeated)
	if killed == 0 || lost > 0 || len(seen) != last-first+1 || repeated > 0 && !repeats {
		t.Errorf("want kills, nothing lost, and repeated %t; %d different events", repeats, len(seen))
	}
}
