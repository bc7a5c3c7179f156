package check

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// Serve serves HTTP on l until ctx ends, for reconnecttest.Check.
func Serve(ctx context.Context, l net.Listener, h http.Handler) {
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: h}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	_ = server.Serve(l)
}

// Accept serves each connection of l on a goroutine of its own. The returned function waits for their ends, after l's.
func Accept(l net.Listener, serve func(net.Conn)) (wait func()) {
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(c) })
		}
	})
	return all.Wait
}
