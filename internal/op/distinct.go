package op

import "context"

// Distinct is operators.DistinctBy under the name of operator.
func Distinct[T any, K comparable](p Package, operator string, s Stream[T], key func(T) K) Stream[T] {
	require(p, operator, s, "key", key == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		seen := make(map[K]struct{})
		return s(ctx, func(v T) bool {
			known := len(seen)
			seen[key(v)] = struct{}{}
			return len(seen) == known || yield(v)
		})
	}
}

// DistinctUntilChanged is operators.DistinctUntilChangedBy under the name of operator.
func DistinctUntilChanged[T any, K comparable](p Package, operator string, s Stream[T], key func(T) K) Stream[T] {
	require(p, operator, s, "key", key == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		var last K
		some := false
		return s(ctx, func(v T) bool {
			k := key(v)
			if some && k == last {
				return true
			}
			last, some = k, true
			return yield(v)
		})
	}
}
