package prove_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/prove"
)

// where asks a connection through the proxy for the server's address, as it were.
func where(ctx context.Context, s *server, r prove.Run) (net.Conn, error) {
	asked := prove.Run{Name: "where" + r.Name}
	if lines, _ := s.read(asked.Name); len(lines) == 0 {
		if err := s.append(ctx, asked, 0); err != nil {
			return nil, err
		}
	}
	conn, err := net.Dial("tcp", r.Addr)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
	_, _ = fmt.Fprintln(conn, asked.Name, 0)
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// A program that follows the address that the server has told it has not been tested. A right one that delivers late,
// several values at once or decoded ones has.
func TestCheck_WhatHasPassed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	decoded := func(v string) string { return strings.ToUpper(v) }
	follow := func(keep bool) func(context.Context, prove.Run, func(string)) error {
		return func(ctx context.Context, r prove.Run, got func(string)) error {
			for ctx.Err() == nil {
				conn, err := where(ctx, s, r)
				if err != nil {
					time.Sleep(20 * time.Millisecond)
					continue
				}
				if !keep {
					_ = conn.Close()
				}
				err = client{direct: true}.run(ctx, r, got)
				_ = conn.Close()
				return err
			}
			return nil
		}
	}
	slowly := func(each time.Duration, c client) func(context.Context, prove.Run, func(string)) error {
		return func(ctx context.Context, r prove.Run, got func(string)) error {
			values := make(chan string, 100)
			var task sync.WaitGroup
			task.Go(func() {
				defer close(values)
				_ = c.run(ctx, r, func(v string) { values <- v })
			})
			for v := range values {
				time.Sleep(each)
				got(v)
			}
			task.Wait()
			return nil
		}
	}
	var checks sync.WaitGroup
	for name, test := range map[string]struct {
		client func(context.Context, prove.Run, func(string)) error
		filled bool // all events are there before the run
		single bool // there is one event only
		past   bool
		notes  string
	}{
		"it closes the connection": {client: follow(false), past: true},
		"it keeps the connection":  {client: follow(true), past: true},
		"right":                    {client: client{}.run},
		"right, decoded":           {client: client{transform: decoded}.run, notes: "no value's text was"},
		"right, decoded late":      {client: slowly(400*time.Millisecond, client{transform: decoded}), notes: "no value's text was"},
		"right, a connection each": {client: client{polls: true, transform: decoded}.run, notes: "no value's text was"},
		"right, slow, and it ends": {client: slowly(200*time.Millisecond, client{finite: true}), filled: true},
		"right, with one event":    {client: client{reconnects: true}.run, single: true, notes: "all that came from the server came at once, so there is one place only"},
	} {
		checks.Go(func() {
			target := s.target(test.client)
			target.Ways, target.Places = []prove.Way{prove.End}, 2
			if test.filled {
				target.Event = nil
				target.Before = s.fill
			}
			if test.single {
				target.Event = nil
				target.Before = func(ctx context.Context, r prove.Run) error { return s.append(ctx, r, 1) }
			}
			checked(t, target, func(report prove.Report, err error) {
				if past := err != nil && strings.HasPrefix(err.Error(), "prove: undisturbed: past-the-proxy: "); past != test.past || err != nil && !past {
					t.Errorf("%s: got %v", name, err)
				}
				if got := strings.Join(report.Notes, "\n"); !strings.HasPrefix(got, test.notes) || (got == "") != (test.notes == "") {
					t.Errorf("%s: notes %q, want %q", name, got, test.notes)
				}
			})
		})
	}
	checks.Wait()
}

// What has come before a reset can be read after it.
func TestCheck_DataBeforeAReset(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere the kernel may drop it")
	}
	t.Parallel()
	s := newServer(t)
	target := s.target(nil)
	target.Ways, target.Places = []prove.Way{prove.Cut}, 2
	disturbed := measured(&target)
	var mu sync.Mutex
	var read []int // bytes of connections that were reset
	target.Client = func(ctx context.Context, r prove.Run, got func(string)) error {
		if disturbed() {
			conn, err := net.Dial("tcp", r.Addr)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintln(conn, r.Name, 0)
			time.Sleep(2 * time.Second)
			n := 0
			for buffer := make([]byte, 100); err == nil; {
				var more int
				_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
				more, err = conn.Read(buffer)
				n += more
			}
			_ = conn.Close()
			mu.Lock()
			if strings.Contains(err.Error(), syscall.ECONNRESET.Error()) {
				read = append(read, n)
			}
			mu.Unlock()
		}
		return client{}.run(ctx, r, got)
	}
	checked(t, target, func(report prove.Report, err error) {
		if err != nil || len(report.Findings) > 0 || len(read) < 2 || slices.Max(read) < len("event 1\n") {
			t.Errorf("got %v and %+v, and read %v", err, report, read)
		}
	})
}
