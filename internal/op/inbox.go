package op

import (
	"runtime"
	"sync"

	"github.com/retrywhen/retrywhen/internal/handoff"
)

// inbox is a queue of offers from producers, which have goroutines of their own, to the goroutine of the run. A producer
// waits until its offer is answered. The run waits while there is no offer. A handoff.Receiver, whose events can be used
// in a select with a timer or another receiver, costs two channel operations for each value; an inbox wakes the run once
// for all offers that are there, and its lock also guards the number of running streams.
type inbox struct {
	offered chan struct{} // one signal, for a waiting run
	taken   *offer        // the offer that the run has taken and not answered yet

	mu          sync.Mutex // guards also what the run and its producers share
	first, last *offer
	waits       bool // the run waits
	closed      bool // the run is over, or its context has ended
}

// offer is one producer's offer. It is used again for each of its values.
type offer struct {
	take    func() error // called by the run
	answers chan bool    // one answer: whether the producer may continue
	next    *offer
}

// newInbox returns an inbox that is closed when the context of the run ends.
func newInbox(scope *handoff.Scope) *inbox {
	b := &inbox{offered: make(chan struct{}, 1)}
	scope.OnEnd(func(<-chan struct{}) { b.close() })
	return b
}

func newOffer(take func() error) *offer { return &offer{take: take, answers: make(chan bool, 1)} }

// put makes the offer and waits for the answer, which is false if the inbox is closed before the offer is taken.
func (b *inbox) put(o *offer) bool { return b.post(o) && <-o.answers }

// post makes the offer, unless the inbox is closed.
func (b *inbox) post(o *offer) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	if b.first == nil {
		b.first = o
	} else {
		b.last.next = o
	}
	b.last = o
	b.unlockAndWake()
	return true
}

// unlockAndWake unlocks the inbox and makes a waiting run check again.
func (b *inbox) unlockAndWake() {
	waits := b.waits
	b.waits = false
	b.mu.Unlock()
	if waits {
		b.offered <- struct{}{}
	}
}

// get returns the next offer. It returns nil when the inbox is closed, or when over, called under the lock, reports that
// none will come.
func (b *inbox) get(over func() bool) *offer {
	b.mu.Lock()
	if b.first == nil {
		b.mu.Unlock()
		runtime.Gosched() // lets several ready producers make their offers, so the run waits once or not at all
		b.mu.Lock()
	}
	for b.first == nil && !b.closed && !over() {
		b.waits = true
		b.mu.Unlock()
		<-b.offered
		b.mu.Lock()
	}
	o := b.first
	if o != nil {
		b.first, o.next = o.next, nil
	}
	b.taken = o
	b.mu.Unlock()
	return o
}

// answer answers the producer of the taken offer.
func (b *inbox) answer(more bool) {
	o := b.taken
	b.taken = nil
	o.answers <- more
}

// close stops all producers whose offers were not taken, and refuses later offers.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	for b.first != nil {
		o := b.first
		b.first, o.next = o.next, nil
		o.answers <- false
	}
	b.unlockAndWake()
}
