package retry

import "sync"

// Signal starts over what waits: "the network is back", "the configuration is new". One signal serves any number of
// policies and goroutines; the zero Signal is ready to use. It must not be copied after first use.
type Signal struct {
	mu      sync.Mutex
	fires   uint64
	waiters map[chan<- struct{}]struct{}
}

// NewSignal returns a signal.
func NewSignal() *Signal { return new(Signal) }

// Fire ends every present wait of every policy that has the signal (ResetOn), so that these retries start at once, and
// starts the count of retries again for all operations that have failed by now: at once, or when the attempt that they
// are in the middle of fails. Fire does not wait for any of them.
func (s *Signal) Fire() {
	s.mu.Lock()
	s.fires++
	for w := range s.waiters {
		select {
		case w <- struct{}{}:
		default: // another signal was faster
		}
	}
	s.mu.Unlock()
}

func (s *Signal) count() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fires
}

// join has Fire send to w until leave.
func (s *Signal) join(w chan<- struct{}) {
	s.mu.Lock()
	if s.waiters == nil {
		s.waiters = make(map[chan<- struct{}]struct{})
	}
	s.waiters[w] = struct{}{}
	s.mu.Unlock()
}

func (s *Signal) leave(w chan<- struct{}) {
	s.mu.Lock()
	delete(s.waiters, w)
	s.mu.Unlock()
}
