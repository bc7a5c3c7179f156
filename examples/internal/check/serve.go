// Package check has what the tests of all examples need.
package check

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
)

// Serve serves HTTP on l until ctx ends, for reconnecttest.Check.
func Serve(ctx context.Context, l net.Listener, h http.Handler) {
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: h}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	_ = server.Serve(l)
}
