package backoff_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

// delays prints the first delays of b for the draw u.
func delays(b backoff.Backoff, u float64) {
	var all [6]time.Duration
	for i := range all {
		all[i] = b.At(i+1, u)
	}
	fmt.Println(all)
}

func Example() {
	b := backoff.Exponential(100*time.Millisecond, 2).Cap(time.Second).Jitter(jitter.Full)
	fmt.Println(b)
	for n := 1; n <= 6; n++ {
		fmt.Printf("retry %d after up to %v, as long as %v on average\n", n, b.Ceiling(n), b.At(n, 0.5))
	}
	// Output:
	// exponential base=100ms factor=2 cap=1s jitter=full
	// retry 1 after up to 100ms, as long as 50ms on average
	// retry 2 after up to 200ms, as long as 100ms on average
	// retry 3 after up to 400ms, as long as 200ms on average
	// retry 4 after up to 800ms, as long as 400ms on average
	// retry 5 after up to 1s, as long as 500ms on average
	// retry 6 after up to 1s, as long as 500ms on average
}

// A loop that the caller writes, after Peter Teichman's "Simple backoff": Delay(0) is 0, so the loop can wait before
// every attempt, the first too.
func Example_loop() {
	connect := func(attempt int) error {
		if attempt < 2 {
			return fmt.Errorf("attempt %d failed", attempt)
		}
		return nil
	}
	done := make(chan struct{})
	for attempt := 0; ; attempt++ {
		select {
		case <-done:
			return
		case <-time.After(backoff.Default.Delay(attempt)):
		}
		err := connect(attempt)
		if err == nil {
			fmt.Println("connected")
			return
		}
		fmt.Println(err)
	}
	// Output:
	// attempt 0 failed
	// attempt 1 failed
	// connected
}

func ExampleConstant() {
	delays(backoff.Constant(time.Second), 0)
	// Output: [1s 1s 1s 1s 1s 1s]
}

func ExampleLinear() {
	delays(backoff.Linear(time.Second), 0)
	// Output: [1s 2s 3s 4s 5s 6s]
}

func ExampleQuadratic() {
	delays(backoff.Quadratic(time.Second), 0)
	// Output: [1s 4s 9s 16s 25s 36s]
}

func ExamplePolynomial() {
	delays(backoff.Polynomial(time.Second, 3), 0)
	// Output: [1s 8s 27s 1m4s 2m5s 3m36s]
}

func ExampleExponential() {
	delays(backoff.Exponential(100*time.Millisecond, 2), 0)
	delays(backoff.Exponential(100*time.Millisecond, 1.5), 0)
	// Output:
	// [100ms 200ms 400ms 800ms 1.6s 3.2s]
	// [100ms 150ms 225ms 337.5ms 506.25ms 759.375ms]
}

func ExampleFibonacci() {
	delays(backoff.Fibonacci(time.Second), 0)
	// Output: [1s 1s 2s 3s 5s 8s]
}

func ExampleTable() {
	delays(backoff.Table(10*time.Millisecond, 100*time.Millisecond, time.Second), 0)
	// Output: [10ms 100ms 1s 1s 1s 1s]
}

func ExampleSidekiq() {
	delays(backoff.Sidekiq(), 0)
	delays(backoff.Sidekiq(), 0.5)
	// Output:
	// [15s 16s 31s 1m36s 4m31s 10m40s]
	// [30s 46s 1m16s 2m36s 5m46s 12m10s]
}

func ExampleBuckets() {
	b := backoff.Buckets(time.Second, 2)
	for n := 1; n <= 4; n++ {
		fmt.Println("from", b.At(n, 0), "to", b.Ceiling(n))
	}
	// Output:
	// from 0s to 4s
	// from 1s to 9s
	// from 4s to 16s
	// from 9s to 25s
}

// A chain that the caller keeps: each delay is drawn from the one before it.
func ExampleDecorrelated() {
	b := backoff.Decorrelated(100 * time.Millisecond).Cap(10 * time.Second)
	var delay time.Duration
	for n, u := range []float64{0.5, 0.9, 0.2, 0.7} { // rand.Float64() in a real program
		delay = b.After(n+1, delay, u)
		fmt.Println(delay)
	}
	// Output:
	// 200ms
	// 550ms
	// 410ms
	// 891ms
}

// A custom curve, here logarithmic.
func ExampleFunc() {
	steps := backoff.Func(func(n int, u float64) time.Duration {
		return time.Second * time.Duration(n/2)
	})
	delays(steps.Cap(2*time.Second), 0)
	// Output: [0s 1s 1s 2s 2s 2s]
}

// The cap limits the delay, jitter included, and delays still spread at the cap.
func ExampleBackoff_Cap() {
	b := backoff.Exponential(time.Second, 2).Cap(6 * time.Second).Jitter(jitter.Deviation(0.5))
	for n := 1; n <= 4; n++ {
		fmt.Println("between", b.At(n, 0), "and", b.At(n, 1).Round(time.Millisecond))
	}
	// Output:
	// between 500ms and 1.5s
	// between 1s and 3s
	// between 2s and 6s
	// between 2s and 6s
}

func ExampleBackoff_Plus() {
	delays(backoff.Exponential(time.Second, 2).Plus(5*time.Second), 0)
	// Output: [6s 7s 9s 13s 21s 37s]
}

