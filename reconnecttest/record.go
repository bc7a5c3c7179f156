package reconnecttest

import (
	"fmt"
	"runtime"
	"time"
)

// record is what a client did on its network.
type record struct {
	dials       []time.Time
	waits       []time.Duration // from the end of a connection to the next dial
	breaks      int             // one or two
	brokenAt    time.Time       // the last break
	dialsBefore int             // the first break
	unitsSince  int             // units since then, on connections made since then
	units       int             // that have been sent,
	seams       [][]int         // and where those of the undisturbed run can break, if they are writes
	sentBefore  int             // units at the break
	asked       []int           // the first event of each connection since the break
	goneErr     error           // the last error for a lost position
	back        bool            // a connection has worked since the break
	refused     int             // connections since the break
	ignored     int
	cuts        int    // of flapping connections that have worked,
	flapped     int    // and breaks of all that flap
	connected   bool   // it has a connection that works
	parallel    int    // connections at once
	made        int    // connections later than a second after the first dial,
	atFirst     int    // how many unclosed ones it did not use before, when it made one,
	open        int    // and how many when it made the last one
	answered    bool   // it has delivered a value since its last write
	turns       int    // writes after a value
	unclosed    int    // connections that it has not closed,
	silent      int    // and those of them that have fallen silent
	hot         string // how often it connects or calls
	spins       bool   // it calls without a wait
	floods      bool   // it writes without one

	brief      bool      // the last connection lasted less than a second
	quick      int       // waits in a row that are none
	instant    time.Time // of the last call,
	calls      int       // and how many there were then
	writesFrom time.Time // of the last 20 s of writes,
	writes     int
	heard      time.Time // when it has read something since its last write,
	vainFrom   time.Time // since when it asks at once what it has heard nothing new of,
	vain       int       // and how often

	// Of the undisturbed run, when it has delivered all that there is:
	values int
	took   time.Duration // until the last of them
}

// What no client needs. A token bucket has a burst of less than that.
const (
	hotLoop   = 600                  // connections in a minute
	noWait    = 5 * time.Millisecond // a shorter wait is none;
	noWaits   = 9                    // so many of them in a row
	spin      = 10_000               // calls without progress at one instant
	hotVain   = 1000                 // writes at once after an answer that has brought no value, in a minute
	hotWrites = 20_000               // writes
	hotSpan   = 20 * time.Second     // in this time
	floodPace = noWait               // each write takes so long when there were too many, which is enough to go on
)

// opened records that there is a connection more. One that works, or is silent, is used if the client waits for what it
// brings.
func (n *network) opened() {
	unused := n.unclosed
	for _, l := range n.links {
		if l.waits == nil || l.waits() {
			unused--
		}
	}
	if time.Since(n.dials[0]) > time.Second {
		n.made++
		n.open = unused
	} else {
		n.atFirst = unused
	}
	n.unclosed++
}

// waited records a wait.
func (n *network) waited(d time.Duration) {
	n.waits = append(n.waits, d)
	if n.quick++; d >= noWait || !n.brief {
		n.quick = 0
	}
	if n.quick == noWaits {
		n.heats(fmt.Sprintf("it connected %d times in a row without a wait", noWaits))
	}
}

// heats records that the client does something too often, and ends the scenario.
func (n *network) heats(text string) {
	if n.hot == "" {
		n.hot = text
		n.note("%s", text)
		n.news.Tell()
	}
}

// called records a call of the network. A goroutine that spins cannot be ended from outside: its call does not return.
func (n *network) called(client bool) {
	if n.seen == nil { // nobody judges
		return
	}
	n.seen()
	if n.doomed.Load() {
		runtime.Goexit()
	}
	if !client {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); !now.Equal(n.instant) {
		n.instant, n.calls = now, 0
	}
	if n.calls++; n.calls > spin {
		n.heats(fmt.Sprintf("it spins: more than %d calls of its connections at one instant, without a wait", spin))
		n.spins = true
		n.doomed.Store(true)
		runtime.Goexit()
	}
}

// progress records that a call has received data.
func (n *network) progress(client bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls = 0; client {
		n.heard = time.Now()
	}
}

// wrote records a write of the client, and reports whether somebody judges and there were too many.
func (n *network) wrote() (floods bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.writesFrom) > hotSpan {
		n.writesFrom, n.writes = time.Now(), 0
	}
	switch {
	case n.answered:
		n.turns, n.answered = n.turns+1, false
	case n.heard.IsZero() || time.Since(n.heard) >= noWait:
	case n.vain == 0 || time.Since(n.vainFrom) > time.Minute:
		n.vainFrom, n.vain = time.Now(), 1
	default:
		n.vain++
	}
	if n.heard = (time.Time{}); n.vain > hotVain {
		n.floods = true
		n.heats(fmt.Sprintf("it wrote %d times in a minute, each time as soon as it had read something that brought no value", hotVain))
	}
	if n.writes++; n.writes > hotWrites {
		n.floods = true
		n.heats(fmt.Sprintf("it wrote more than %d times in %v", hotWrites, hotSpan))
	}
	return n.floods && n.seen != nil
}

// soFar returns what the client did.
func (n *network) soFar() record {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.connected = len(n.links) > 0
	return n.record
}
