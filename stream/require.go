package stream

import (
	"fmt"
	"time"
)

// requireFunc panics when what an operator was given is missing; name is "Operator: argument".
func requireFunc(missing bool, name string) {
	if missing {
		panic("stream: " + name + " is nil")
	}
}

// requireMin panics when n is below the least that the operator takes.
func requireMin(name string, n, least int) {
	if n < least {
		panic(fmt.Sprintf("stream: %s is %d, want >= %d", name, n, least))
	}
}

// requireWait panics when d is negative.
func requireWait(name string, d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("stream: %s is %v, want >= 0", name, d))
	}
}

// requirePeriod panics when d is not positive.
func requirePeriod(name string, d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("stream: %s is %v, want > 0", name, d))
	}
}

// requireAll panics when one of the streams is nil.
func requireAll[T any](operator string, others []Stream[T]) {
	for i, s := range others {
		if s == nil {
			panic(fmt.Sprintf("stream: %s: others[%d] is nil", operator, i))
		}
	}
}
