package reconnecttest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/stream"
)

// against returns the runs of a client against a server without a state.
func against[V any](serve func(context.Context, net.Listener), client func(context.Context, reconnecttest.Dial, func(V)) error) func() reconnecttest.Run[V] {
	return func() reconnecttest.Run[V] { return reconnecttest.Run[V]{Serve: serve, Client: client} }
}

// serveLines serves a log of n lines: a client sends the number of the last line that it has, and gets the rest, a line
// every 100 ms, and an empty line every ten seconds when there is no more.
func serveLines(n int) func(context.Context, net.Listener) {
	return func(ctx context.Context, l net.Listener) {
		defer context.AfterFunc(ctx, func() { _ = l.Close() })()
		var all sync.WaitGroup
		defer all.Wait()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				defer conn.Close()
				var last int
				if _, err := fmt.Fscanf(conn, "%d\n", &last); err != nil {
					return
				}
				for i := last + 1; ; i++ {
					time.Sleep(100 * time.Millisecond)
					line := fmt.Sprintf("%d line %d\n", i, i)
					if i > n {
						line = "\n"
						time.Sleep(10 * time.Second)
					}
					if _, err := io.WriteString(conn, line); err != nil {
						return
					}
				}
			})
		}
	}
}

// connected dials, sends the number of the last line, and calls f. An end of ctx closes the connection.
func connected(ctx context.Context, dial reconnecttest.Dial, last int, f func(net.Conn) error) error {
	conn, err := dial(ctx, "tcp", "server:80")
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := fmt.Fprintln(conn, last); err != nil {
		return err
	}
	return f(conn)
}

// lines is one connection of a client.
func lines(dial reconnecttest.Dial, last int, silence time.Duration) stream.Stream[string] {
	return func(ctx context.Context, yield func(string) bool) error {
		return connected(ctx, dial, last, func(conn net.Conn) error {
			for in := bufio.NewReader(conn); ; {
				if silence > 0 {
					_ = conn.SetReadDeadline(time.Now().Add(silence))
				}
				line, err := in.ReadString('\n')
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err != nil { // what came of an unfinished line does not count
					return err
				}
				if line != "\n" && !yield(strings.TrimSpace(line)) {
					return nil
				}
			}
		})
	}
}

func number(_ int, line string) int {
	n, _ := strconv.Atoi(strings.Fields(line)[0])
	return n
}

type serving = func(context.Context, net.Listener)

type reconnecting = func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error

// following is a client without a fault.
func following(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	open := func(last int) stream.Stream[string] { return lines(dial, last, 30*time.Second) }
	return operators.Resume(0, open, number, reconnect).ForEach(ctx, got)
}

func TestCheck(t *testing.T) {
	reconnecttest.Check(t, against(serveLines(12), following))
}

// timers is a pool, as network clients have one: a timer of one bubble must not come into another.
var timers = sync.Pool{New: func() any { return time.NewTimer(0) }}

// Tests that run in parallel do not share what a client keeps in pools.
func TestCheck_Parallel(t *testing.T) {
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			reconnecttest.Check(t, against(serveLines(3), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
				return following(ctx, func(ctx context.Context, network, addr string) (net.Conn, error) {
					timer := timers.Get().(*time.Timer)
					timer.Reset(time.Millisecond)
					<-timer.C
					timers.Put(timer)
					return dial(ctx, network, addr)
				}, got)
			}))
		})
	}
}

// halfLines delivers what came of a line before the connection broke.
func halfLines(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	last := 0
	var open stream.Stream[string] = func(ctx context.Context, yield func(string) bool) error {
		return connected(ctx, dial, last, func(conn net.Conn) error {
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			for in := bufio.NewScanner(conn); in.Scan(); {
				_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
				if in.Text() != "" {
					last = number(0, in.Text())
					yield(in.Text())
				}
			}
			return errors.New("disconnected")
		})
	}
	return open.RetryWhen(reconnect).ForEach(ctx, got)
}

// leaking leaves a goroutine with each attempt.
func leaking(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	return following(ctx, func(ctx context.Context, network, addr string) (net.Conn, error) {
		go time.Sleep(30 * time.Minute)
		return dial(ctx, network, addr)
	}, got)
}

// fifteenMinutes retries until so much time is over since the beginning.
func fifteenMinutes(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	start := time.Now()
	open := func(last int) stream.Stream[string] {
		return lines(dial, last, time.Minute).Catch(func(err error) stream.Stream[string] {
			if time.Since(start) > 15*time.Minute {
				err = stream.Permanent(err)
			}
			return stream.Fail[string](err)
		})
	}
	return operators.Resume(0, open, number, reconnect).ForEach(ctx, got)
}

func TestCheck_Wrong(t *testing.T) {
	if testing.Short() {
		t.Skip("whole sessions of each client")
	}
	for _, test := range []struct {
		name    string
		client  reconnecting
		options []reconnecttest.Option
	}{
		{"no retry", func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			return lines(dial, 0, 0).ForEach(ctx, got)
		}, nil},
		{"no timeout", func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			open := func(last int) stream.Stream[string] { return lines(dial, last, 0) }
			return operators.Resume(0, open, number, reconnect).ForEach(ctx, got)
		}, nil},
		{"from the beginning", func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			return lines(dial, 0, time.Minute).RetryWhen(reconnect).ForEach(ctx, got)
		}, nil},
		{"one too far", func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			open := func(last int) stream.Stream[string] { return lines(dial, last, time.Minute) }
			return operators.Resume(0, open, func(_ int, line string) int { return min(12, number(0, line)+1) }, reconnect).ForEach(ctx, got)
		}, nil},
		{"half a line", halfLines, nil},
		{"leaks", leaking, nil},
		{"fifteen minutes", fifteenMinutes, []reconnecttest.Option{reconnecttest.GivesUp()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &faults{T: t}
			reconnecttest.Check(f, against(serveLines(12), test.client), test.options...)
			f.expect()
		})
	}
}
