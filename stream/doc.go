// Package stream is a small reactive library on plain functions: a [Stream] is a function that pushes values into a
// yield function until it ends, it fails, or yield returns false.
//
//	words := stream.FromFunc(fetch).Timeout(time.Second).RetryWhen(policy)
//	err := words.ForEach(ctx, use)
//
// # Words
//
// A source is a stream that makes values. An operator is a method, or a function of package operators, that makes a
// stream from others. A sink runs a stream. To run a stream is to subscribe to it, and each run is a subscription. A
// stream is cold: every subscription runs the source anew and shares nothing with another. The consumer is the code
// that runs a stream. It stops the stream by returning false for a value, and cancels it through the context.
//
// A run ends in one of four ways:
//
//   - the source ends: the stream returns nil;
//   - the source fails: it returns the error;
//   - the consumer stops: it returns nil;
//   - the context ends: it returns an error that matches both context.Cause(ctx) and ctx.Err().
//
// A panic, in the consumer or elsewhere, is not recovered: it reaches the caller of the stream. If an operator runs its
// source on another goroutine, a panic of the source is raised again on the caller's goroutine, as an error with the
// panic's value and its stack.
//
// # Contract
//
// The rules that [Stream] lists for goroutines, stopping and cancelling hold for every stream of this library, and
// every operator expects them of its source streams. In practice:
//
//   - The consumer's code is called only on the goroutine that runs the stream. It needs no locks.
//   - When a stream has returned, no goroutine, timer or callback of it is left.
//   - A slow consumer slows the source. [Stream.Buffer], [Stream.Chans], [Stream.TakeLast], [Stream.SkipLast] and
//     [Stream.TimeShift] hold more than one value, up to the number that they are given; [Stream.Debounce],
//     [Stream.ThrottleLatest] and [Stream.Delay] hold one.
//   - Sources check the context before each value and before they end. Under a context that has already ended, they do
//     nothing and return its cause.
//   - An operator is built once and run many times. Invalid arguments (a nil function or stream, a negative number or
//     duration) panic when it is built, with a message that names the argument. Later only a comparison panics, as with
//     ==, if it is of values of an interface type that cannot be compared.
//
// Most operators are plain closures that start no goroutine and allocate nothing per value. A chain of them that is
// built where it runs, each operator once, is compiled to one loop. Operators that run their sources on other
// goroutines say so; they pass the values to the caller's goroutine.
//
// # Overview
//
// Sources: [Of], [FromSlice], [FromSeq], [FromSeq2], [FromFunc], [FromChan], [FromChans], [FromCallbacks], [Defer],
// [Using], [Empty], [Never], [Fail], [Range], [Timer], [Interval]. A [Subject] is a hot source: a program sends values
// into it.
//
// Sinks: [Stream.All] for a range loop, [Stream.Collect], [Stream.One], [Stream.ForEach], [Stream.TryForEach],
// [Stream.Chans]; or call the stream itself.
//
// Selecting values: [Stream.Filter], [Stream.DropHeartbeats], [Stream.Take], [Stream.TakeLast], [Stream.TakeWhile],
// [Stream.TakeUntilDone], [Stream.Skip], [Stream.SkipLast], [Stream.SkipWhile], [Stream.IgnoreElements].
//
// Observing: [Stream.Tap] for values, [Stream.OnEnd] for the end.
//
// Combining: [Stream.StartWith], [Stream.Concat], [Stream.Repeat], [Stream.DefaultIfEmpty], [Stream.SwitchIfEmpty],
// [Stream.Merge], [Stream.Buffer].
//
// Errors: [Stream.MustNotEnd] and [Stream.Timeout] make failures. [Stream.Catch], [Stream.Retry] and [Stream.RetryWhen]
// handle them. With [Works] a source says that its attempt works although there is no value. [Permanent] and
// [ErrNotRestartable] mark failures that RetryWhen does not retry.
//
// Time: [Stream.Delay], [Stream.TimeShift], [Stream.Debounce], [Stream.Throttle], [Stream.ThrottleLatest],
// [Stream.Timeout], [Timer], [Interval]. They use the clock that [WithClock] puts into the context, or else the system
// clock.
//
// An operator that turns a Stream[T] into a stream of another type is a function of package operators. From Go 1.27 on
// most of them are methods too, because methods may then have type parameters of their own.
//
// # Time in tests
//
// On the system clock everything here works inside a testing/synctest bubble: time is virtual there, and every flow can
// be checked to the nanosecond. A mock clock given to [WithClock] works too, best inside a bubble.
package stream
