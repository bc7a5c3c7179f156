package main

import (
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// shop is the flaky HTTP server that the jobs call. It is unavailable or busy for one call in three. It refuses one
// order in a hundred, and can never take one in two hundred. It takes each order once, and accepts it whenever it comes
// again: otherwise a job could fail after it was done, and be both done and dead.
type shop struct {
	url             string
	calls, repeated atomic.Int64
	server          *http.Server
	taken           sync.Map // the orders
	done            atomic.Int64
}

func openShop() (*shop, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &shop{url: "http://" + l.Addr().String()}
	s.server = &http.Server{Handler: s}
	go s.server.Serve(l)
	return s, nil
}

// ServeHTTP takes an order, or fails.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	id := strings.TrimPrefix(r.URL.Path, "/")
	h := fnv.New32a()
	h.Write([]byte(id))
	fate, luck := h.Sum32()%200, rand.IntN(100)
	_, has := s.taken.Load(id)
	switch {
	case has:
		s.repeated.Add(1)
	case fate < 2:
		http.Error(w, "no such article", http.StatusUnprocessableEntity)
	case fate == 2, luck < 25:
		http.Error(w, "come back later", http.StatusServiceUnavailable)
	case luck < 33:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy", http.StatusTooManyRequests)
	default:
		if _, has := s.taken.LoadOrStore(id, true); !has {
			s.done.Add(1)
		}
	}
}

func (s *shop) close() { s.server.Close() }
