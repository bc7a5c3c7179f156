package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

var errBusy = errors.New("busy")

// delays prints the delays that a policy returns for an operation that always fails with err.
func delays(p retry.Policy, err error) {
	op := p.Start(context.Background())
	for now := time.Unix(0, 0); ; {
		delay, end := op.Failed(retry.Outcome{Err: err, At: now})
		if end != nil {
			fmt.Println(end)
			return
		}
		fmt.Println(delay)
		now = now.Add(delay)
	}
}

func ExampleLimit() {
	delays(retry.New(backoff.Linear(time.Second), retry.Limit(2)), errBusy)
	// Output:
	// 1s
	// 2s
	// retry: limit of 2 retries: 3 failures in 3s: busy
}

func ExampleWithin() {
	delays(retry.New(backoff.Linear(time.Second), retry.Within(5*time.Second)), errBusy)
	// Output:
	// 1s
	// 2s
	// retry: time limit of 5s: 3 failures in 3s: busy
}

// The LispCast article's maximum: the retry that would wait for 5 s or more is not made.
func ExampleStopAt() {
	delays(retry.New(backoff.Exponential(time.Second, 2), retry.StopAt(5*time.Second)), errBusy)
	// Output:
	// 1s
	// 2s
	// 4s
	// retry: delay limit of 5s, the next wait would be 8s: 4 failures in 7s: busy
}

// The policy waits for a minute if the server says so, but not for an hour.
func ExampleMaxRetryAfter() {
	policy := retry.New(backoff.Constant(time.Second), retry.Limit(1), retry.MaxRetryAfter(time.Minute))
	delays(policy, retry.RetryAfter(errBusy, time.Minute))
	delays(policy, retry.RetryAfter(errBusy, time.Hour))
	// Output:
	// 1m0s
	// retry: limit of 1 retry: 2 failures in 1m: busy
	// retry: limit of dictated delays of 1m, the next wait would be 1h: 1 failure in 0s: busy
}

func ExampleWithBackoff() {
	fmt.Println(retry.Default.With(retry.WithBackoff(backoff.Fibonacci(time.Second).Jitter(jitter.Equal))))
	// Output: fibonacci d=1s jitter=equal limit=4 maxretryafter=1m
}

// A test that checks each delay sets the draws.
func ExampleWithRand() {
	policy := retry.New(backoff.Constant(time.Second).Jitter(jitter.Full), retry.Limit(2),
		retry.WithRand(func() float64 { return 0.25 }))
	delays(policy, errBusy)
	// Output:
	// 250ms
	// 250ms
	// retry: limit of 2 retries: 3 failures in 500ms: busy
}

// The policy's clock takes precedence over that of the context, and over the system clock.
func ExampleWithClock() {
	mock := clock.NewMock()
	policy := retry.New(backoff.Constant(time.Second), retry.WithClock(mock),
		retry.OnDone(func(_ context.Context, r retry.Result) { fmt.Println("took", r.Elapsed) }))
	_ = retry.Run(context.Background(), policy, func(context.Context) error {
		mock.Add(time.Minute)
		return nil
	})
	// Output: took 1m0s
}

