package reconnecttest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// countTo3 is a server that sends three numbers to each client, and then nothing.
func countTo3() (server string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for n := 1; n <= 3; n++ {
					_, _ = fmt.Fprintln(c, n)
					time.Sleep(10 * time.Millisecond)
				}
				_, _ = c.Read(make([]byte, 1)) // until the client closes
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String(), func() { _ = l.Close() }
}

// count is a client of it that is right if values may be repeated.
func count(ctx context.Context, r prove.Run, got func(string)) error {
	for ctx.Err() == nil {
		if c, err := net.Dial("tcp", r.Addr); err == nil {
			stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
			for lines := bufio.NewScanner(c); lines.Scan(); {
				got(lines.Text())
			}
			stop()
			_ = c.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// unlessBusy is a test that is skipped, and does not fail, if the machine was too busy to judge.
type unlessBusy struct{ testing.TB }

func (t unlessBusy) Errorf(format string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok && errors.Is(err, prove.ErrBusy) {
			t.Skip(err)
		}
	}
	t.TB.Errorf(format, args...)
}

// A client, a real server, and a proxy between them. A machine that is too busy to judge does not fail it.
func ExampleCheckTCP() {
	server, stop := countTo3()
	defer stop()
	check.GoTest("TestComesBack", func(t *testing.T) {
		reconnecttest.CheckTCP(unlessBusy{t}, prove.Target{
			Server: server, Client: count, AtLeastOnce: true,
			Ways: []prove.Way{prove.Cut, prove.End}, Quiet: 300 * time.Millisecond,
		})
	})
	// Output: TestComesBack passed: true
}

// collector collects what a check reports.
type collector struct {
	testing.TB
	lines []string
}

func (c *collector) Helper()                           {}
func (c *collector) Logf(format string, args ...any)   { c.add("log", format, args) }
func (c *collector) Errorf(format string, args ...any) { c.add("error", format, args) }

func (c *collector) add(how, format string, args []any) {
	text, _, _ := strings.Cut(fmt.Sprintf(format, args...), " (connection")
	c.lines = append(c.lines, how+" "+text)
}

func TestCheckTCP(t *testing.T) {
	server, stop := countTo3()
	defer stop()
	const repeated = "reconnecttest: CheckTCP: repeated: cut before chunk 2 of 3"
	for name, test := range map[string]struct {
		change func(*prove.Target)
		want   []string
	}{
		"found": {func(*prove.Target) {}, []string{"error " + repeated}},
		"known": {func(p *prove.Target) { p.Known = []prove.Known{{Kind: prove.Repeated, Where: "cut", Why: "no ids"}} }, []string{"log " + repeated}},
		"not found": {func(p *prove.Target) {
			p.AtLeastOnce, p.Known = true, []prove.Known{{Kind: prove.Hot, Why: "it spins"}}
		}, []string{"error reconnecttest: CheckTCP: there is no finding of the kind \"hot\" at \"\" any more, which is Known: it spins"}},
		"told":        {func(p *prove.Target) { p.OnFinding = func(prove.Finding) {} }, nil},
		"unjudgeable": {func(p *prove.Target) { p.Server = "nowhere" }, []string{`error reconnecttest: CheckTCP: prove: Target.Server is "nowhere", want host:port`}},
	} {
		target := prove.Target{Server: server, Client: count, Ways: []prove.Way{prove.Cut}, Quiet: 300 * time.Millisecond}
		test.change(&target)
		c := &collector{TB: t}
		if reconnecttest.CheckTCP(unlessBusy{c}, target); !slices.Equal(c.lines, test.want) {
			t.Errorf("%s: got %q, want %q", name, c.lines, test.want)
		}
	}
}
