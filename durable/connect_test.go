package durable

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A server that accepts and says nothing.
func TestOpenFailsWithTheCauseOfItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	enough := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, enough)
	defer cancel()
	if _, err := Open(ctx, Config{URL: "nats://" + l.Addr().String(), Name: "q"}); !errors.Is(err, enough) {
		t.Errorf("got %v, want the cause of the context", err)
	}
}

// oldServer answers as a NATS server of that version does until somebody asks for more than a connection, and returns
// its URL.
func oldServer(t *testing.T, version string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.WriteString(c, `INFO {"server_id":"old","version":"`+version+`","headers":true,"max_payload":1048576}`+"\r\n")
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "PING") {
						io.WriteString(c, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://" + l.Addr().String()
}

func TestABudgetNeedsCounters(t *testing.T) {
	_, err := OpenBudget(t.Context(), BudgetConfig{URL: oldServer(t, "2.11.9"), Name: "b", Tokens: 1})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "version 2.11.9") || !strings.Contains(err.Error(), "update it to 2.12") {
		t.Errorf("got %v, want ErrRefused with the version", err)
	}
}
