// Package rx retries observables of rxgo v2 as package stream retries streams, with the same policies:
//
//	observable := rx.RetryWhen(open, operators.ExpBackoff(jitter.Default, time.Second, 3))
//	observable := rx.Wrap(cold).RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3))
//
// [RetryWhen] calls a function for each attempt, which opens a new source. [Wrap] is for chaining on an existing
// observable, which must be cold. [ToStream] and [FromStream] convert an observable to a stream and back, for
// everything else in package stream. This is the only package of the module that imports rxgo.
//
// # Pitfalls of rxgo 2.5.0
//
// rxgo has its own Retry and BackOffRetry. What they do, and what this package does instead:
//
//	rxgo                                                   here
//	-----------------------------------------------------  ----------------------------------------------------------
//	Create and FromChannel are hot: observed again, they   RetryWhen opens a new source; Wrap refuses the second
//	end empty and without an error, so the error becomes   Observe with stream.ErrNotRestartable, if it recognizes
//	a success                                              the source
//	An error item does not end an observable               an attempt ends at its first error item, and nothing
//	                                                       follows it
//	A failed attempt is neither cancelled nor received     an attempt's context is cancelled when it is over, and
//	from, and its goroutines wait forever                  items still sent are received and dropped
//	Range does not close its channel when it is cancelled  nothing waits for a close
//	BackOffRetry panics when its context ends: "close of   it ends with context.Cause(ctx) and the last failure
//	closed channel"
//	Retry over FlatMap, Debounce, Join, TimeInterval,      RetryWhen opens a new source; Wrap refuses the second
//	BufferWithTime…, WindowWithTime… panics: "send on      Observe
//	closed channel"
//	Retry and BackOffRetry begin when they are built, and  the result is cold: each Observe has its own attempts
//	two Observes share the items
//	Create's producer never sees Observe's context; Defer  RetryWhen's src receives the context to build with; a
//	and most operators see it instead of their own         context given as an option ends a run too, as Observe's
//	                                                       does
//	When a context ends, operators close without an error  the stream and its policy receive context.Cause(ctx)
//	An observer of FromEventSource, or a subscriber of a   a run receives from an observed source as long as it lives
//	connectable, that no longer receives blocks all
//	others
//	Items have no type                                     ToStream reports which item is wrong, and why
//
// The comment of Wrap lists what it cannot see. Four problems cannot be solved from outside. A producer whose items go
// to an operator that has stopped, as in Create(…).Map(fails), blocks unless it watches the context. An Amb that is
// cancelled before its first item never closes, and its receiver blocks. An event source whose context ends while it
// delivers an item never closes its observers' channels, and their receivers block. A panic of a function given to rxgo
// ends the program.
//
// A nil argument panics when the function is called.
//
// # Options
//
// RetryWhen and FromStream take options of rxgo. These options apply to the returned observable, and so do options
// given to its Observe and to operators after it. A source is built with its own options.
//
//	WithContext                     a run ends with this context, as with the one given to Observe; the values of both,
//	                                a clock for example, are visible, Observe's first. One context does not replace the other
//	WithBufferedChannel(n)          a run is up to n items ahead of its reader; an option given to Observe replaces n
//	WithObservationStrategy(Eager)  one run, which begins at once and is shared by all that observe
//	WithPublishStrategy             one run too, which begins at once; its items go to the subscribers from Connect on
//	WithErrorStrategy               nothing: the error that ends a run is its last item
//	WithPool, WithCPUPool,          nothing: attempts follow each other, and their items keep their order
//	Serialize
//	WithBackPressureStrategy        nothing: a slow reader slows the source
//
// # Time
//
// Waits use the clock of the policy (retry.WithClock), else the clock that stream.WithClock has put into a context
// given as rxgo.WithContext, else the system clock. rxgo's own Debounce, Interval and other operators always use the
// system clock.
package rx
