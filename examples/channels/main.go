// Channels reads a line feed over TCP with a pipeline of plain channels. RetryChans starts it again when the connection
// drops.
//
//	go run ./examples/channels
//
// The protocol is simple: the client sends the number of the first line that it wants, and the server sends the lines
// from there on.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/program"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
)

func main() { program.Main("channels", os.Args[1:], run) }

const most = 1000 // lines

// run starts a feed that drops its connections, and reads it.
func run(ctx context.Context, out io.Writer) error {
	f, err := startFeed()
	if err != nil {
		return err
	}
	defer f.close()
	return read(ctx, f.addr(), out)
}

// read reads the lines of the feed at addr.
func read(ctx context.Context, addr string, out io.Writer) error {
	retries := 0
	policy := operators.ExpBackoff(jitter.Default, 10*time.Millisecond, 6, retry.ResetAfterItems(1),
		retry.OnRetry(func(_ context.Context, e retry.Event) {
			retries++
			fmt.Fprintf(out, "retry %d in %v: %v\n", retries, e.Delay.Round(time.Millisecond), e.Err)
		}))

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	follower := follower{addr: addr}
	values, errs := operators.RetryChans(ctx, follower.follow, policy)
	next := 1
	for line := range values {
		if want := "line " + strconv.Itoa(next); line != want {
			return fmt.Errorf("got %q, want %q", line, want)
		}
		if next++; next > most {
			cancel() // a reader of channels that stops early must cancel and drain
			for range values {
			}
			break
		}
	}
	if err := <-errs; err != nil && next <= most {
		return err
	}
	fmt.Fprintf(out, "%d lines in order, %d reconnects\n", next-1, retries)
	return nil
}

// follower is a usual producer: two channels, and a goroutine that ends with ctx. It does not retry, but each call
// continues after the last line that was received.
type follower struct {
	addr string
	sent int // written by one attempt at a time
}

func (f *follower) follow(ctx context.Context) (<-chan string, <-chan error) {
	lines, errs := make(chan string), make(chan error, 1)
	go func() {
		defer close(lines)
		errs <- f.read(ctx, lines)
	}()
	return lines, errs
}

func (f *follower) read(ctx context.Context, lines chan<- string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", f.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := fmt.Fprintf(conn, "%d\n", f.sent+1); err != nil {
		return err
	}
	for in := bufio.NewReader(conn); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return err // half a line is not delivered
		}
		select {
		case lines <- strings.TrimSuffix(line, "\n"):
			f.sent++
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
