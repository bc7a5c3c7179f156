package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// flaky is a server of server-sent events with faults. It serves the events 1 to total. After every few hundred events
// it has the next fault.
type flaky struct {
	total   int
	listen  string
	mu      sync.Mutex
	server  *http.Server
	served  int // how many requests
	closing bool
	wait    sync.WaitGroup
}

// fault is how a connection ends.
type fault int

const (
	dropped   fault = iota // the connection is reset in the middle of an event
	busy                   // the request fails with 503 and Retry-After
	ended                  // the response ends, as if there were no more events
	refusing               // the port is closed for a while
	silent                 // the connection stays open, but nothing comes
	truncated              // the response ends without an error in the middle of an event
)

// everyFault is the order of the faults, which repeats.
var everyFault = []fault{dropped, silent, ended, refusing, busy, truncated}

// String says what the server does.
func (f fault) String() string {
	return [...]string{"resets the connection amid an event", "answers 503", "ends the response", "refuses connections",
		"falls silent", "ends the response amid an event"}[f]
}

func startFlaky(total int) (*flaky, error) {
	f := &flaky{total: total, listen: "127.0.0.1:0"}
	return f, f.open()
}

func (f *flaky) url() string { return "http://" + f.listen + "/events" }

// open listens on the same port as before, unless close was called.
func (f *flaky) open() error {
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return l.Close()
	}
	f.listen = l.Addr().String()
	f.server = &http.Server{Handler: http.HandlerFunc(f.serve), ErrorLog: log.New(io.Discard, "", 0)}
	server := f.server
	f.wait.Go(func() { _ = server.Serve(l) })
	return nil
}

// close stops the server permanently.
func (f *flaky) close() {
	f.mu.Lock()
	f.closing = true
	server := f.server
	f.mu.Unlock()
	_ = server.Close()
	f.wait.Wait()
}

// refuse closes the port and opens it again after a while.
func (f *flaky) refuse(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	server := f.server
	f.wait.Go(func() {
		_ = server.Close()
		time.Sleep(d)
		_ = f.open()
	})
}

func (f *flaky) nextFault() fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served++
	return everyFault[(f.served-1)%len(everyFault)]
}

// playing says what the server does after the events that it serves.
func (f *flaky) playing() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "the server " + everyFault[max(f.served-1, 0)%len(everyFault)].String()
}

func (f *flaky) serve(w http.ResponseWriter, r *http.Request) {
	last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	fault := f.nextFault()
	if fault == busy {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "try again later", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	until := min(last+300+last%7*100, f.total)
	for n := last + 1; n <= until; n++ {
		fmt.Fprintf(w, "id: %d\ndata: {\"n\":%[1]d}\n\n", n)
		if n%50 == 0 {
			_ = flush()
		}
	}
	_ = flush()
	if until == f.total {
		return
	}
	switch fault {
	case dropped:
		fmt.Fprintf(w, "id: %d\ndata: {\"n\":", until+1)
		_ = flush()
		panic(http.ErrAbortHandler)
	case truncated:
		fmt.Fprintf(w, "id: %d\ndata: {\"n\":", until+1)
	case silent:
		<-r.Context().Done()
	case refusing:
		f.refuse(300 * time.Millisecond)
		<-r.Context().Done()
	}
}