// The first call hangs; the second is quick.
func ExampleAttemptTimeout() {
	mock := clock.NewMock()
	policy := retry.New(backoff.Constant(0), retry.Limit(3), retry.AttemptTimeout(10*time.Second), retry.WithClock(mock),
		retry.OnRetry(func(_ context.Context, e retry.Event) { fmt.Println("failed after", e.Lasted, "with", e.Err) }))
	calls := 0
	answer, err := retry.Do(context.Background(), policy, func(ctx context.Context) (int, error) {
		if calls++; calls == 1 {
			mock.Add(10 * time.Second)
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return 42, nil
	})
	fmt.Println(answer, err)
	// Output:
	// failed after 10s with context deadline exceeded
	// 42 <nil>
}

// After a connection that lasted for a minute, its loss is a first failure again.
func ExampleResetAfter() {
	policy := retry.New(backoff.Exponential(time.Second, 2), retry.ResetAfter(time.Minute))
	op := policy.Start(context.Background())
	now := time.Unix(0, 0)
	for _, lasted := range []time.Duration{0, time.Second, time.Second, time.Hour, time.Second} {
		now = now.Add(lasted)
		delay, err := op.Failed(retry.Outcome{Err: errBusy, Lasted: lasted, At: now})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("lasted %v, next in %v\n", lasted, delay)
		now = now.Add(delay)
	}
	// Output:
	// lasted 0s, next in 1s
	// lasted 1s, next in 2s
	// lasted 1s, next in 4s
	// lasted 1h0m0s, next in 1s
	// lasted 1s, next in 2s
}

// A feed that has delivered a value worked.
func ExampleResetAfterItems() {
	feed := stream.Of(1, 2).Concat(stream.Fail[int](errBusy))
	policy := retry.New(backoff.Constant(0), retry.Limit(1))
	got, err := feed.RetryWhen(policy).Take(8).Collect(context.Background())
	fmt.Println(got, errors.Is(err, retry.ErrExhausted))
	got, err = feed.RetryWhen(policy.With(retry.ResetAfterItems(1))).Take(8).Collect(context.Background())
	fmt.Println(got, err)
	// Output:
	// [1 2 1 2] true
	// [1 2 1 2 1 2 1 2] <nil>
}

// An established connection is a success, whatever happens later.
func ExampleAttempt_Reset() {
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(1))
	dial := []error{errBusy, nil, errBusy, errBusy}
	for a, err := range policy.Attempts(context.Background()) {
		if err != nil {
			fmt.Println("gave up after attempt", a.N())
			return
		}
		if err := dial[a.N()-1]; err != nil {
			fmt.Println(a.N(), "not connected")
			a.Fail(err)
			continue
		}
		fmt.Println(a.N(), "connected")
		a.Reset()
		a.Fail(errors.New("connection lost"))
	}
	// Output:
	// 1 not connected
	// 2 connected
	// 3 not connected
	// gave up after attempt 3
}

func ExampleBudget_Tokens() {
	budget := retry.NewBudget(10, 1, 0.5)
	policy := retry.New(backoff.Constant(0), retry.Limit(3), retry.WithBudget(budget))
	_ = retry.Run(context.Background(), policy, func(context.Context) error { return errBusy })
	fmt.Println(budget.Tokens()) // three retries
	_ = retry.Run(context.Background(), policy, func(context.Context) error { return nil })
	fmt.Println(budget.Tokens()) // a success
	// Output:
	// 7
	// 7.5
}

// An error caused by a timeout is still a timeout for callers that check it.
func ExampleError_Timeout() {
	policy := retry.New(backoff.Constant(0), retry.Limit(1))
	err := retry.Run(context.Background(), policy, func(context.Context) error {
		return &net.DNSError{Err: "timeout", Name: "example.com", IsTimeout: true}
	})
	gaveUp, _ := errors.AsType[*retry.Error](err)
	fmt.Println(gaveUp.Timeout())
	fmt.Println(gaveUp.Cause)
	// Output:
	// true
	// limit of 1 retry
}

func ExamplePolicy_Words() {
	p, err := retry.Parse("linear d=1s limit=5 budget=10,1,0.1")
	fmt.Println(p.Words(), err)
	// Output: [linear d=1s limit=5 budget=10,1,0.1] <nil>
}

func ExamplePolicy_Budget() {
	p, _ := retry.Parse("linear d=1s budget=10,1,0.1")
	b, ok := p.Budget()
	fmt.Println(b, ok)
	// Output: budget 10 of 10, cost 1, refund 0.1 true
}

