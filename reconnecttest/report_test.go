package reconnecttest_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// Without a break that it could stand, the client has a finding of two groups, and everything is counted.
func TestReport(t *testing.T) {
	var told []reconnecttest.Finding
	report := reconnecttest.CheckResume(t, numbers(3), func(connect connect) ints { return connect(0) },
		reconnecttest.OnFinding(func(f reconnecttest.Finding) { told = append(told, f) }))
	if report.Values != 3 || report.Places != 3 || report.Scenarios < 40 || len(report.Findings) != len(told) || len(told) < 3 {
		t.Fatalf("got %+v, and %d findings", report, len(told))
	}
	first := told[0]
	if first.Kind != prove.GaveUp || first.Where != "the connection is cut before event 1 of 3 (1)" || first.Shown != 4 || first.Scenarios != 4 || first.Known != "" {
		t.Errorf("got %+v", first)
	}
	if timeline := strings.Join(first.Timeline, "\n"); !strings.Contains(timeline, "0s dial 1\n") || !strings.Contains(timeline, "cut of connection 1") {
		t.Errorf("got the timeline\n%s", timeline)
	}
}

// A Known is no failure, and a Known that is not found is one.
func TestKnown(t *testing.T) {
	endless := func(connect connect) ints { return connect(0) }
	known := []reconnecttest.Option{
		reconnecttest.Known(prove.GaveUp, "", "it is a fixture"), reconnecttest.Known(prove.Ended, "", "it is a fixture"),
		reconnecttest.Known(prove.Silent, "", "it is a fixture"),
	}
	calls := 0
	report := reconnecttest.CheckResume(t, numbers(3), endless, append(known, reconnecttest.OnFinding(func(reconnecttest.Finding) { calls++ }))...)
	if calls != 3 || len(report.Findings) != 3 || slices.ContainsFunc(report.Findings, func(f reconnecttest.Finding) bool { return f.Known != "it is a fixture" }) {
		t.Errorf("got %+v", report.Findings)
	}
	f := &faults{T: t}
	for _, where := range []string{"cut before", "refused"} {
		f.text, known[0] = nil, reconnecttest.Known(prove.GaveUp, where, "it is a fixture")
		report := reconnecttest.CheckResume(f, numbers(3), endless, known...)
		if len(report.Findings) != 4 || len(f.text) != 1 {
			t.Errorf("known where %q: got %+v, and %q", where, report.Findings, f.text)
		}
	}
	f.text = nil
	var told []reconnecttest.Finding
	reconnecttest.CheckResume(f, numbers(3), faultless, reconnecttest.Known(prove.Lost, "cut", "issue 7"),
		reconnecttest.OnFinding(func(f reconnecttest.Finding) { told = append(told, f) }))
	if len(f.text) != 1 || !strings.Contains(f.text[0], `no finding of the kind "lost" at "cut" any more, which is Known: issue 7`) || told != nil {
		t.Errorf("got %q, %v", f.text, told)
	}
}

func TestOptions_Panic(t *testing.T) {
	check.Panics(t, "reconnecttest: OnFinding: f is nil", func() { reconnecttest.OnFinding(nil) })
	check.Panics(t, "reconnecttest: Known: why is empty", func() { reconnecttest.Known(prove.Lost, "cut", "") })
	check.Panics(t, "reconnecttest: Check: newRun is nil", func() { reconnecttest.Check[int](t, nil) })
	check.Panics(t, "reconnecttest: CheckResume: opts[0] is nil", func() { reconnecttest.CheckResume(t, numbers(3), faultless, nil) })
	if text := fmt.Sprint(check.Recovered(func() { reconnecttest.Known(prove.Past, "", "why") })); !strings.HasPrefix(text, `reconnecttest: Known: kind is "past-the-proxy", want one of ["lost" `) {
		t.Errorf("got %s", text)
	}
}

