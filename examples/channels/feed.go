package main

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
)

// feed is a server of numbered lines. It drops every connection after some lines, in the middle of a line, and every
// third connection at once.
type feed struct {
	listener net.Listener
	wait     sync.WaitGroup
}

func startFeed() (*feed, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &feed{listener: l}
	f.wait.Go(f.accept)
	return f, nil
}

func (f *feed) addr() string { return f.listener.Addr().String() }

func (f *feed) close() {
	f.listener.Close()
	f.wait.Wait()
}

func (f *feed) accept() {
	for n := 1; ; n++ {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.wait.Go(func() {
			defer conn.Close()
			request, err := bufio.NewReader(conn).ReadString('\n')
			first, bad := strconv.Atoi(strings.TrimSpace(request))
			if err != nil || bad != nil || n%3 == 0 {
				return
			}
			for line := first; line < first+97; line++ {
				if _, err := fmt.Fprintf(conn, "line %d\n", line); err != nil {
					return
				}
			}
			fmt.Fprint(conn, "line ")
		})
	}
}
