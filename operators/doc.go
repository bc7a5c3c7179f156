// Package operators holds the functions from streams to streams: those that turn a Stream[T] into a stream of another
// type, those that join several streams, [Resume], and the classic retryWhen with its policy, [ExpBackoff].
//
//	readings := operators.TryMap(lines, parse).RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3))
//	batches := operators.Batch(readings, 100, time.Second)
//
// From Go 1.27 on those that can be are methods of stream.Stream too:
//
//	batches := lines.TryMap(parse).RetryWhen(policy).Batch[[]Reading](100, time.Second)
//
// # Map
//
// One value for one: [Map], [TryMap], [Scan], [Pairwise], [MapRetry].
//
// One value for all: [Reduce], [Count], [First], [Last].
//
// Fewer: [TryFilter], [Distinct], [DistinctBy], [DistinctUntilChanged], [DistinctUntilChangedBy], [Sample],
// [TakeUntil]; and the methods Filter, Take, Skip, TakeWhile, SkipWhile, Debounce, Throttle and ThrottleLatest of
// stream.Stream. By names the same operator with a function that returns a value's key.
//
// A stream for each value: [ConcatMap] runs them in turn, [FlatMap] side by side, [SwitchMap] the latest one only,
// [ExhaustMap] none while one runs.
//
// A stream for many values: [GroupBy] by key, [Window] by count or time; [Batch] puts them in slices.
//
// Several streams: [Zip], [ZipWith], [ZipWith3] and [ZipSlice] by turns; [CombineLatest], [CombineLatest3],
// [CombineLatestSlice] and [WithLatestFrom] by time; [Race] for the fastest; and the methods Merge and Concat.
//
// Several consumers: [Share], [ShareN], [ShareReplay]; and stream.Subject, which a program sends values into.
//
// Failing and repeating: [ExpBackoff], [RetryWhen], [RetryChans], [MapRetry], [RepeatWhen], [MapErr]; and [Resume] for
// a source with a position, whose stream comes back where it stopped.
//
// # Contract
//
// Every operator keeps the contract of stream.Stream, and expects its sources to keep it. It is built once and can be
// run any number of times; runs share nothing, but for Share, ShareN and ShareReplay. What cannot work (a nil stream or
// function, a concurrency of 0, a negative wait) panics when the operator is built; a nil stream returned by a function
// at run time is an error.
//
// An operator whose comment does not speak of goroutines starts none: its functions and its source run on the caller's
// goroutine, and it allocates nothing for a value. The others run some of their sources on goroutines and hand the
// values over; the consumer and, but for what their comment says, the functions that they are given still run on the
// caller's, so that these need no locks. All of them have returned, and no timer is left, when the operator returns.
//
// The first error ends an operator: it cancels what else it runs, waits for that, and returns the error. When ctx ends,
// the error matches both context.Cause(ctx) and ctx.Err().
//
// # Marble diagrams
//
// Time runs from left to right; a letter or a digit is a value, | is the end, # an error. What is delivered at one
// moment is written in parentheses or, where it cannot be mistaken, one after the other.
//
// Names and meaning are those of ReactiveX; a comment says where an operator differs.
package operators
