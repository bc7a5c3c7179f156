// Package killed runs a recipe in a program that is killed and started again, and counts what it loses and repeats.
package killed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/ledger"
	"github.com/retrywhen/retrywhen/stream"
)

// variable is of the program's environment: a start as JSON.
const variable = "RECIPE_START"

// start is how a program is started.
type start struct {
	File string // of its effects
	Kill int    // after this number of effects; 0 is never
	Args []string
}

// Program is what a test runs in a process of its own: with each event it calls e.Apply.
type Program func(ctx context.Context, e *Effects, args []string) error

// Main is for TestMain. In a process that Start has started it runs the program, otherwise the tests, as check.Main.
func Main(m *testing.M, program Program) {
	text, is := os.LookupEnv(variable)
	if !is {
		check.Main(m)
	}
	var s start
	must(json.Unmarshal([]byte(text), &s))
	e, err := Open(s.File)
	must(err)
	e.kill = s.Kill
	must(program(context.Background(), e, s.Args))
	os.Exit(0)
}

// must ends the program if there is an error.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// Effects is a file of the effects of all runs of the program, each with the position after its event: so the two are
// stored at once. It is safe for concurrent use.
type Effects struct {
	mu    sync.Mutex
	file  *os.File
	lines []line
	kill  int
}

type line struct {
	Events []int
	At     json.RawMessage
}

// Open opens the file of the effects, for the program or to look at it.
func Open(name string) (*Effects, error) {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	e := &Effects{file: file}
	for lines := json.NewDecoder(file); ; {
		var l line
		if err := lines.Decode(&l); err == io.EOF {
			return e, nil
		} else if err != nil {
			return nil, err
		}
		e.lines = append(e.lines, l)
	}
}

// Start reads the position that was stored last; without one at remains what it is.
func (e *Effects) Start(at any) {
	if len(e.lines) > 0 {
		must(json.Unmarshal(e.lines[len(e.lines)-1].At, at))
	}
}

// Counts returns how often each event has had its effect.
func (e *Effects) Counts() ledger.Ledger {
	e.mu.Lock()
	defer e.mu.Unlock()
	counts := ledger.Ledger{}
	for _, l := range e.lines {
		for _, n := range l.Events {
			counts.Enter(n)
		}
	}
	return counts
}

// Apply has the effect of the events with these numbers, and stores the position after them; without events it stores a
// position alone. Then it kills the process, if that is its turn.
func (e *Effects) Apply(position any, events ...int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, err := json.Marshal(position)
	must(err)
	l := line{events, at}
	must(json.NewEncoder(e.file).Encode(l))
	e.lines = append(e.lines, l)
	if e.kill--; e.kill == 0 {
		self, err := os.FindProcess(os.Getpid())
		must(err)
		must(self.Kill()) // SIGKILL
		select {}
	}
}

// Follow has the effect of each value, of which event returns the number and the position after it, until there were
// effects of as many different events as events says.
func Follow[T any](ctx context.Context, e *Effects, events int, values stream.Stream[T], event func(T) (n int, position any)) error {
	return values.TakeWhile(func(v T) bool {
		n, position := event(v)
		e.Apply(position, n)
		return len(e.Counts()) < events
	}).ForEach(ctx, func(T) {})
}

// Start starts the program with a file for its effects. After this number of effects it kills itself; 0 is never.
func Start(t *testing.T, file string, kill int, args ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(start{file, kill, args})
	check.Must(t, err)
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), variable+"="+string(text))
	program.Stdout, program.Stderr = os.Stderr, os.Stderr
	check.Must(t, program.Start())
	return program
}

// End waits until the program has killed itself, or, if that is not wanted, ended well.
func End(t *testing.T, program *exec.Cmd, killed bool) {
	t.Helper()
	within := time.Duration(math.MaxInt64)
	if deadline, is := t.Deadline(); is {
		within = time.Until(deadline) - 5*time.Second // for the rest of the test
	}
	watchdog := time.AfterFunc(within, func() { _ = program.Process.Kill() })
	err := program.Wait()
	if !watchdog.Stop() {
		t.Fatal("the program has not ended before the test must")
	}
	code := program.ProcessState.ExitCode() // of a killed program -1, and 1 on Windows
	if was := code == -1 || code == 1; was != killed || !was && err != nil {
		t.Fatalf("killed: %t, want %t: %v", was, killed, err)
	}
}

// Again starts the program as often as kills says; the i-th time it kills itself after(i) effects. Then it runs to its
// end.
func Again(t *testing.T, file string, kills int, after func(i int) int, args ...string) {
	t.Helper()
	for i := range kills {
		End(t, Start(t, file, after(i), args...), true)
	}
	End(t, Start(t, file, 0, args...), false)
}

// Check runs Again, with each effects before each kill. Then the events 1 to last must have had their effects, in any
// order, and the table must have the row.
func Check(t *testing.T, system string, kills, each, last int, repeated string, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "effects")
	Again(t, file, kills, func(int) int { return each }, args...)
	seen := Seen(t, file)
	lost, again := seen.Count(1, last)
	if len(seen)+len(lost) != last {
		t.Errorf("%d different events, want %d", len(seen), last)
	}
	Row(t, system, kills, last, len(lost), Range(again, repeated))
}

// Seen returns how often each event has had its effect.
func Seen(t *testing.T, file string) ledger.Ledger {
	t.Helper()
	e, err := Open(file)
	check.Must(t, err)
	defer e.file.Close()
	return e.Counts()
}
