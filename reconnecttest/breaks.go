package reconnecttest

import (
	"slices"
	"time"
)

// delivered breaks connections that flap, after a value.
func (n *network) delivered() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range slices.Clone(n.links) {
		switch {
		case !n.flaps || l.mute:
		case n.after == 0:
			n.end(l, cut)
		default:
			l.mute = true
			if l.wire != nil {
				n.end(l, silence)
			}
			time.AfterFunc(n.after, func() {
				n.mu.Lock()
				defer n.mu.Unlock()
				n.end(l, cut)
			})
		}
	}
}

// fail records the first break. While the server is down, no connection works, not even an idle one of a pool.
func (n *network) fail() {
	if n.broken.IsZero() {
		n.broken, n.sent = time.Now(), n.units
		n.wake()
		if n.lasts > 0 {
			n.endAll(n.fate)
		}
		if n.onBreak != nil {
			n.onBreak()
		}
	}
}

// breakAll breaks all connections.
func (n *network) breakAll(how fate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail()
	n.endAll(how)
}

func (n *network) endAll(how fate) {
	for _, l := range slices.Clone(n.links) {
		n.end(l, how)
	}
}

// end breaks a connection from outside.
func (n *network) end(l *link, how fate) {
	if l.wire != nil {
		l.wire.end(how)
		if how != silence {
			n.drop(l)
		}
		return
	}
	select {
	case l.broken <- how:
	default:
	}
}
