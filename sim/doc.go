// Package sim shows what a crowd of clients does to its server under a backoff, in simulated time: the same seed gives
// the same result, there is no clock, and an hour takes milliseconds. What is made of many runs ([Comparison], [Sweep],
// [Boundary], [Choose], [OCC.Sample]) uses all cores, and its result does not depend on their number.
//
// # Models
//
// A [Herd] is the plainest: jobs fail together and are retried a number of times, each retry failing at once. It gives
// every retry's time. Its result can be asked for the load per bin ([HerdResult.Load]), for the peak and the dead time
// ([HerdResult.Windows]), and for how the single and the cumulative waits spread ([HerdResult.Waits],
// [HerdResult.Totals]). A [Comparison] puts several strategies to the same herd.
//
// An [OCC] is contention: clients that all want to write one row, of which only one can succeed at a time. It counts
// the calls and the time until all have written. A [Sweep] is that for several strategies and numbers of clients.
//
// An [Outage] is a server that is down and comes back with less capacity than its clients ask for, with or without a
// [Budget] that the clients' retries share.
//
// An [Overload] is a server with a queue, and users who come whether it is well or not: does it recover from a short
// standstill, or do the retries keep it down? A [Boundary] finds the highest load from which it does.
//
// A [Choose] says which policy to take, by the number of clients and the server's capacity.
//
// Each model is a struct; the comments of its fields say what a zero means. Its Run method computes it and returns a
// pointer to, or a slice of, plain data. A model may be used by several goroutines at once as long as none changes it.
//
// # Words
//
// A retry is an attempt after the first, a wait the time before it. The peak is the most retries in any window of a
// given width; over the mean of such windows it says how much worse than even the load is. Dead time is when nothing
// comes, though there is more to do: the time for which a window of a given width is empty. CV, the coefficient of
// variation, is the standard deviation over the mean: 0 where all wait alike.
//
// An operation is what a user wants, a request what a server gets of it: their ratio is the amplification. Goodput is
// the operations that succeed. A server is metastable that its retries keep down after what brought it down is over.
//
// A figure that is a mean comes with percentiles, in a [Spread], [Counts] or [Estimate], and a Confidence.
//
// # Stopping
//
// A context stops every run, and so does a model's Horizon, an instant of the simulated time. What is stopped returns
// the result so far together with a [*StoppedError]; what cannot be run at all returns a [*FieldError] that names the
// field at fault and what it may be. Long runs report their progress to a function.
//
// # JSON
//
// Models and results are written and read by encoding/json. A time.Duration is a whole number of nanoseconds there, a
// Backoff is its text. No result holds a NaN or an infinity. Figures are the same for the same version of Go on the
// same kind of processor; elsewhere the last digits of a float64 may differ.
//
// # Sources
//
//   - Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog (2015), for OCC and the classic strategies.
//     Its simulation counts attempts from 1, so the first wait of exponential backoff is 2·base, and draws decorrelated
//     jitter from base; its text says 0. OCC follows the simulation.
//   - "Visualization of backoff functions" (2017), for Herd and the open question.
package sim
