package backoff_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

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
