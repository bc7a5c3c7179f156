// Package stream is a small reactive library on plain functions: a [Stream] is a function that pushes values into a
// yield function until it ends, fails, or is told to stop.
//
//	words := stream.FromFunc(fetch).Timeout(time.Second).RetryWhen(policy)
//	err := words.ForEach(ctx, use)
//
// # Words
//
// A source is a stream that makes values; an operator is a method, or a function of package operators, that makes a
// stream out of others; a sink runs a stream. To run a stream is to subscribe to it, and each run is a subscription. A
// stream is cold: every subscription runs the source anew and shares nothing with another. The consumer is whoever
// runs a stream. It stops a stream by returning false for a value, and cancels it through the context.
//
// A run ends in one of four ways:
//
//   - the source ends: the stream returns nil;
//   - the source fails: it returns the error;
//   - the consumer stops: it returns nil;
//   - the context ends: it returns an error that matches both context.Cause(ctx) and ctx.Err().
//
// A panic, in the consumer or anywhere else, is not caught: it passes through to the caller of the stream. Where an
// operator runs its source on another goroutine, a panic of the source is raised again on the caller's, as an error
// that carries the value and the stack it came from.
//
// # Contract
//
// What [Stream] says of goroutines, of stopping and of cancelling holds for every stream of this library, and every
// operator expects it of the streams it is given. It means in practice:
//
//   - The consumer's code is never called on two goroutines at once, nor on one it does not know. It needs no locks.
//   - When a stream has returned it is over: no goroutine, no timer, no callback is left.
//   - A slow consumer slows the source. Only [Stream.Buffer], [Stream.Chans], [Stream.TakeLast], [Stream.SkipLast] and
//     [Stream.TimeShift] hold values, as many as they are told; [Stream.Debounce], [Stream.ThrottleLatest] and
//     [Stream.Delay] hold one.
//   - Sources look at the context before each value and before they end, so that after a cancel no value comes; under
//     a context that has ended already they do nothing and return its cause.
//   - An operator is built once and run often: it panics when it is built with what cannot work (a nil function, a
//     negative count), and never later.
//
// Most operators are plain closures that start no goroutine and allocate nothing for a value. Those that run their
// sources on goroutines say so; they hand the values over to the caller's goroutine.
//
// # Map
//
// Sources: [Of], [FromSlice], [FromSeq], [FromSeq2], [FromFunc], [FromChan], [FromChans], [Defer], [Using], [Empty],
// [Never], [Fail], [Range], [Timer], [Interval]. A [Subject] is a hot one: a program sends values into it.
//
// Sinks: [Stream.All] for a range loop, [Stream.Collect], [Stream.ForEach], [Stream.TryForEach],
// [Stream.Chans]; or call the stream itself.
//
// Choosing values: [Stream.Filter], [Stream.Take], [Stream.TakeLast], [Stream.TakeWhile], [Stream.TakeUntilDone],
// [Stream.Skip], [Stream.SkipLast], [Stream.SkipWhile], [Stream.IgnoreElements].
//
// Looking on: [Stream.Tap] at values, [Stream.OnEnd] at the end.
//
// One after another, and side by side: [Stream.StartWith], [Stream.Concat], [Stream.Repeat], [Stream.DefaultIfEmpty],
// [Stream.SwitchIfEmpty], [Stream.Merge], [Stream.Buffer].
//
// Failing and going on: [Stream.MustNotEnd], [Stream.Timeout] make failures; [Stream.Catch], [Stream.Retry],
// [Stream.RetryWhen] answer them; [Permanent] and [ErrNotRestartable] mark those that no retry can help.
//
// Time: [Stream.Delay], [Stream.TimeShift], [Stream.Debounce], [Stream.Throttle], [Stream.ThrottleLatest],
// [Stream.Timeout], [Timer], [Interval]. They use the clock that [WithClock] puts into the context, the system's
// without it.
//
// What turns a Stream[T] into a stream of another type is a function of package operators, and from Go 1.27 on a method
// too, as then methods may have type parameters of their own.
//
// # Time in tests
//
// On the system's clock everything here works inside a testing/synctest bubble as it is: time is virtual there and
// every flow can be checked to the nanosecond. A mock clock given to [WithClock] does the same job, best inside a
// bubble too.
package stream
