package op

import (
	"context"
	"fmt"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// many is one run of several streams of one type, each on a goroutine of its own.
type many[T any] struct {
	in    *handoff.Receiver[T]
	all   []*handoff.Subscription[T]
	index map[*handoff.Subscription[T]]int
}

// ofMany is handoff.Stream for a run of the streams s, none of which may be nil. Without streams it is empty.
func ofMany[T, U any, S ~func(context.Context, func(T) bool) error](p Package, operator string, s []S, run func(in *many[T], out *ending.Consumer[U]) error) Stream[U] {
	streams := streamsOf[T](p, operator, s)
	if len(streams) == 0 {
		return func(ctx context.Context, _ func(U) bool) error { return ending.ContextError(ctx) }
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		m := &many[T]{in: handoff.NewReceiver[T](scope), index: make(map[*handoff.Subscription[T]]int, len(streams))}
		for i, s := range streams {
			m.all = append(m.all, m.in.Start(s))
			m.index[m.all[i]] = i
		}
		return run(m, out)
	})
}

// streamsOf returns a copy of s, whose streams must not be nil.
func streamsOf[T any, S ~func(context.Context, func(T) bool) error](p Package, operator string, s []S) []Stream[T] {
	streams := make([]Stream[T], len(s))
	for i := range s {
		p.NotNil(operator, fmt.Sprintf("s[%d]", i), s[i] == nil)
		streams[i] = Stream[T](s[i])
	}
	return streams
}

// next returns the next event, with the index of its stream.
func (m *many[T]) next() (int, handoff.Event[T], error) {
	event, err := m.in.Next()
	return m.index[event.From], event, err
}

// requestAll lets all streams continue.
func (m *many[T]) requestAll() {
	for _, s := range m.all {
		s.Request()
	}
}
