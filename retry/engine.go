package retry

import "slices"

// This file contains what is exported for engines only: code with many operations at once that waits in its own way,
// such as operators.MapRetry.

// Plain reports whether p has nothing to do with an attempt that succeeds, nor with an operation that is cancelled: it
// has no AttemptTimeout, ResetAfter, budget or Log, and no hook but OnGiveUp. An engine with many operations then needs
// an Operation only to decide about a failure.
func (p Policy) Plain() bool { return p.settings().plain }

// Quiet is for code that has many operations at once: Log logs everything at DEBUG, and OnOutage is not called.
func Quiet() Option { return func(c *config) { c.quiet = true } }

// EndError returns the *Error of an operation that its engine ends here, after a failure, for a cause of its own. It
// calls no hook.
func (o *Operation) EndError(cause error) *Error { return o.errorOf(cause, o.state.retries) }

// Signals returns the signals of ResetOn.
func (p Policy) Signals() []*Signal { return slices.Clone(p.settings().signals) }

// Notify makes Fire send to w until Stop is called, for an engine that waits in its own way. A send that would block is
// skipped, so w needs a buffer of one.
func (s *Signal) Notify(w chan<- struct{}) {
	s.mu.Lock()
	if s.waiters == nil {
		s.waiters = make(map[chan<- struct{}]struct{})
	}
	s.waiters[w] = struct{}{}
	s.mu.Unlock()
}

// Stop ends what Notify began.
func (s *Signal) Stop(w chan<- struct{}) {
	s.mu.Lock()
	delete(s.waiters, w)
	s.mu.Unlock()
}
