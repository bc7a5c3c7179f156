package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// collector stores lines and acknowledges each. It dies after some lines, before it stores a line or before it
// acknowledges one, and comes back a little later.
type collector struct {
	addr string
	dead time.Duration
	back func() // called when the collector is back

	mu       sync.Mutex
	listener net.Listener
	stored   []string
	received int
	closed   bool
	wait     sync.WaitGroup
}

func startCollector(dead time.Duration, back func()) (*collector, error) {
	c := &collector{addr: "127.0.0.1:0", dead: dead, back: back}
	return c, c.open()
}

func (c *collector) open() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	l, err := net.Listen("tcp", c.addr)
	if err != nil {
		return fmt.Errorf("start the collector: %w", err)
	}
	c.addr, c.listener = l.Addr().String(), l
	c.wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.wait.Go(func() { c.collect(conn) })
		}
	})
	return nil
}

func (c *collector) close() []string {
	c.mu.Lock()
	c.closed = true
	c.listener.Close()
	c.mu.Unlock()
	c.wait.Wait()
	return c.stored
}

func (c *collector) collect(conn net.Conn) {
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		if c.store(line) {
			c.die()
			return
		}
		if _, err := fmt.Fprintf(conn, "have %s\n", line); err != nil {
			return
		}
	}
}

// store stores the line, and reports whether the collector dies now.
func (c *collector) store(line string) (dies bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received++
	if c.received%200 == 0 {
		return true // before the line is stored
	}
	// A line that comes again was stored, but not acknowledged.
	if n := len(c.stored); n == 0 || c.stored[n-1] != line {
		c.stored = append(c.stored, line)
	}
	return c.received%150 == 0
}

func (c *collector) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener.Close()
	c.wait.Go(func() {
		time.Sleep(c.dead)
		if err := c.open(); err == nil {
			c.back()
		}
	})
}