// -run with a scenario plays that alone.
func TestAScenarioAlone(t *testing.T) {
	pattern := flag.Lookup("test.run").Value.String()
	defer func() { _ = flag.Set("test.run", pattern) }()
	for name, want := range map[string]string{"cut/event_2": "the connection is cut before event 2 of 3 (2)", "stop/value_3": "the consumer stops at 3", "flapping/flapping": "each connection"} {
		group, scenario, _ := strings.Cut(name, "/")
		_ = flag.Set("test.run", "Feed/"+name)
		var report reconnecttest.Report
		var found []reconnecttest.Finding
		matches := func(pattern, name string) (bool, error) { return pattern == name, nil }
		testing.RunTests(matches, []testing.InternalTest{{Name: "Feed", F: func(t *testing.T) {
			found = nil // it runs for each of -cpu and -count
			report = reconnecttest.CheckResume(t, numbers(3), func(connect connect) ints {
				return func(ctx context.Context, yield func(int) bool) error {
					panic("boo")
				}
			}, reconnecttest.OnFinding(func(f reconnecttest.Finding) { found = append(found, f) }))
		}}})
		if report.Scenarios != 1 || len(found) != 1 || found[0].Where != "undisturbed" {
			t.Errorf("%s: got %+v", name, report)
		}
		testing.RunTests(matches, []testing.InternalTest{{Name: "Feed", F: func(t *testing.T) {
			found = nil
			report = reconnecttest.CheckResume(t, numbers(3), func(connect connect) ints {
				return func(ctx context.Context, yield func(int) bool) error {
					at := 0
					err := connect(at)(ctx, yield)
					for ctx.Err() == nil && err != nil {
						time.Sleep(time.Second)
						err = connect(at)(ctx, yield)
					}
					return err
				}
			}, reconnecttest.Known(prove.Jitter, "", "not played"), reconnecttest.OnFinding(func(f reconnecttest.Finding) { found = append(found, f) }))
		}}})
		if report.Scenarios != 2 || len(found) > 0 && !strings.HasPrefix(found[0].Where, want) {
			t.Errorf("%s %s: got %+v", group, scenario, report)
		}
		if name == "cut/event_2" && (len(found) != 1 || !strings.Contains(strings.Join(found[0].Timeline, "\n"), "asleep in reconnecttest_test.TestAScenarioAlone")) {
			t.Errorf("got %+v", found)
		}
	}
}

// Time does not go back from run to run, nor before the time of the process: a bubble begins an hour later.
func TestTimeGoesOn(t *testing.T) {
	begun := time.Now()
	var mu sync.Mutex
	var last time.Time
	runs := 0
	reconnecttest.CheckResume(t, numbers(3), func(connect connect) ints {
		if d := time.Since(last); d < time.Hour {
			t.Errorf("a bubble begins %v after the run before", d)
		}
		return func(ctx context.Context, yield func(int) bool) error {
			now := time.Now()
			err := faultless(connect)(ctx, yield)
			mu.Lock()
			defer mu.Unlock()
			if runs++; now.Sub(last) < 0 || now.Before(begun) {
				t.Errorf("run %d begins at %v, after one that ended at %v", runs, now, last)
			}
			last = time.Now()
			return err
		}
	})
	if runs < 40 {
		t.Errorf("only %d runs", runs)
	}
}

// A state that comes after a later one is a fault, and so is a last one that does not come.
func TestLatest_Wrong(t *testing.T) {
	for name, test := range map[string]struct {
		client func(connect) ints
		want   reconnecttest.Kind
	}{
		"an old one": {func(connect connect) ints {
			return func(ctx context.Context, yield func(int) bool) error {
				skipped := 0
				return inLoop(pauseFor)(func(at int) ints {
					if at > 0 && at < 11 {
						skipped = at + 1
						at++
					}
					return func(ctx context.Context, yield func(int) bool) error {
						return connect(at)(ctx, func(v int) bool {
							again := yield(v)
							if again && skipped > 0 {
								again = yield(skipped)
								skipped = 0
							}
							return again
						})
					}
				})(ctx, yield)
			}
		}, prove.Order},
		"not the last": {func(connect connect) ints {
			return inLoop(pauseFor)(func(at int) ints {
				if at > 0 {
					return connect(12)
				}
				return connect(0)
			})
		}, prove.Lost},
	} {
		t.Run(name, func(t *testing.T) {
			report := reconnecttest.CheckResume(t, numbers(12), test.client, reconnecttest.Latest(), reconnecttest.OnFinding(func(reconnecttest.Finding) {}))
			if !slices.ContainsFunc(report.Findings, func(f reconnecttest.Finding) bool { return f.Kind == test.want }) {
				t.Errorf("got %v", report.Findings)
			}
		})
	}
}

// freezes runs a test whose bubbles stand still in a process of its own, because what they leave makes each later test
// slower. It returns true in that process, where a bubble may stand still for a short time only.
func freezes(t *testing.T) bool {
	t.Helper()
	const variable = "RETRYWHEN_FREEZES"
	if os.Getenv(variable) == t.Name() {
		virtual.Standing = 500 * time.Millisecond
		return true
	}
	t.Parallel()
	program, err := os.Executable()
	check.Must(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// A client that holds a mutex in a Read without a deadline does not notice silence, and the mutex does not hide that.
func TestSilence_UnderAMutex(t *testing.T) {
	if !freezes(t) {
		return
	}
	report := reconnecttest.Check(t, against(serveLines(3), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		var mu sync.Mutex
		return byHand{noTimeout: always}.run(ctx, func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			conn = &locked{Conn: conn, mu: &mu}
			go func() { // what its documents promise to notice silence
				for {
					time.Sleep(time.Minute)
					if _, err := conn.Write([]byte("\n")); err != nil {
						return
					}
				}
			}()
			return conn, nil
		}, got)
	}), reconnecttest.OnFinding(func(reconnecttest.Finding) {}))
	i := slices.IndexFunc(report.Findings, func(f reconnecttest.Finding) bool { return f.Kind == prove.Silent })
	if i < 0 || !strings.Contains(report.Findings[i].What, "reads without a deadline") || report.NotPlayed == 0 {
		t.Errorf("got %+v", report)
	}
}

