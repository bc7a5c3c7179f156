package retry

import "sync"

// Signal ends the waits of operations and restarts their counts, for events such as "the network is back" or "the
// configuration is new". One signal serves any number of policies and goroutines. The zero Signal is ready to use. It
// must not be copied after first use.
type Signal struct {
	mu      sync.Mutex
	fires   uint64
	waiters map[chan<- struct{}]struct{}
}

// NewSignal returns a signal.
func NewSignal() *Signal { return new(Signal) }

// Fire ends every present wait of every policy with this signal (ResetOn), so these retries start at once. It restarts
// the count of retries of all operations that have failed before, at once or when their current attempt fails. An
// operation whose State comes from a text counts only fires after Policy.Continue. Fire does not wait for any of them.
func (s *Signal) Fire() {
	s.mu.Lock()
	s.fires++
	for w := range s.waiters {
		select {
		case w <- struct{}{}:
		default: // another signal was first
		}
	}
	s.mu.Unlock()
}

// Fires returns how often s has fired.
func (s *Signal) Fires() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fires
}

// fires returns one more than the number of fires of the signals, 0 if there are none.
func (c *config) fires() (n uint64) {
	if c.signals != nil {
		n = 1
	}
	for _, s := range c.signals {
		n += s.Fires()
	}
	return n
}

// notify makes the policy's signals send to w until stop is called. A send that would block is skipped.
func (c *config) notify(w chan<- struct{}) {
	for _, s := range c.signals {
		s.mu.Lock()
		if s.waiters == nil {
			s.waiters = make(map[chan<- struct{}]struct{})
		}
		s.waiters[w] = struct{}{}
		s.mu.Unlock()
	}
}

func (c *config) stop(w chan<- struct{}) {
	for _, s := range c.signals {
		s.mu.Lock()
		delete(s.waiters, w)
		s.mu.Unlock()
	}
}
