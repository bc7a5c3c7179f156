package main

import (
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// flaky is a server that does jobs. Of a hundred requests, it fails two with 503. For another one it does the job, and
// cuts the connection before the response. It refuses one job in a thousand permanently. When half of the jobs are
// done, it is down for a while.
type flaky struct {
	server *httptest.Server
	outage time.Duration
	say    func(format string, args ...any)

	mu    sync.Mutex
	done  []bool
	count int
	until time.Time // the end of the outage
	over  bool      // the end has been announced
}

func startFlaky(n int, outage time.Duration, say func(string, ...any)) *flaky {
	f := &flaky{outage: outage, say: say, done: make([]bool, n)}
	mux := http.NewServeMux()
	mux.Handle("PUT /jobs/{id}", f)
	f.server = httptest.NewUnstartedServer(mux)
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.server.Start()
	return f
}

func (f *flaky) url() string { return f.server.URL }

func (f *flaky) close() { f.server.Close() }

// finished returns which jobs were done.
func (f *flaky) finished() []bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	luck := rand.IntN(100)
	switch {
	case err != nil || id < 0 || id >= len(f.done):
		http.Error(w, "no such job", http.StatusNotFound)
	case f.down():
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
	case luck < 2:
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
	case id%1000 == 500:
		http.Error(w, "this job makes no sense", http.StatusUnprocessableEntity)
	default:
		f.finish(id)
		if luck == 2 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(w, "job %d done\n", id)
	}
}

// finish does the job. It is idempotent.
func (f *flaky) finish(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done[id] {
		f.done[id] = true
		f.count++
	}
	if f.count > len(f.done)/2 && f.until.IsZero() {
		f.until = time.Now().Add(f.outage)
		f.say("the server is down for %v\n", f.outage)
	}
}

func (f *flaky) down() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() || f.over {
		return false
	}
	if time.Now().Before(f.until) {
		return true
	}
	f.over = true
	f.say("the server is back\n")
	return false
}
