//go:build go1.27

package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/retrywhen/retrywhen/stream"
)

// A chain reads in the order of the operators.
func Example_chain() {
	parse := func(_ context.Context, text string) (int, error) { return strconv.Atoi(text) }
	show(stream.Of("1", "2", "3", "4", "5").
		Filter(func(s string) bool { return s != "2" }).
		TryMap(parse).
		Batch[[]int](2, 0))
	// Output: [1 3] [4 5] → <nil>
}

func ExampleStream_Map() {
	show(stream.Of(1, 2, 3).Map(func(v int) string { return strings.Repeat("a", v) }))
	// Output: a aa aaa → <nil>
}

func ExampleStream_TryMap() {
	show(stream.Of("1", "x").TryMap(func(_ context.Context, s string) (int, error) { return strconv.Atoi(s) }))
	// Output: 1 → strconv.Atoi: parsing "x": invalid syntax
}

func ExampleStream_TryFilter() {
	show(stream.Of(1, 2, 3).TryFilter(func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil }))
	// Output: 1 3 → <nil>
}

func ExampleStream_MapErr() {
	show(stream.Fail[int](errors.New("reset")).MapErr(func(err error) error { return fmt.Errorf("feed: %w", err) }))
	// Output: → feed: reset
}

func ExampleStream_FlatMap() {
	sum := stream.Range(1, 4).FlatMap(2, func(v int) stream.Stream[int] { return stream.Of(v, 10*v) }).
		Reduce(0, func(sum, v int) int { return sum + v })
	show(sum)
	// Output: 110 → <nil>
}

func ExampleStream_ConcatMap() {
	show(stream.Of(1, 2).ConcatMap(func(v int) stream.Stream[int] { return stream.Of(v, 10*v) }))
	// Output: 1 10 2 20 → <nil>
}

func ExampleStream_SwitchMap() {
	show(stream.Of(1, 2).SwitchMap(func(v int) stream.Stream[int] {
		if v == 1 {
			return stream.Never[int]() // is cancelled when 2 comes
		}
		return stream.Of(v)
	}))
	// Output: 2 → <nil>
}

func ExampleStream_ExhaustMap() {
	dropped := make(chan struct{})
	values := stream.Of(1, 2).OnEnd(func(error) { close(dropped) })
	show(values.ExhaustMap(func(v int) stream.Stream[int] {
		return stream.FromFunc(func(context.Context) (int, error) { <-dropped; return v, nil })
	}))
	// Output: 1 → <nil>
}

func ExampleStream_Scan() {
	show(stream.Of(1, 2, 3).Scan(0, func(sum, v int) int { return sum + v }))
	// Output: 1 3 6 → <nil>
}

func ExampleStream_Reduce() {
	show(stream.Of("a", "b").Reduce(0, func(n int, s string) int { return n + len(s) }))
	// Output: 2 → <nil>
}

func ExampleStream_Count() {
	show(stream.Of("a", "b").Count())
	// Output: 2 → <nil>
}

func ExampleStream_First() {
	show(stream.Of("a", "b").First())
	// Output: a → <nil>
}

func ExampleStream_Last() {
	show(stream.Of("a", "b").Last())
	// Output: b → <nil>
}

func ExampleStream_DistinctBy() {
	show(stream.Of("a", "B", "b", "A").DistinctBy(strings.ToLower))
	// Output: a B → <nil>
}

func ExampleStream_DistinctUntilChangedBy() {
	show(stream.Of("a", "A", "b", "a").DistinctUntilChangedBy(strings.ToLower))
	// Output: a b a → <nil>
}

func ExampleStream_ZipWith() {
	show(stream.Of(1, 2, 3).ZipWith(stream.Of("a", "b"), func(n int, s string) string { return strings.Repeat(s, n) }))
	// Output: a bb → <nil>
}

func ExampleStream_ZipWith3() {
	show(stream.Of(1, 2).ZipWith3(stream.Of(10, 20), stream.Of(100, 200), func(a, b, c int) int { return a + b + c }))
	// Output: 111 222 → <nil>
}

func ExampleStream_CombineLatest3() {
	show(stream.Of(1).CombineLatest3(stream.Of(10), stream.Of(100), func(a, b, c int) int { return a + b + c }))
	// Output: 111 → <nil>
}

func ExampleStream_CombineLatest() {
	show(stream.Of(1).CombineLatest(stream.Of("a"), func(n int, s string) string { return fmt.Sprint(n, s) }))
	// Output: 1a → <nil>
}

func ExampleStream_WithLatestFrom() {
	show(stream.Of(1, 2).WithLatestFrom(stream.Of("a"), func(n int, s string) string { return fmt.Sprint(n, s) }))
	// Output: 1a 2a → <nil>
}

func ExampleStream_TakeUntil() {
	show(stream.Never[int]().TakeUntil(stream.Of("stop")))
	// Output: → <nil>
}

func ExampleStream_Sample() {
	come := make(chan struct{})
	values := stream.Of(1, 2, 3).OnEnd(func(error) { close(come) }).Concat(stream.Never[int]())
	show(values.Sample(stream.FromFunc(func(context.Context) (string, error) { <-come; return "now", nil })))
	// Output: 3 → <nil>
}

func ExampleStream_Batch() {
	show(stream.Range(1, 5).Batch[[]int](2, 0))
	// Output: [1 2] [3 4] [5] → <nil>
}

func ExampleStream_GroupBy() {
	show(stream.Of("apple", "avocado").GroupBy(
		func(s string) byte { return s[0] },
		func(letter byte, group stream.Stream[string]) stream.Stream[string] {
			return group.Count().Map(func(n int) string { return fmt.Sprintf("%c: %d", letter, n) })
		}))
	// Output: a: 2 → <nil>
}

func ExampleStream_Window() {
	show(stream.Range(1, 5).Window(2, 0, func(w stream.Stream[int]) stream.Stream[int] {
		return w.Reduce(0, func(sum, v int) int { return sum + v })
	}))
	// Output: 3 7 5 → <nil>
}

func ExampleStream_Share() {
	shared := stream.Of(1, 2, 3).Share()
	show(shared)
	// Output: 1 2 3 → <nil>
}

func ExampleStream_ShareN() {
	shared := stream.Of(1, 2, 3).ShareN(2)
	show(shared.ZipWith(shared, func(a, b int) int { return a + b }))
	// Output: 2 4 6 → <nil>
}

func ExampleStream_ShareReplay() {
	shared := stream.Of(1, 2, 3).ShareReplay(2)
	show(shared)
	show(shared) // not run again
	// Output:
	// 1 2 3 → <nil>
	// 2 3 → <nil>
}
