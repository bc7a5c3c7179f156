package stream_test

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

func TestTakeWhile_EndsAtTheFirstThatDoesNotHold(t *testing.T) {
	asked := 0
	s := stream.Of(1, 2, 3, 1).Concat(stream.Fail[int](errBoom)).TakeWhile(func(v int) bool { asked++; return v < 3 })
	expect(t, s, []int{1, 2}, nil)
	if asked != 3 {
		t.Errorf("f was asked %d times, want 3", asked)
	}
}

// What a source returns after TakeWhile has ended is dropped.
func TestTakeWhile_WhatTheSourceReturnsThen(t *testing.T) {
	failing := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
		yield(1)
		return errBoom
	})
	expect(t, failing.TakeWhile(func(int) bool { return false }), nil, nil)
	expect(t, failing.TakeWhile(func(int) bool { return true }), []int{1}, errBoom)
}