// One policy of the configuration is for several servers. A budget is one server's, so each gets its own.
func ExampleBudget_Clone() {
	configured, err := retry.Parse("constant d=0s limit=5 budget=3,1,0.1")
	if err != nil {
		fmt.Println(err)
		return
	}
	budget, _ := configured.Budget()
	for _, server := range []string{"orders", "prices"} {
		policy := configured.With(retry.WithBudget(budget.Clone()))
		err := retry.Run(context.Background(), policy, func(context.Context) error { return errors.New("down") })
		gaveUp, _ := errors.AsType[*retry.Error](err)
		fmt.Printf("%s: %v after %d attempts\n", server, gaveUp.Cause, gaveUp.Attempts)
	}
	fmt.Println(budget)
	// Output:
	// orders: retry budget spent after 4 attempts
	// prices: retry budget spent after 4 attempts
	// budget 3 of 3, cost 1, refund 0.1
}

// A database that aborts a transaction because of another one wants it again soon. A database that is down does not.
func ExampleBackoffFor() {
	serialization := func(err error) bool {
		code, ok := errors.AsType[interface {
			error
			SQLState() string
		}](err)
		return ok && code.SQLState() == "40001"
	}
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(time.Minute),
		retry.BackoffFor(serialization, backoff.Exponential(10*time.Millisecond, 2).Cap(time.Second)))

	op := policy.Start(context.Background()) // as retry.Do does
	for _, failure := range []error{sqlError("40001"), errors.New("connection refused"), sqlError("40001")} {
		delay, _ := op.Failed(retry.Outcome{Err: failure})
		fmt.Printf("%v: wait %v\n", failure, delay)
	}
	// Output:
	// SQLSTATE 40001: wait 10ms
	// connection refused: wait 2s
	// SQLSTATE 40001: wait 40ms
}

// A login that is refused is tried once more, in case the server was starting. A server that is down is tried longer.
func ExampleLimitFor() {
	refused := func(err error) bool { return errors.Is(err, os.ErrPermission) }
	policy := retry.New(backoff.Backoff{}, retry.Limit(5), retry.LimitFor(refused, 1))
	for _, failure := range []error{os.ErrPermission, os.ErrDeadlineExceeded} {
		err := retry.Run(context.Background(), policy, func(context.Context) error { return failure })
		if e, gaveUp := errors.AsType[*retry.Error](err); gaveUp {
			fmt.Printf("%v: %v\n", e.Last, e.Cause)
		}
	}
	// Output:
	// permission denied: limit of 1 retry
	// i/o timeout: limit of 5 retries
}

// sqlError is an error as the drivers of Postgres return it.
type sqlError string

func (e sqlError) Error() string    { return "SQLSTATE " + string(e) }
func (e sqlError) SQLState() string { return string(e) }

func ExampleWords() {
	for _, w := range retry.Words() {
		if w.Name == "jitter" || w.Name == "limit" {
			fmt.Println(w, w.Go, w.Sentence)
		}
	}
	// Output:
	// jitter=full .Jitter(jitter.Full) times a random factor from 0 to 1
	// jitter=equal .Jitter(jitter.Equal) times a random factor from 0.5 to 1
	// jitter=default .Jitter(jitter.Default) times a random factor from 0.85 to 1.15
	// jitter=deviation:0.3 .Jitter(jitter.Deviation({2})) times a random factor of 1 ± {2}
	// jitter=uniform:0.5:1.5 .Jitter(jitter.Uniform({2}, {3})) times a random factor from {2} to {3}
	// jitter=none .Jitter(jitter.None) without jitter
	// limit=5 retry.Limit({1}) at most {1} retries
}

func ExampleWord_String() {
	fmt.Println(retry.Words()[0])
	// Output: plus=1s
}

// What a policy's words say.
func ExampleDescribe() {
	p, err := retry.Parse("exponential base=1s factor=2 cap=30s jitter=deviation:0.3 limit=5 budget=10,1,0.1")
	for _, w := range p.Words() {
		if d, ok := retry.Describe(w, strings.Clone); ok {
			fmt.Println(d.Sentence)
		}
	}
	fmt.Println(err)
	// Output:
	// at most 30s
	// times a random factor of 1 ± 0.3
	// at most 5 retries
	// a budget of 10: a retry costs 1, a success refunds 0.1
	// <nil>
}
