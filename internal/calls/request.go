package calls

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Request is a request that the program has made, as it was when it arrived.
type Request struct {
	At     time.Time // when the program sent it
	Name   string    // METHOD /path
	Conn   int       // the number of its connection, from 1
	Others int       // requests with other names that came before it

	header http.Header
	key    string // for idempotency
	body   [sha256.Size]byte
	answer answer
	after  string        // the answer's Retry-After,
	until  time.Time     // and before when it forbids the next; zero: it does not
	stood  time.Duration // for how long the machine had stood still
	over   time.Time     // when the program had the answer, or gave up waiting; zero: not yet
}

// hop are headers that belong to a connection or to the form of a body, so that the next attempt need not have them.
var hop = []string{"Connection", "Keep-Alive", "Upgrade", "Http2-Settings", "Expect", "Te", "Transfer-Encoding", "Content-Length"}

func newRequest(r *http.Request, body []byte) *Request {
	key := cmp.Or(r.Header.Get("Idempotency-Key"), r.Header.Get("X-Idempotency-Key"))
	return &Request{Name: r.Method + " " + r.URL.Path, header: r.Header, key: key, body: sha256.Sum256(body)}
}

// dropped returns a header of r that the next attempt does not have, "" if it has all.
func (r Request) dropped(next Request) string {
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		if next.header[name] == nil && !slices.Contains(hop, name) {
			return name
		}
	}
	return ""
}

// wait returns how long the program waited between the end of r and the next request. If it did not await that, it is
// the time between the two.
func (r Request) wait(next Request) time.Duration {
	if r.over.IsZero() || next.At.Before(r.over) {
		return next.At.Sub(r.At)
	}
	return next.At.Sub(r.over)
}
