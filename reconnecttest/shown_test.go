package reconnecttest_test

import (
	"context"
	"flag"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// A client that asks again at once, although there is nothing new, is found in the undisturbed run, and nothing else is
// played: each run would take as long.
func TestHot_AsksAtOnce(t *testing.T) {
	report := reconnecttest.Check(t, against(serveAfter(3, func() time.Duration { return 20 * time.Millisecond }), longPolls{}.run), reconnecttest.OnFinding(func(reconnecttest.Finding) {}))
	if len(report.Findings) != 1 || report.Scenarios != 1 {
		t.Fatalf("got %+v", report)
	}
	f := report.Findings[0]
	if f.Kind != prove.Hot || f.Where != "undisturbed" || f.What != "it wrote 1000 times in a minute, each time as soon as it had read something that brought no value" {
		t.Errorf("got %s: %s", f.Kind, f)
	}
}

// One that does so only after a break is found three times at most.
func TestHot_AsksAtOnceAfterABreak(t *testing.T) {
	report := reconnecttest.Check(t, func() reconnecttest.Run[string] {
		quiet := 10 * time.Second
		serve := serveAfter(3, func() time.Duration { return quiet })
		return reconnecttest.Run[string]{Serve: serve, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			connections := 0
			return longPolls{}.run(ctx, func(ctx context.Context, network, addr string) (net.Conn, error) {
				if connections++; connections > 1 {
					quiet = 0
				}
				return dial(ctx, network, addr)
			}, got)
		}}
	}, reconnecttest.OnFinding(func(reconnecttest.Finding) {}))
	i := slices.IndexFunc(report.Findings, func(f reconnecttest.Finding) bool { return f.Kind == prove.Hot })
	if i < 0 || report.Scenarios != 4 || report.NotPlayed == 0 {
		t.Errorf("got %+v", report)
	}
}

// alone plays one scenario of a check, as -run does, and returns what is found.
func alone(name string, check func(t *testing.T, found func(reconnecttest.Finding))) (found []reconnecttest.Finding) {
	pattern := flag.Lookup("test.run").Value.String()
	defer func() { _ = flag.Set("test.run", pattern) }()
	_ = flag.Set("test.run", "Feed/"+name)
	testing.RunTests(regexp.MatchString, []testing.InternalTest{{Name: "Feed", F: func(t *testing.T) {
		found = nil // it runs for each of -cpu and -count
		check(t, func(f reconnecttest.Finding) { found = append(found, f) })
	}}})
	return found
}

// A timeline has a wait when it changes, and refusals in a row in one line.
func TestTimeline(t *testing.T) {
	found := alone("down/down", func(t *testing.T, got func(reconnecttest.Finding)) {
		reconnecttest.CheckResume(t, numbers(4), inLoop(func() time.Duration { return 700 * time.Millisecond }), reconnecttest.OnFinding(got))
	})
	if len(found) != 1 || found[0].Kind != prove.Hot {
		t.Fatalf("got %v", found)
	}
	text := regexp.MustCompile(`in \S+ at \S+`).ReplaceAllString(strings.Join(found[0].Timeline, "\n"), "in …")
	text = regexp.MustCompile(`\d{4}`).ReplaceAllString(text, "…")
	want := `0s dial 1
101ms event 1, value 1, selects in …
201ms event 2, value 2
301ms cut of connection 1, closes connection 1, selects in …
1.001s dial 2 and … more
1.002s refused`
	if !strings.HasPrefix(text, want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// The name of a scenario in which a goroutine of the client's panics is written before.
func TestPanic_OfAnotherGoroutine(t *testing.T) {
	const variable = "RECONNECTTEST_PANIC"
	if os.Getenv(variable) == "" {
		program, err := os.Executable()
		check.Must(t, err)
		command := exec.Command(program, "-test.run=^TestPanic_OfAnotherGoroutine$", "-test.v")
		command.Env = append(os.Environ(), variable+"=1")
		text, err := command.CombinedOutput()
		before, _, found := strings.Cut(string(text), "panic: boo")
		names := regexp.MustCompile(`reconnecttest: CheckResume: (\S+)\n`).FindAllStringSubmatch(before, -1)
		if err == nil || !found || len(names) == 0 || names[len(names)-1][1] != "TestPanic_OfAnotherGoroutine/cut/event_3" {
			t.Errorf("%v: %q in\n%s", err, names, text)
		}
		return
	}
	reconnecttest.CheckResume(t, numbers(4), func(connect connect) ints {
		return faultless(func(at int) ints {
			if at == 2 {
				go panic("boo")
			}
			return connect(at)
		})
	})
}
