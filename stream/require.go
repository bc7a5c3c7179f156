package stream

import (
	"fmt"
	"reflect"
	"time"
)

// requireFunc panics when an argument is missing. name is "Operator: argument".
func requireFunc(missing bool, name string) {
	if missing {
		panic("stream: " + name + " is nil")
	}
}

// requireMin panics when n is below least.
func requireMin(name string, n, least int) {
	if n < least {
		do(func() { panic(fmt.Sprintf("stream: %s is %d, want at least %d", name, n, least)) })
	}
}

// do calls f. The compiler counts a literal passed to do as a small part of the function around it, whatever the literal
// contains, and inlines that function: a chain with a Range, a Take, a Concat or a TryForEach would be no loop otherwise.
func do(f func()) { f() }

// requireBuffer panics when n is negative, or when n values of T do not fit into the address space.
func requireBuffer[T any](name string, n int) {
	requireMin(name, n, 0)
	const bytes = 1 << (30 + 17*(^uint(0)>>63)) // 1 GiB where an int has 32 bits, 128 TiB where it has 64
	const each = 64                             // the most that is stored with a value
	if most := bytes / (each + uint64(reflect.TypeFor[T]().Size())); uint64(n) > most {
		panic(fmt.Sprintf("stream: %s is %d, want at most %d", name, n, most))
	}
}

// requireWait panics when d is negative.
func requireWait(name string, d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("stream: %s is %v, want at least 0", name, d))
	}
}

// requirePeriod panics when d is not positive.
func requirePeriod(name string, d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("stream: %s is %v, want more than 0", name, d))
	}
}

// requireAll panics when s or one of the others is nil, and returns all of them.
func (s Stream[T]) requireAll(operator string, others []Stream[T]) []Stream[T] {
	s.require(operator)
	for i, other := range others {
		if other == nil {
			panic(fmt.Sprintf("stream: %s: others[%d] is nil", operator, i))
		}
	}
	return append([]Stream[T]{s}, others...)
}
