// Package sim simulates what many clients with one backoff do to their server.
//
//	r, err := sim.Choose{Clients: 1000, Capacity: 20, Outages: []time.Duration{time.Minute}, Served: 2 * time.Minute}.Run(ctx)
//	fmt.Println(r.Choices[r.Recommended].Policy)
//
// Time is simulated: the same seed gives the same result. [Comparison], [Sweep], [Boundary] and [Choose] compute many
// runs. They use all cores, and their results do not depend on the number of cores.
//
// # Models
//
// [Herd] is the simplest model: jobs fail together and are retried several times, and every retry fails at once. It
// computes the time of every retry. Its result has a method for the load per bin ([HerdResult.Load]). [Comparison] runs the
// same herd under several strategies, and has the peak, the dead time and the waits.
//
// [OCC] is contention: many clients want to write one row, and only one of them can succeed at a time. It counts the
// calls and the time until all are done. [Sweep] is an OCC for several strategies and numbers of clients.
//
// [Outage] is a server that is down and comes back with less capacity than its clients demand.
//
// [Overload] is a server with a queue, and users who send operations at the same rate whatever its state: does it
// recover from a short standstill, or do the retries keep it down? [Boundary] finds the highest load from which it
// recovers.
//
// [Choose] recommends a policy for a number of clients and a capacity of the server.
//
// Each model is a struct; the comments of its fields define what a zero means. Its Run method computes it and returns a
// pointer to, or a slice of, plain data. A model may be used by several goroutines at once as long as none changes it.
//
// # Terms
//
// A retry is an attempt after the first. A wait is the time before a retry. The peak is the most retries in any window
// of a given width; the peak over the mean of these windows measures how uneven the load is. Dead time is the time for
// which a window of a given width is empty although retries are still to come. CV, the coefficient of variation, is the
// standard deviation over the mean: 0 if all wait equally long.
//
// An operation is what a user wants. Requests are what the server receives for it. Their ratio is the amplification.
// Goodput is the operations that succeed. A server is metastable if retries keep it down after the cause is over.
//
// A figure that is a mean comes with percentiles, in a [Spread], [Counts] or [Estimate], and a Confidence.
//
// # Stopping
//
// A run stops when its context ends, or at the model's Horizon, an instant of the simulated time. A stopped run returns
// the result so far together with a [*StoppedError]. A model that cannot be run returns a [*FieldError] that names the
// invalid field and its valid values. Long runs report their progress to a function.
//
// # JSON
//
// Models and results can be encoded and decoded by encoding/json. A time.Duration is then a whole number of
// nanoseconds, a Backoff its text. Figures are the same for the same version of Go on the same kind of processor;
// elsewhere the last digits of a float64 may differ.
//
// # Sources
//
//   - Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog (2015), for OCC and the classic strategies.
//     Its simulation counts attempts from 1, so the first wait of exponential backoff is 2·base, and draws decorrelated
//     jitter from base; its text says 0. OCC follows the simulation.
//   - "Visualization of backoff functions" (2017), for Herd and the open question.
package sim
