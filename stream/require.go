package stream

import (
	"fmt"
	"reflect"
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

// requireBuffer panics when n is negative, or more values of T than an address space holds.
func requireBuffer[T any](name string, n int) {
	requireMin(name, n, 0)
	const bytes = 1 << (30 + 17*(^uint(0)>>63)) // 1 GiB where an int has 32 bits, 128 TiB where it has 64
	const each = 64                             // what stands beside a value, at most
	if most := bytes / (each + uint64(reflect.TypeFor[T]().Size())); uint64(n) > most {
		panic(fmt.Sprintf("stream: %s is %d, want <= %d", name, n, most))
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
