package op

import (
	"runtime"
	"sync"

	"github.com/retrywhen/retrywhen/internal/handoff"
)

// inbox is where producers, on goroutines of their own, offer what they have to the goroutine of the run, which takes
// the offers in their order. A producer waits until its offer is answered; the run waits when there is no offer.
type inbox struct {
	offered chan struct{} // one signal, for a run that waits
	taken   *offer        // the run's, and not answered yet

	mu          sync.Mutex // also of what the run and its producers share
	first, last *offer
	waits       bool // the run
	closed      bool // the run is over, or its context
}

// offer is what one producer has, now and then.
type offer struct {
	take    func() error // called by the run
	answers chan bool    // one: whether the producer may go on
	next    *offer
}

// newInbox returns an inbox that is closed when the context of the run ends.
func newInbox(scope *handoff.Scope) *inbox {
	b := &inbox{offered: make(chan struct{}, 1)}
	scope.OnEnd(func(<-chan struct{}) { b.close() })
	return b
}

func newOffer(take func() error) *offer { return &offer{take: take, answers: make(chan bool, 1)} }

// put makes the offer and waits for the answer, which is false when the inbox is closed before the offer is taken.
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

// unlockAndWake has a run that waits look again.
func (b *inbox) unlockAndWake() {
	waits := b.waits
	b.waits = false
	b.mu.Unlock()
	if waits {
		b.offered <- struct{}{}
	}
}

// get returns the next offer, or nil when the inbox is closed or when over says, under the lock, that none will come.
func (b *inbox) get(over func() bool) *offer {
	b.mu.Lock()
	if b.first == nil {
		b.mu.Unlock()
		runtime.Gosched() // several producers that are ready make their offers, for one wait or none
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

// answer lets the producer of the offer that was taken go on.
func (b *inbox) answer() {
	o := b.taken
	b.taken = nil
	o.answers <- true
}

// close stops all producers whose offers were not taken, and refuses what they offer later.
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
