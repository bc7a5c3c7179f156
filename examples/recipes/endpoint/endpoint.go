// Package endpoint goes on with the next host if one does not work. Each operation begins at the host that worked last,
// so a dead host gets the attempts that are under way, not one of each later operation. When to try again is the
// policy's, of a call, a feed or a client.
package endpoint

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
)

// Hosts are interchangeable hosts. It is safe for concurrent use; the operations of a program share one.
type Hosts struct {
	names []string
	at    atomic.Uint64
}

// New returns the hosts in the order in which they are tried.
func New(first string, others ...string) *Hosts {
	return &Hosts{names: append([]string{first}, others...)}
}

// Pick returns the host that worked last, and a function to call if it does not work. Of several attempts that run at
// one time and fail, only the first goes on to the next host. After the last host comes the first.
func (h *Hosts) Pick() (host string, failed func()) {
	at := h.at.Load()
	return h.names[at%uint64(len(h.names))], func() { h.at.CompareAndSwap(at, at+1) }
}

// Transport sends each request to the host that worked last, in place of the URL's. It is the base of a
// retryhttp.Transport. No response, or one of 500 or more, is a host that does not work.
type Transport struct {
	Hosts *Hosts
	Base  http.RoundTripper
}

// RoundTrip sends the request.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	host, failed := t.Hosts.Pick()
	r = r.Clone(r.Context())
	r.URL.Host = host
	response, err := t.Base.RoundTrip(r)
	if err != nil && !errors.Is(err, context.Canceled) || err == nil && response.StatusCode >= 500 {
		failed()
	}
	return response, err
}
