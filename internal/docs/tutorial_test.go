package docs_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// The code of tutorial.md, with its server.

var errReset, errRefused, errEnded = errors.New("connection reset"), errors.New("connection refused"), errors.New("the server ended the feed")

// server has ten events. Its first connection breaks after three, its second is refused, its third falls silent after
// two, its fourth ends after two without an error.
type server struct{ connections int }

func (s *server) connect(ctx context.Context, after int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		s.connections++
		n := map[int]int{1: 3, 2: 0, 3: 2, 4: 2}
		last, ok := n[s.connections]
		if !ok {
			last = 10
		}
		for id := after + 1; id <= min(10, after+last); id++ {
			if !yield(id, nil) {
				return
			}
		}
		switch s.connections {
		case 1:
			yield(0, errReset)
		case 2:
			yield(0, errRefused)
		case 3:
			<-ctx.Done()
			yield(0, ctx.Err())
		}
	}
}

func Example_tutorialCall() {
	ctx := context.Background()

	calls := 0
	fetch := func(ctx context.Context) (string, error) {
		if calls++; calls < 3 {
			return "", errRefused
		}
		return "a page", nil
	}
	policy := retry.New(backoff.Exponential(time.Millisecond, 2).Jitter(jitter.Full), retry.Limit(4))
	page, err := retry.Do(ctx, policy, fetch)
	fmt.Println(page, err, "after", calls, "calls")

	// Output: a page <nil> after 3 calls
}

func Example_tutorialStream() {
	ctx, server := context.Background(), &server{}

	feed := stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] { return server.connect(ctx, 0) })
	err := feed.ForEach(ctx, func(id int) { fmt.Println("event", id) })
	fmt.Println(err)

	// Output:
	// event 1
	// event 2
	// event 3
	// connection reset
}

func Example_tutorialRetryWhen() {
	ctx, server := context.Background(), &server{}

	policy := retry.New(backoff.Exponential(time.Millisecond, 2).Cap(30 * time.Millisecond).Jitter(jitter.Equal))
	feed := stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] { return server.connect(ctx, 0) }).RetryWhen(policy)
	ids, err := feed.Take(5).Collect(ctx)
	fmt.Println(ids, err)

	// Output:
	// [1 2 3 1 2] <nil>
}

func Example_tutorialResume() {
	ctx, server := context.Background(), &server{}
	policy := retry.New(backoff.Constant(time.Millisecond))

	open := func(last int) stream.Stream[int] {
		return stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] { return server.connect(ctx, last) })
	}
	after := func(last, id int) int { return id }
	feed := operators.Resume(0, open, after, policy)
	ids, err := feed.Take(5).Collect(ctx)
	fmt.Println(ids, err)

	// Output:
	// [1 2 3 4 5] <nil>
}

func Example_tutorialSilence() {
	ctx, server := context.Background(), &server{}
	policy := retry.New(backoff.Constant(time.Millisecond))
	after := func(last, id int) int { return id }

	open := func(last int) stream.Stream[int] {
		return stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] { return server.connect(ctx, last) }).
			Timeout(50 * time.Millisecond).
			MustNotEnd(errEnded)
	}
	ids, err := operators.Resume(0, open, after, policy).Take(10).Collect(ctx)
	fmt.Println(ids, err)

	// Output:
	// [1 2 3 4 5 6 7 8 9 10] <nil>
}

func Example_tutorialGivingUp() {
	ctx := context.Background()

	policy := retry.New(backoff.Constant(time.Millisecond),
		retry.Limit(2),
		retry.ResetAfterItems(1),
		retry.OnRetry(func(ctx context.Context, e retry.Event) { fmt.Printf("retry %d in %v: %v\n", e.N, e.Delay, e.Err) }))
	down := stream.Fail[int](errRefused).RetryWhen(policy)
	_, err := down.Collect(ctx)
	fmt.Println(errors.Is(err, retry.ErrLimit), errors.Is(err, errRefused))

	// Output:
	// retry 1 in 1ms: connection refused
	// retry 2 in 1ms: connection refused
	// true true
}

func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, start := &server{}, time.Now()
		open := func(last int) stream.Stream[int] {
			return stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] { return server.connect(ctx, last) }).
				Timeout(time.Minute).
				MustNotEnd(errEnded)
		}
		after := func(last, id int) int { return id }
		policy := retry.New(backoff.Exponential(time.Second, 2), retry.ResetAfterItems(1))
		ids, err := operators.Resume(0, open, after, policy).Take(10).Collect(t.Context())
		if err != nil || len(ids) != 10 {
			t.Errorf("got %v, %v", ids, err)
		}
		// 1 s after the reset, 2 s after the refusal, a minute of silence and 1 s, 1 s after the end
		if took := time.Since(start); took != time.Minute+5*time.Second {
			t.Errorf("it took %v, want 1m5s", took)
		}
	})
}
