package prove

import (
	"bytes"
	"slices"
	"time"
)

// readAhead is how long a program may take to deliver a value that it has received.
const readAhead = 300 * time.Millisecond

// followLocked compares a value with what has passed through the proxy, and when. A text that follows in what passed is
// proof that the value was in it; another text is no proof of the contrary, as programs write what they have decoded.
// The caller holds the mutex.
func (p *proxy) followLocked(value string, now time.Time) {
	if i := bytes.Index(p.passed[p.read:], []byte(value)); i >= 0 {
		p.read += i + len(value)
		return
	}
	if len(p.passed) == keepBytes {
		return
	}
	p.unread++
	open := slices.ContainsFunc(p.links, func(l *link) bool { return l.worksLocked() })
	switch ago := now.Sub(p.heardAt); {
	case !open && ago > readAhead:
		p.past++
	case open && p.c.Event != nil && ago > min(readAhead, p.c.Every) && p.heardAt.Before(p.lastAt) && p.heard-p.atEvents < p.count: // not even one that it delivers late
		p.past++
	}
}

// carried reports whether the text has come from the server.
func (p *proxy) carried(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.passed) >= keepBytes || bytes.Contains(p.passed, []byte(text))
}