// locked is a connection whose calls exclude each other.
type locked struct {
	net.Conn
	mu *sync.Mutex
}

func (l *locked) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Conn.Read(p)
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Conn.Write(p)
}

// A report of a bubble that stands still has the server's goroutines too.
func TestFreeze_OfAServer(t *testing.T) {
	if !freezes(t) {
		return
	}
	var mu sync.Mutex
	serve := func(ctx context.Context, l net.Listener) {
		mu.Lock()
		go following(ctx, func(context.Context, string, string) (net.Conn, error) { mu.Lock(); return nil, nil }, func(string) {})
		serveLines(3)(ctx, l)
	}
	report := reconnecttest.Check(t, against(serve, following), reconnecttest.OnFinding(func(reconnecttest.Finding) {}))
	if len(report.Findings) != 1 || report.Findings[0].Kind != prove.Unjudged {
		t.Fatalf("got %+v", report)
	}
	text := report.Findings[0].What
	if strings.Contains(text, "goroutine 0") || strings.Count(text, "[sync.Mutex.Lock]") != 1 || !strings.Contains(text, "TestFreeze_OfAServer") {
		t.Errorf("got %s", text)
	}
}

// A freeze after the values were complete does not end the check. Each freeze says who may hold the mutex, and after
// three of them one scenario of each group is played.
func TestFreeze_AfterTheValues(t *testing.T) {
	if !freezes(t) {
		return
	}
	var report reconnecttest.Report
	pattern := flag.Lookup("test.run").Value.String()
	defer func() { _ = flag.Set("test.run", pattern) }()
	_ = flag.Set("test.run", "Feed/^(cut|end|silence)$")
	testing.RunTests(regexp.MatchString, []testing.InternalTest{{Name: "Feed", F: func(t *testing.T) {
		report = reconnecttest.CheckResume(t, numbers(3), func(connect connect) ints {
			return func(ctx context.Context, yield func(int) bool) error {
				c := &closing{}
				defer c.close()
				return faultless(connect)(ctx, yield)
			}
		}, reconnecttest.OnFinding(func(reconnecttest.Finding) {}))
	}}})
	if report.Values != 3 || report.Scenarios != 4 || report.NotPlayed != 8 || len(report.Findings) != 4 {
		t.Fatalf("got %+v", report)
	}
	for _, f := range report.Findings {
		if f.Kind != prove.Unjudged || !strings.Contains(f.What, "[sync.Mutex.Lock]") || !strings.Contains(f.What, "the mutex may be held here: asleep in reconnecttest_test.(*closing).flush at reconnecttest/report_test.go:") {
			t.Errorf("got %s", f)
		}
	}
}

type closing struct{ mu sync.Mutex }

func (c *closing) close() {
	c.mu.Lock()
	go c.flush()
	c.mu.Lock()
}

func (c *closing) flush() {
	time.Sleep(time.Second)
	c.mu.Unlock()
}

// What spins without a call of its connection is found after half a minute of real time.
func TestSpin(t *testing.T) {
	if !night {
		t.Skip("RETRYWHEN_NIGHTLY is not 1; the test runs for half a minute of real time")
	}
	var over atomic.Bool
	report := reconnecttest.CheckResume(t, numbers(3), func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			err := faultless(func(at int) ints {
				return func(ctx context.Context, yield func(int) bool) error {
					err := connect(at)(ctx, yield)
					for err != nil && ctx.Err() == nil && !over.Load() {
					}
					return err
				}
			})(ctx, yield)
			return err
		}
	}, reconnecttest.OnFinding(func(f reconnecttest.Finding) {
		over.Store(true)
		if f.Kind != prove.Hot || !strings.Contains(f.What, "it runs for 30 s of real time") || !strings.Contains(f.What, "TestSpin") {
			t.Errorf("got %s", f)
		}
	}))
	if len(report.Findings) != 1 || report.NotPlayed < 3 {
		t.Errorf("got %+v", report)
	}
}
