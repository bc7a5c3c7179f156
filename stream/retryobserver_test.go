package stream_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Which methods of a RetryObserver are called, and when.
func TestRetryObserver(t *testing.T) {
	observe := func(src stream.Stream[int], ctx context.Context, use func(context.Context, stream.Stream[int]) error) []string {
		o := &observed{RetryHandler: handler(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			return f.Take(3).Delay(time.Second)
		})}
		_ = use(ctx, src.RetryWhen(o).Tap(func(v int) { o.notes = append(o.notes, "value") }))
		return o.notes
	}
	all := func(ctx context.Context, s stream.Stream[int]) error { return s.ForEach(ctx, func(int) {}) }
	for name, c := range map[string]struct {
		src  func() stream.Stream[int]
		use  func(context.Context, stream.Stream[int]) error
		want []string
	}{
		"a good end": {func() stream.Stream[int] { return stream.Of(1) }, all, []string{"value", "ended after 1: <nil>"}},
		"a value after failures": {
			func() stream.Stream[int] {
				return scripted(failing(numbered(1)), failing(numbered(2)), stream.Of(1, 2)).stream()
			}, all,
			[]string{"recovered from failure 2 by 2 after 2s", "value", "value", "ended after 3: <nil>"},
		},
		"no value after a failure": {
			func() stream.Stream[int] { return scripted(failing(numbered(1)), stream.Empty[int]()).stream() }, all,
			[]string{"recovered from failure 1 by 1 after 1s", "ended after 2: <nil>"},
		},
		"values before failures": {
			func() stream.Stream[int] {
				return scripted(failing(numbered(1), 1), failing(numbered(2), 2), stream.Empty[int]()).stream()
			}, all,
			[]string{"value", "recovered from failure 1 by 1 after 1s", "value", "recovered from failure 2 by 1 after 1s", "ended after 3: <nil>"},
		},
		"no end of it": {
			func() stream.Stream[int] { return failing(numbered(1)) }, all,
			[]string{"ended after 4: failure 1"},
		},
		"a permanent failure": {
			func() stream.Stream[int] {
				return scripted(failing(numbered(1)), failing(stream.Permanent(numbered(2)))).stream()
			}, all,
			[]string{"ended after 2: failure 2"},
		},
		"a consumer that stops": {
			func() stream.Stream[int] { return scripted(failing(numbered(1)), stream.Of(1, 2)).stream() },
			func(ctx context.Context, s stream.Stream[int]) error { return s.Take(1).ForEach(ctx, func(int) {}) },
			[]string{"recovered from failure 1 by 1 after 1s", "value", "ended after 2: <nil>"},
		},
		"a panic": {
			func() stream.Stream[int] { return scripted(failing(numbered(1)), stream.Of(1)).stream() },
			func(ctx context.Context, s stream.Stream[int]) (err error) {
				defer func() { recover() }()
				return s.ForEach(ctx, func(int) { panic("consumer") })
			},
			[]string{"recovered from failure 1 by 1 after 1s", "value"},
		},
		"cancelled in a wait": {
			func() stream.Stream[int] { return failing(numbered(1)) },
			func(ctx context.Context, s stream.Stream[int]) error {
				ctx, cancel := context.WithTimeoutCause(ctx, time.Second/2, errors.New("late"))
				defer cancel()
				return s.ForEach(ctx, func(int) {})
			},
			[]string{"ended after 1: late: after the failure: failure 1"},
		},
		"a good end once cancelled": {
			func() stream.Stream[int] {
				return scripted(failing(numbered(1)), func(ctx context.Context, _ func(int) bool) error { <-ctx.Done(); return nil }).stream()
			},
			func(ctx context.Context, s stream.Stream[int]) error {
				ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				return s.ForEach(ctx, func(int) {})
			},
			[]string{"ended after 2: <nil>"},
		},
	} {
		bubble(t, name, func(t *testing.T) {
			if got := observe(c.src(), t.Context(), c.use); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// The observer's context is the subscriber's, and is printed as that.
func TestRetryObserver_ItsContext(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 1)
	o := &contextNotes{RetryHandler: atOnce}
	_, _ = scripted(failing(numbered(1)), stream.Of(1)).stream().RetryWhen(o).Collect(ctx)
	if len(o.seen) != 2 {
		t.Fatalf("%d contexts", len(o.seen))
	}
	for _, c := range o.seen {
		if c.Value(key{}) != 1 || c.Err() != nil || c.Done() != ctx.Done() {
			t.Errorf("got %v", c)
		}
	}
}

type contextNotes struct {
	stream.RetryHandler
	seen []context.Context
}

func (c *contextNotes) Recovered(ctx context.Context, _ stream.Failure, _ int, _ time.Duration) {
	c.seen = append(c.seen, ctx)
}
func (c *contextNotes) Succeeded(int64) {}
func (c *contextNotes) Ended(ctx context.Context, _ int, _ error) {
	c.seen = append(c.seen, ctx)
}

func TestAttemptFrom_IsTheAttemptOfTheInnermostRetry(t *testing.T) {
	var got []int
	note := stream.FromFunc(func(ctx context.Context) (int, error) {
		got = append(got, stream.AttemptFrom(ctx))
		ctx.Done() // makes a context of the lazy one
		got = append(got, stream.AttemptFrom(ctx))
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		got = append(got, stream.AttemptFrom(child))
		return 0, numbered(1)
	})
	_, _ = note.Retry(1).Retry(1).Collect(t.Context())
	if want := []int{1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
