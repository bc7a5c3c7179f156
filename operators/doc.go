// Package operators contains the functions from streams to streams: operators that turn a Stream[T] into a stream of
// another type, operators that join several streams, [Resume], and the classic retryWhen with its policy, [ExpBackoff].
//
//	readings := operators.TryMap(lines, parse).RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3))
//	batches := operators.Batch(readings, 100, time.Second)
//
// From Go 1.27 on, most of them are methods of stream.Stream too:
//
//	batches := lines.TryMap(parse).RetryWhen(policy).Batch[[]Reading](100, time.Second)
//
// # Overview
//
// One result for each value: [Map], [TryMap], [Scan], [Pairwise], [MapRetry].
//
// One result for all values: [Reduce], [Count], [First], [Last].
//
// Fewer values: [TryFilter], [Distinct], [DistinctBy], [DistinctUntilChanged], [DistinctUntilChangedBy], [Sample],
// [TakeUntil]; and the methods Filter, Take, Skip, TakeWhile, SkipWhile, Debounce, Throttle and ThrottleLatest of
// stream.Stream. A name that ends in By takes a function that returns a value's key.
//
// A stream for each value: [ConcatMap] runs them in turn, [FlatMap] concurrently, [SwitchMap] only the latest one,
// [ExhaustMap] no new one while one runs.
//
// A stream for many values: [GroupBy] by key, [Window] by count or time; [Batch] yields slices.
//
// Several streams: [Zip], [ZipWith], [ZipWith3] and [ZipSlice] in pairs; [CombineLatest], [CombineLatest3],
// [CombineLatestSlice] and [WithLatestFrom] with the latest values; [Race] for the fastest; and the methods Merge and
// Concat.
//
// Several consumers: [Share], [ShareN], [ShareReplay]; and stream.Subject, into which a program sends values.
//
// Errors and repetition: [ExpBackoff], [RetryWhen], [RetryChans], [MapRetry], [RepeatWhen], [MapErr].
//
// Sources with a position, which continue where they stopped: [Resume]; [ResumeMarked] for a source that sends its
// positions, [ResumePositions] if they are stored; [Poll] for a table or an API that is read in pages.
//
// # Contract
//
// Every operator keeps the contract of stream.Stream and expects its sources to keep it. It is built once and can be
// run any number of times. Runs share nothing, except with Share, ShareN and ShareReplay. Invalid arguments (a nil
// stream or function, a concurrency of 0, a negative wait) panic when the operator is built. If a function returns a
// nil stream, the operator fails. Time-based operators use the clock that stream.WithClock puts into the context, or
// else the system clock.
//
// An operator whose comment does not mention goroutines starts none: its functions and its source run on the caller's
// goroutine, and it allocates nothing per value, but for what Distinct and DistinctBy remember. The others run some of
// their sources on goroutines of their own. The consumer still runs on the caller's goroutine, and so do the functions
// passed to the operator unless its comment says otherwise, so they need no locks. When an operator returns, its
// goroutines have returned and its timers are stopped. There are two exceptions: the source of Share, ShareN and
// ShareReplay runs until the last consumer leaves, and RetryChans returns at once.
//
// The first error ends an operator: it cancels everything else it runs, waits until that has returned, and returns the
// error. When ctx ends, the error matches context.Cause(ctx), and ctx.Err() if those of its sources do.
//
// # Marble diagrams
//
// Time runs from left to right. A letter or a digit is a value, | is the end, # an error. Events at one moment are
// written in parentheses or, if that is clear, one after the other.
//
// Names and meanings are those of ReactiveX. A comment says where an operator differs.
package operators
