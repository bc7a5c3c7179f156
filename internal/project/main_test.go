// Package project_test contains the tests of the project itself: its signatures, its layers, its exported names and its
// documents. They run in the repository's top folder.
package project_test

import (
	"context"
	"encoding"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

func TestMain(m *testing.M) { check.Main(m) }

// inTop makes the test run in the repository's top folder. A test does it itself, not TestMain, because the go command
// only then knows which files a cached result depends on.
func inTop(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}

// The signatures that other programs use. A change breaks them.
type (
	ints      = stream.Stream[int]
	openChans = func(context.Context) (<-chan int, <-chan error)
	failures  = stream.Stream[stream.Failure]
)

var (
	_ func(context.Context, func(int) bool) error = ints(nil)

	_ func(...int) ints                                                                    = stream.Of[int]
	_ func([]int) ints                                                                     = stream.FromSlice[int]
	_ func(iter.Seq[int]) ints                                                             = stream.FromSeq[int]
	_ func(func(context.Context) iter.Seq2[int, error]) ints                               = stream.FromSeq2[int]
	_ func(func(context.Context) (int, error)) ints                                        = stream.FromFunc[int]
	_ func(<-chan int) ints                                                                = stream.FromChan[int]
	_ func(func(context.Context) (<-chan int, <-chan error)) ints                          = stream.FromChans[int]
	_ func(func(context.Context, func(int) bool) error) ints                               = stream.FromCallbacks[int]
	_ func(func(context.Context) ints) ints                                                = stream.Defer[int]
	_ func() ints                                                                          = stream.Empty[int]
	_ func() ints                                                                          = stream.Never[int]
	_ func(error) ints                                                                     = stream.Fail[int]
	_ func(int, int) ints                                                                  = stream.Range
	_ func(time.Duration) stream.Stream[time.Time]                                         = stream.Timer
	_ func(time.Duration) stream.Stream[time.Time]                                         = stream.Interval
	_ func(ints, context.Context) iter.Seq2[int, error]                                    = ints.All
	_ func(ints, context.Context) ([]int, error)                                           = ints.Collect
	_ func(ints, context.Context) (int, error)                                             = ints.One
	_ func(ints, context.Context, func(int)) error                                         = ints.ForEach
	_ func(ints, context.Context, func(context.Context, int) error) error                  = ints.TryForEach
	_ func(ints, context.Context, int) (<-chan int, <-chan error)                          = ints.Chans
	_ func(ints, func(int) bool) ints                                                      = ints.Filter
	_ func(ints, func(int) bool) ints                                                      = ints.DropHeartbeats
	_ func(context.Context)                                                                = stream.Works
	_ func(ints, int) ints                                                                 = ints.Take
	_ func(ints, int) ints                                                                 = ints.Skip
	_ func(ints, func(int) bool) ints                                                      = ints.TakeWhile
	_ func(ints, func(int) bool) ints                                                      = ints.SkipWhile
	_ func(ints, func(int)) ints                                                           = ints.Tap
	_ func(ints, func(error)) ints                                                         = ints.OnEnd
	_ func(ints, ...ints) ints                                                             = ints.Concat
	_ func(ints, ...ints) ints                                                             = ints.Merge
	_ func(ints, func(error) ints) ints                                                    = ints.Catch
	_ func(ints, error) ints                                                               = ints.MustNotEnd
	_ func(ints, int) ints                                                                 = ints.Retry
	_ func(ints, stream.RetryHandler) ints                                                 = ints.RetryWhen
	_ func(ints, int) ints                                                                 = ints.Repeat
	_ func(ints, time.Duration) ints                                                       = ints.Timeout
	_ func(ints, time.Duration) ints                                                       = ints.Delay
	_ func(ints, time.Duration) ints                                                       = ints.Debounce
	_ func(ints, time.Duration) ints                                                       = ints.Throttle
	_ func(ints, int) ints                                                                 = ints.Buffer
	_ func(ints, <-chan struct{}) ints                                                     = ints.TakeUntilDone
	_ func(ints, ...int) ints                                                              = ints.StartWith
	_ func(ints, int) ints                                                                 = ints.DefaultIfEmpty
	_ func(ints, ints) ints                                                                = ints.SwitchIfEmpty
	_ func(ints, int) ints                                                                 = ints.TakeLast
	_ func(ints, int) ints                                                                 = ints.SkipLast
	_ func(ints) ints                                                                      = ints.IgnoreElements
	_ error                                                                                = stream.ErrNotRestartable
	_ error                                                                                = stream.ErrEmpty
	_ interface{ Timeout() bool }                                                          = stream.ErrTimeout.(interface{ Timeout() bool })
	_ func(error) error                                                                    = stream.Permanent
	_ func(context.Context) stream.Clock                                                   = stream.ClockFrom
	_ stream.Stopper                                                                       = (*time.Timer)(nil)
	_                                                                                      = stream.Failure{Err: nil, N: 0, Items: int64(0), Lasted: time.Duration(0)}
	_ stream.RetryHandler                                                                  = stream.RetryHandlerFunc(func(f failures) failures { return f })
	_ stream.RetryHandler                                                                  = retry.Policy{}
	_ func(context.Context) int                                                            = stream.AttemptFrom
	_ jitter.Jitter                                                                        = jitter.Func(func(u float64) float64 { return u })
	_                                                                                      = []jitter.Jitter{jitter.None, jitter.Default, jitter.Full, jitter.Equal}
	_ func(float64) jitter.Jitter                                                          = jitter.Deviation
	_ func(float64, float64) jitter.Jitter                                                 = jitter.Uniform
	_ func(time.Duration) backoff.Backoff                                                  = backoff.Constant
	_ func(time.Duration) backoff.Backoff                                                  = backoff.Linear
	_ func(time.Duration) backoff.Backoff                                                  = backoff.Quadratic
	_ func(time.Duration, float64) backoff.Backoff                                         = backoff.Polynomial
	_ func(time.Duration, float64) backoff.Backoff                                         = backoff.Exponential
	_ func(time.Duration) backoff.Backoff                                                  = backoff.Fibonacci
	_ func(...time.Duration) backoff.Backoff                                               = backoff.Table
	_ func() backoff.Backoff                                                               = backoff.Sidekiq
	_ func(time.Duration, float64) backoff.Backoff                                         = backoff.Buckets
	_ func(time.Duration) backoff.Backoff                                                  = backoff.Decorrelated
	_ func(func(n int, u float64) time.Duration) backoff.Backoff                           = backoff.Func
	_ backoff.Backoff                                                                      = backoff.Default
	_ func(backoff.Backoff, time.Duration) backoff.Backoff                                 = backoff.Backoff.Cap
	_ func(backoff.Backoff, time.Duration) backoff.Backoff                                 = backoff.Backoff.Plus
	_ func(backoff.Backoff, jitter.Jitter) backoff.Backoff                                 = backoff.Backoff.Jitter
	_ func(backoff.Backoff) backoff.Backoff                                                = backoff.Backoff.Tiled
	_ func(backoff.Backoff, uint64) backoff.Backoff                                        = backoff.Backoff.Keyed
	_ func(backoff.Backoff, uint64) backoff.Backoff                                        = backoff.Backoff.Ordinal
	_ func(backoff.Backoff, int) time.Duration                                             = backoff.Backoff.Delay
	_ func(backoff.Backoff, int, float64) time.Duration                                    = backoff.Backoff.At
	_ func(backoff.Backoff, int, time.Duration, float64) time.Duration                     = backoff.Backoff.After
	_ func(backoff.Backoff, int) time.Duration                                             = backoff.Backoff.Ceiling
	_ func(backoff.Backoff, time.Duration, time.Duration, float64) time.Duration           = backoff.Backoff.Dictated
	_ func(backoff.Backoff) bool                                                           = backoff.Backoff.IsTiled
	_ fmt.Stringer                                                                         = backoff.Backoff{}
	_ encoding.TextMarshaler                                                               = backoff.Backoff{}
	_ encoding.TextUnmarshaler                                                             = (*backoff.Backoff)(nil)
	_ func(string) (backoff.Backoff, error)                                                = backoff.Parse
	_ func(backoff.Backoff, ...retry.Option) retry.Policy                                  = retry.New
	_ func(retry.Policy, ...retry.Option) retry.Policy                                     = retry.Policy.With
	_ func(retry.Policy, failures) failures                                                = retry.Policy.Handle
	_ func(retry.Policy, func(failures) failures) stream.RetryHandler                      = retry.Policy.Around
	_ func(string, ...retry.Option) (retry.Policy, error)                                  = retry.Parse
	_ fmt.Stringer                                                                         = retry.Policy{}
	_ func(context.Context, retry.Policy, func(context.Context) (int, error)) (int, error) = retry.Do[int]
	_ func(context.Context, retry.Policy, func(context.Context) error) error               = retry.Run
	_ func(retry.Policy, context.Context) iter.Seq2[*retry.Attempt, error]                 = retry.Policy.Attempts
	_ func(retry.Policy) (time.Duration, bool)                                             = retry.Policy.MaxRetryAfter
	_ func(retry.Policy, func(context.Context) (int, error)) *retry.Shared[int]            = retry.NewShared[int]
	_ error                                                                                = retry.ErrClosed
	_ interface {
		CloseWith(func(int)) *retry.Shared[int]
		RenewAt(func(v int) time.Time) *retry.Shared[int]
		Do(ctx context.Context, f func(ctx context.Context, v int) error) error
		Try(ctx context.Context, f func(ctx context.Context, v int) error) error
		Broken(err error) error
		Close()
	} = (*retry.Shared[int])(nil)
	_ retry.Policy = retry.Default
	_ interface {
		N() int
		Err() error
		Fail(error)
		Reset()
	} = (*retry.Attempt)(nil)
	_ = []retry.Option{
		retry.WithBackoff(backoff.Default), retry.Limit(1), retry.Within(1), retry.StopAt(1), retry.AttemptTimeout(1),
		retry.If(func(error) bool { return true }), retry.OnRetry(func(context.Context, retry.Event) {}), retry.OnGiveUp(func(context.Context, *retry.Error) {}),
		retry.OnRecovered(func(context.Context, retry.Recovery) {}), retry.OnDone(func(context.Context, retry.Result) {}), retry.BeforeFirstItem(),
		retry.OnWorks(func(context.Context, int) {}),
		retry.Log(slog.Default()), retry.Log(nil), retry.Name("prices"),
		retry.ResetAfter(1), retry.ResetAfterItems(1), retry.ResetOn(retry.NewSignal()), retry.WithClock(clock.NewMock()),
		retry.WithRand(func() float64 { return 0 }), retry.WithBudget(retry.NewBudget(1, 1, 1).Refill(1)), retry.MaxRetryAfter(1),
	}
	_ func(*retry.Signal)                                                                                                                       = (*retry.Signal).Fire
	_ func(error) error                                                                                                                         = retry.Permanent
	_ func(error) error                                                                                                                         = retry.Planned
	_ func(error) bool                                                                                                                          = retry.IsPlanned
	_ func(error, time.Duration) error                                                                                                          = retry.RetryAfter
	_                                                                                                                                           = []error{retry.ErrExhausted, retry.ErrDeadline, retry.ErrBudget, retry.ErrLimit, retry.ErrWithin, retry.ErrStopAt, retry.ErrMaxRetryAfter}
	_                                                                                                                                           = retry.Event{N: 1, Err: nil, Delay: 1, Elapsed: 1, Lasted: 1}
	_                                                                                                                                           = retry.Recovery{Retries: 1, Down: 1, Last: nil}
	_                                                                                                                                           = retry.Result{Err: nil, Attempts: 1, Retries: 1, Elapsed: 1}
	_ func(context.Context) context.Context                                                                                                     = retry.WithoutRetries
	_ func(retry.Policy, context.Context) retry.Operation                                                                                       = retry.Policy.Start
	_ func(retry.Policy, context.Context, retry.State, error) retry.Operation                                                                   = retry.Policy.Continue
	_                                                                                                                                           = []any{encoding.TextMarshaler(retry.Policy{}), encoding.TextAppender(retry.Policy{}), encoding.TextUnmarshaler(&retry.Policy{}), encoding.TextMarshaler(retry.State{}), encoding.TextAppender(retry.State{}), encoding.TextUnmarshaler(&retry.State{})}
	_ func(*retry.Budget) (int64, int64)                                                                                                        = (*retry.Budget).Stats
	_ error                                                                                                                                     = &retry.Error{Cause: nil, Last: nil, Attempts: 1, Elapsed: 1, Retries: 1, Down: 1}
	_ slog.LogValuer                                                                                                                            = &retry.Error{}
	_ interface{ Unwrap() []error }                                                                                                             = &retry.Error{}
	_ func(jitter.Jitter, time.Duration, int, ...retry.Option) retry.Policy                                                                     = operators.ExpBackoff
	_ func(ints, func(failures) stream.Stream[string]) ints                                                                                     = operators.RetryWhen[int, string]
	_ func(context.Context, openChans, stream.RetryHandler) (<-chan int, <-chan error)                                                          = operators.RetryChans[int]
	_ func(string, func(string) ints, func(string, int) string, stream.RetryHandler) ints                                                       = operators.Resume[int, string]
	_ func(string, func(string) stream.Stream[operators.Marked[int, string]], stream.RetryHandler) ints                                         = operators.ResumeMarked[int, string]
	_ func(string, func(string) stream.Stream[operators.Marked[int, string]], stream.RetryHandler) stream.Stream[operators.Marked[int, string]] = operators.ResumePositions[int, string]
	_ func(func(error) bool, backoff.Backoff) retry.Option                                                                                      = retry.BackoffFor
	_ func(func(error) bool, int) retry.Option                                                                                                  = retry.LimitFor
	_                                                                                                                                           = operators.Marked[int, string]{Value: 1, At: "", Bookmark: true}
	_ func(time.Duration, string, func(context.Context, string) ([]int, string, error), stream.RetryHandler) ints                               = operators.Poll[int, string]
	_                                                                                                                                           = []error{operators.ErrEmpty, operators.ErrStuck}
	_ func(ints, func(int) string) stream.Stream[string]                                                                                        = operators.Map[int, string]
	_ func(ints, int, func(int) stream.Stream[string]) stream.Stream[string]                                                                    = operators.FlatMap[int, string]
	_ func(ints, func(int) stream.Stream[string]) stream.Stream[string]                                                                         = operators.ConcatMap[int, string]
	_ func(ints, func(int) stream.Stream[string]) stream.Stream[string]                                                                         = operators.SwitchMap[int, string]
	_ func(ints, func(int) stream.Stream[string]) stream.Stream[string]                                                                         = operators.ExhaustMap[int, string]
	_ func(ints, func(context.Context, int) (string, error)) stream.Stream[string]                                                              = operators.TryMap[int, string]
	_ func(ints, func(context.Context, int) (bool, error)) ints                                                                                 = operators.TryFilter[int]
	_ func(ints, string, func(string, int) string) stream.Stream[string]                                                                        = operators.Scan[int, string]
	_ func(ints, string, func(string, int) string) stream.Stream[string]                                                                        = operators.Reduce[int, string]
	_ func(ints, stream.Stream[string], func(int, string) bool) stream.Stream[bool]                                                             = operators.ZipWith[int, string, bool]
	_ func(ints, stream.Stream[string]) ints                                                                                                    = operators.TakeUntil[int, string]
	_ func(ints, int, time.Duration) stream.Stream[[]int]                                                                                       = operators.Batch[int]
	_ func(...ints) ints                                                                                                                        = operators.Race[int]
	_ func(ints, retry.Policy, func(context.Context, int) (string, error), operators.MapRetryOptions[int]) stream.Stream[string]                = operators.MapRetry[int, string]
	_ func(func(context.Context) rxgo.Observable, stream.RetryHandler, ...rxgo.Option) rxgo.Observable                                          = rx.RetryWhen
	_ func(rxgo.Observable) rx.Observable                                                                                                       = rx.Wrap
	_ func(rx.Observable, stream.RetryHandler) rx.Observable                                                                                    = rx.Observable.RetryWhen
	_ rxgo.Observable                                                                                                                           = rx.Observable{}
	_ func(func(context.Context) rxgo.Observable) ints                                                                                          = rx.ToStream[int]
	_ func(ints, ...rxgo.Option) rxgo.Observable                                                                                                = rx.FromStream[int]
)

func TestClocksAreInjectedAsTheyAre(t *testing.T) {
	var any clock.Clock = clock.NewMock()
	for name, ctx := range map[string]context.Context{
		"a mock":       stream.WithClock(t.Context(), clock.NewMock()),
		"an interface": stream.WithClock(t.Context(), any),
		"our own":      stream.WithClock(t.Context(), stream.ClockFrom(t.Context())),
		"a type of its own": stream.WithClock(t.Context(), interface {
			Now() time.Time
			AfterFunc(time.Duration, func()) *clock.Timer
		}(clock.NewMock())),
	} {
		if stream.ClockFrom(ctx).Now().IsZero() {
			t.Errorf("%s: no time", name)
		}
	}
}

var (
	_ func(http.RoundTripper, retry.Policy, ...retryhttp.Option) *retryhttp.Transport = retryhttp.NewTransport
	_ http.RoundTripper                                                               = (*retryhttp.Transport)(nil)
	_ func(int) retryhttp.Option                                                      = retryhttp.BufferBody
	_ func() retryhttp.Option                                                         = retryhttp.RateLimitHeaders
	_ func() retryhttp.Option                                                         = retryhttp.IdempotencyKeys
	_ func(context.Context) *http.Request                                             = retryhttp.RequestFrom
	_ func(time.Duration) retryhttp.Option                                            = retryhttp.ResumeBody
	_ func(float64, int, http.Handler) http.Handler                                   = retryhttp.Slots
	_ func() retryhttp.Option                                                         = retryhttp.Gate

	_ func(http.RoundTripper, *retry.Shared[int], func(r *http.Request, v int), ...int) http.RoundTripper = retryhttp.WithShared[int]
)

var (
	_ = reconnecttest.Feed[string, int]{
		Events: []string(nil),
		From:   (func(at int) int)(nil),
		Idle:   (func(next int) string)(nil),
		Every:  time.Duration(0),
		Lost:   (func(oldest int) error)(nil),
	}
	_ func(testing.TB, reconnecttest.Feed[string, int], func(func(int) stream.Stream[string]) ints, ...reconnecttest.Option) reconnecttest.Report = reconnecttest.CheckResume[string, int, int]
	_                                                                                                                                             = []func() reconnecttest.Option{reconnecttest.AtLeastOnce, reconnecttest.AnyOrder, reconnecttest.GivesUp, reconnecttest.NoJitter, reconnecttest.Latest}
	_ func(testing.TB, func() reconnecttest.Run[int], ...reconnecttest.Option) reconnecttest.Report                                               = reconnecttest.Check[int]
	_ func(kind reconnecttest.Kind, where, why string) reconnecttest.Option                                                                       = reconnecttest.Known
	_ func(func(reconnecttest.Finding)) reconnecttest.Option                                                                                      = reconnecttest.OnFinding
	_ prove.Report                                                                                                                                = reconnecttest.Report{}
	_ prove.Finding                                                                                                                               = reconnecttest.Finding{}
	_                                                                                                                                             = reconnecttest.Run[int]{
		Serve:  (func(ctx context.Context, l net.Listener))(nil),
		Client: (func(ctx context.Context, dial reconnecttest.Dial, got func(int)) error)(nil),
	}
	_ func(ctx context.Context, network, addr string) (net.Conn, error) = reconnecttest.Dial(nil)
)

var (
	_ = prove.Target{
		Server: "", Client: (func(ctx context.Context, r prove.Run, got func(string)) error)(nil),
		Before: (func(ctx context.Context, r prove.Run) error)(nil), Event: (func(ctx context.Context, r prove.Run, n int) error)(nil),
		Events: 0, Every: time.Duration(0), Within: time.Duration(0), Quiet: time.Duration(0), Stop: time.Duration(0), Parallel: 0, Places: 0,
		Ways: []prove.Way{prove.Cut, prove.Amid, prove.End, prove.Silence, prove.Refuse, prove.Twice}, AtLeastOnce: false, AnyOrder: false, GivesUp: false, Latest: false,
		Known: []prove.Known{{Kind: prove.Lost, Where: "", Why: ""}}, OnFinding: (func(prove.Finding))(nil), OnProgress: (func(done, of int))(nil),
	}
	_ = prove.Calls{
		Server: "", Answer: "", Client: (func(ctx context.Context, r prove.Run) (result string, err error))(nil), Request: "",
		Within: time.Duration(0), Stop: time.Duration(0), Parallel: 0, Most: 0, Idempotent: false, NoJitter: false,
		Known: []prove.Known(nil), OnFinding: (func(prove.Finding))(nil), OnProgress: (func(done, of int))(nil),
	}
	_ func(prove.Calls, context.Context) (prove.Measured, error)                                                                     = prove.Calls.Measure
	_                                                                                                                                = prove.Measured{Request: "", Rows: []prove.Row(nil), Findings: []prove.Finding(nil), Policy: "", Or: []string(nil), Why: "", PerCall: float64(0)}
	_                                                                                                                                = prove.Row{Way: "", Requests: 0, Waits: []time.Duration(nil), How: "", Result: "", Error: ""}
	_ func(prove.Measured, []prove.Known) []prove.Known                                                                              = prove.Measured.Missing
	_ func(testing.TB, func(dial reconnecttest.Dial) func(ctx context.Context) (int, error), ...reconnecttest.Option) prove.Measured = reconnecttest.CheckCalls[int]
	_                                                                                                                                = prove.Run{Name: "", Addr: "", Server: ""}
	_ func(prove.Target, context.Context) (prove.Report, error)                                                                      = prove.Target.Check
	_ func(testing.TB, prove.Target) prove.Report                                                                                    = reconnecttest.CheckTCP
	_                                                                                                                                = prove.Report{Values: 0, Places: 0, Scenarios: 0, NotPlayed: 0, Findings: []prove.Finding(nil)}
	_                                                                                                                                = prove.Finding{Kind: prove.Kind(""), Where: "", What: "", Mend: "", Shown: 0, Scenarios: 0, Known: "", Timeline: []string(nil)}
)

// The texts of ways and kinds are in flags and in JSON.
func TestWaysAndKinds(t *testing.T) {
	want := "[cut amid end silence refuse twice] [lost repeated foreign order hot silent away gave-up ended cap late left open second jitter lag gone reset stop panic early unsafe body half vain swallowed storm stale past-the-proxy cannot-be-judged differs]"
	got := fmt.Sprint([]prove.Way{prove.Cut, prove.Amid, prove.End, prove.Silence, prove.Refuse, prove.Twice}, " ", []prove.Kind{prove.Lost, prove.Repeated, prove.Foreign,
		prove.Order, prove.Hot, prove.Silent, prove.Away, prove.GaveUp, prove.Ended, prove.Cap, prove.Late, prove.Left, prove.Open, prove.Second, prove.Jitter, prove.Lag,
		prove.Gone, prove.Reset, prove.Stop, prove.Panic, prove.Early, prove.Unsafe, prove.Body, prove.Half, prove.Vain,
		prove.Swallowed, prove.Storm, prove.Stale, prove.Past, prove.Unjudged, prove.Differs})
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
