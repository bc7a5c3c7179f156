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
	total    int
	url      string
	server   *http.Server
	mu       sync.Mutex
	served   int       // how many requests
	deafTill time.Time // until then it closes connections
}

// fault is how a connection ends.
type fault string

const (
	dropped   fault = "resets the connection amid an event"
	silent    fault = "falls silent" // the connection stays open, but nothing comes
	ended     fault = "ends the response"
	deaf      fault = "closes connections for a while"
	busy      fault = "answers 503" // with Retry-After
	truncated fault = "ends the response amid an event"
)

// everyFault is the order of the faults, which repeats.
var everyFault = []fault{dropped, silent, ended, deaf, busy, truncated}

func startFlaky(total int) (*flaky, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	f := &flaky{total: total, url: "http://" + l.Addr().String() + "/events"}
	f.server = &http.Server{Handler: http.HandlerFunc(f.serve), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = f.server.Serve(l) }()
	return f, nil
}

func (f *flaky) close() { _ = f.server.Close() }

// next returns the fault of a request.
func (f *flaky) next() fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Now().Before(f.deafTill) {
		panic(http.ErrAbortHandler)
	}
	fault := everyFault[f.served%len(everyFault)]
	f.served++
	return fault
}

// playing says what the server does after the events that it serves.
func (f *flaky) playing() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "the server " + string(everyFault[max(f.served-1, 0)%len(everyFault)])
}

func (f *flaky) serve(w http.ResponseWriter, r *http.Request) {
	last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	fault := f.next()
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
	case deaf:
		f.mu.Lock()
		f.deafTill = time.Now().Add(300 * time.Millisecond)
		f.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
}
