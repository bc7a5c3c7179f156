package reconnecttest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// A test of one's own: the server falls silent after two minutes, and the client notices that half a minute later.
func ExampleNetwork() {
	check.GoTest("TestSilence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var network reconnecttest.Network
			port := network.Listen()
			go func() {
				conn, err := port.Accept()
				for i := 1; err == nil && i <= 100; i++ {
					_, err = fmt.Fprintln(conn, i)
					time.Sleep(10 * time.Second)
				}
				_ = conn.Close()
			}()
			time.AfterFunc(2*time.Minute+time.Second, func() { network.Break(prove.Silence) })
			start, last := time.Now(), ""
			conn, err := network.Dial(t.Context(), "tcp", "127.0.0.1:80")
			check.Must(t, err)
			defer conn.Close()
			for lines := bufio.NewScanner(conn); lines.Scan(); last = lines.Text() {
				_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			}
			fmt.Println("the last line was", last, "and the client gave up after", time.Since(start).Round(time.Second))
			network.Break(prove.Refuse)
			_, err = network.Dial(t.Context(), "tcp", "127.0.0.1:80")
			fmt.Println(err)
			time.Sleep(time.Hour) // until the server has ended
		})
	})
	// Output:
	// the last line was 13 and the client gave up after 2m30s
	// dial tcp 127.0.0.1:80: connect: connection refused
	// TestSilence passed: true
}

// Each way breaks a connection as it says, and how long something is on its way can change.
func TestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network reconnecttest.Network
		dial := func() (client, server net.Conn) {
			t.Helper()
			port := network.Listen()
			client, err := network.Dial(t.Context(), "tcp", "anything:1")
			check.Must(t, err)
			if server, err = port.Accept(); err != nil {
				t.Fatal(err)
			}
			return client, server
		}
		if _, err := network.Dial(t.Context(), "tcp", "anything:1"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("without a port: %v", err)
		}
		for how, want := range map[prove.Way]error{prove.Cut: syscall.ECONNRESET, prove.End: io.EOF, prove.Silence: context.DeadlineExceeded, prove.Refuse: syscall.ECONNRESET} {
			client, server := dial()
			network.Break(how)
			_ = client.SetReadDeadline(time.Now().Add(time.Minute))
			_, err := client.Read(make([]byte, 1))
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				err = context.DeadlineExceeded
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", how, err, want)
			}
			_, err = network.Dial(t.Context(), "tcp", "anything:1")
			if refused := errors.Is(err, syscall.ECONNREFUSED); refused != (how == prove.Refuse) {
				t.Errorf("%s: then a dial returned %v", how, err)
			}
			_, _ = client.Close(), server.Close()
		}
		client, server := dial()
		for _, delay := range []time.Duration{50 * time.Microsecond, time.Second, time.Hour} {
			if delay > time.Millisecond {
				network.Delay(delay)
			}
			start := time.Now()
			_, _ = server.Write([]byte("x"))
			if _, err := client.Read(make([]byte, 1)); err != nil || time.Since(start) != delay {
				t.Errorf("%v after %v, want %v", err, time.Since(start), delay)
			}
		}
		network.Delay(0)
		for range 20_000 { // nobody judges a loop
			_, _ = client.Write([]byte("x"))
		}
		_ = client.Close()
		if all, err := io.ReadAll(server); len(all) != 20_000 || err != nil {
			t.Errorf("got %d bytes, %v", len(all), err)
		}
	})
	check.Panics(t, `reconnecttest: Network.Break: how is "amid", want cut, end, silence or refuse`, func() { new(reconnecttest.Network).Break(prove.Amid) })
}
