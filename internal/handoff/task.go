package handoff

import "context"

// Task is a function that runs on a goroutine of its own, in a scope. Its methods are called on the goroutine of the
// run.
type Task struct {
	scope   *Scope
	ctx     context.Context
	cancel  context.CancelFunc
	onStop  func()        // for a Source
	done    chan struct{} // closed when the function has returned, after err and outcome are written
	err     error
	outcome Outcome
	index   int // in the scope's list
}

// Go calls f on a goroutine of its own, under a context that ends with the scope's, and returns at once.
func (s *Scope) Go(f func(ctx context.Context) error) *Task {
	t := new(Task)
	t.start(s, f)
	return t
}

func (t *Task) start(scope *Scope, f func(ctx context.Context) error) {
	t.scope, t.done = scope, make(chan struct{})
	t.ctx, t.cancel = context.WithCancel(scope.ctx)
	t.index = len(scope.running)
	scope.running = append(scope.running, t)
	go t.run(f)
}

func (t *Task) run(f func(ctx context.Context) error) {
	defer close(t.done)
	defer t.cancel()
	t.outcome.Of(func() { t.err = f(t.ctx) })
}

// Done returns the channel that is closed when the function has returned.
func (t *Task) Done() <-chan struct{} { return t.done }

// End waits until the function has returned, and returns its error. If the function panicked, End panics with a *Panic.
// If it called runtime.Goexit, End does too.
func (t *Task) End() error {
	<-t.done
	if t.scope.remove(t) {
		t.outcome.Raise()
	}
	return t.err
}

// stop makes the function stop.
func (t *Task) stop() {
	t.cancel()
	if t.onStop != nil {
		t.onStop()
	}
}

// remove removes t, which has ended or was cancelled, and reports whether the scope still owned it.
func (s *Scope) remove(t *Task) bool {
	if t.index >= len(s.running) || s.running[t.index] != t {
		return false
	}
	last := len(s.running) - 1
	s.running[t.index] = s.running[last]
	s.running[t.index].index = t.index
	s.running[last] = nil
	s.running = s.running[:last]
	return true
}