func ExampleBackoff_Jitter() {
	b := backoff.Linear(time.Second).Jitter(jitter.Equal)
	delays(b, 0)
	delays(b, 0.5)
	// Output:
	// [500ms 1s 1.5s 2s 2.5s 3s]
	// [750ms 1.5s 2.25s 3s 3.75s 4.5s]
}

// Four jobs that fail together at 0 and keep failing: their retries fill the
// time line evenly, wave after wave. Each wave begins where the last one ends.
func ExampleBackoff_Tiled() {
	b := backoff.Linear(4 * time.Second).Tiled()
	var at [4]time.Duration
	for wave := 1; wave <= 3; wave++ {
		for job := range at {
			at[job] += b.At(wave, float64(job)/4)
		}
		fmt.Println(at)
	}
	// Output:
	// [0s 1s 2s 3s]
	// [4s 6s 8s 10s]
	// [12s 15s 18s 21s]
}

// A key fixes a job's delays, whatever process it runs in.
func ExampleBackoff_Keyed() {
	b := backoff.Linear(10 * time.Second).Tiled()
	for _, job := range []uint64{1, 2, 3} {
		b := b.Keyed(job)
		fmt.Println(b.Delay(1).Round(time.Millisecond), b.Delay(2).Round(time.Millisecond))
	}
	// Output:
	// 5.666s 15.666s
	// 5.912s 15.912s
	// 1.135s 11.135s
}

// The pods of a StatefulSet, each a separate process, retry at an even load.
func ExampleBackoff_Ordinal() {
	b := backoff.Linear(10 * time.Second).Tiled()
	for _, host := range []string{"web-0", "web-1", "web-2", "web-3"} {
		i, err := strconv.ParseUint(strings.TrimPrefix(host, "web-"), 10, 64)
		if err != nil {
			fmt.Println(err)
			return
		}
		b := b.Ordinal(i)
		fmt.Println(host, b.Delay(1).Round(time.Millisecond), b.Delay(2).Round(time.Millisecond))
	}
	// Output:
	// web-0 5s 15s
	// web-1 1.18s 11.18s
	// web-2 7.361s 17.361s
	// web-3 3.541s 13.541s
}

// The server said "Retry-After: 10", to this client and to all the others.
func ExampleBackoff_Dictated() {
	b := backoff.Exponential(time.Second, 2).Jitter(jitter.Default)
	fmt.Println(b.Dictated(10*time.Second, -1, 0), b.Dictated(10*time.Second, -1, 0.5))
	fmt.Println(backoff.Exponential(time.Second, 2).Dictated(10*time.Second, -1, 0.5))
	// Output:
	// 10s 10.75s
	// 10s
}

func ExampleParse() {
	b, err := backoff.Parse("fibonacci d=100ms cap=500ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	delays(b, 0)

	_, err = backoff.Parse("exponential base=1s fator=2")
	fmt.Println(err)
	// Output:
	// [100ms 100ms 200ms 300ms 500ms 500ms]
	// backoff: Parse: "fator=2" at column 21: unknown word; exponential takes base, factor, plus, cap, jitter, tiled, key and ordinal
}

func ExampleBackoff_MarshalText() {
	config := struct{ Backoff backoff.Backoff }{backoff.Default.Cap(time.Second)}
	text, err := json.Marshal(config)
	fmt.Println(string(text), err)
	// Output: {"Backoff":"table delays=10ms,10ms,100ms,100ms,500ms,500ms,3s,3s,5s cap=1s jitter=deviation:0.5"} <nil>
}

// The error contains the place of the word, so a program can show it to a user.
func ExampleParseError() {
	_, err := backoff.Parse("exponential base=100ms factor=twice")
	if wrong, ok := errors.AsType[*backoff.ParseError](err); ok {
		fmt.Println(wrong.Text)
		fmt.Println(strings.Repeat(" ", wrong.Offset) + strings.Repeat("^", len(wrong.Word)) + " " + wrong.Reason)
	}
	// Output:
	// exponential base=100ms factor=twice
	//                        ^^^^^^^^^^^^ "twice" is not a number, want as in "factor=2"
}

func ExampleBackoff_IsRandom() {
	b := backoff.Exponential(time.Second, 2)
	fmt.Println(b.IsRandom(), b.Jitter(jitter.Full).IsRandom())
	// Output: false true
}

func ExampleBackoff_IsTiled() {
	for _, b := range []backoff.Backoff{
		backoff.Linear(time.Second),
		backoff.Linear(time.Second).Tiled(),
		backoff.Linear(time.Second).Tiled().Ordinal(3),
	} {
		fmt.Println(b, "- tiled:", b.IsTiled())
	}
	// Output:
	// linear d=1s - tiled: false
	// linear d=1s tiled - tiled: true
	// linear d=1s tiled ordinal=3 - tiled: true
}

func ExampleBackoff_Words() {
	for _, w := range backoff.Exponential(100*time.Millisecond, 2).Cap(30 * time.Second).Words() {
		fmt.Println(w)
	}
	// Output:
	// exponential
	// base=100ms
	// factor=2
	// cap=30s
}

func ExampleCurves() {
	for _, c := range backoff.Curves()[:5] {
		fmt.Printf("%s %v: %s\n", c.Name, c.Parameters, c.Formula)
	}
	// Output:
	// constant [d]: d
	// linear [d]: d·n
	// quadratic [d]: d·n²
	// polynomial [d degree]: d·n^degree
	// exponential [base factor]: base·factor^(n-1)
}
