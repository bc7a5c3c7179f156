package streamtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/stream"
)

// ErrDiagram is the error of "#" in the diagrams of sources and of expectations. See [Source.Errors] and
// [Expectation.Error] for others.
var ErrDiagram = errors.New("the error # of a diagram")

// Source is a stream that records its subscriptions. It has the methods of its Stream:
//
//	src := streamtest.Cold[string](s, "--a--#")
//	streamtest.Expect(s, src.Retry(1)).ToBe("--a----a--#")
//	src.Subscriptions("^----!", "-----^----!")
type Source[T any] struct {
	stream.Stream[T] // each run of it is a subscription, from the call to its return

	session *Session
	from    time.Time

	mu     sync.Mutex
	runs   []marble.Subscription
	errs   []error
	failed int // number of runs that have failed with ErrDiagram
}

// Probe returns a Source that runs st, so that a test can check the times of its subscriptions.
func Probe[T any](s *Session, st stream.Stream[T]) *Source[T] {
	s.report.Helper()
	if st == nil {
		s.report.Fatalf("streamtest: Probe: the stream is nil")
	}
	src := &Source[T]{session: s, from: time.Now()}
	src.Stream = func(ctx context.Context, yield func(T) bool) (err error) {
		run := src.begin()
		defer func() { src.end(run, &err) }()
		return st(ctx, yield)
	}
	return src
}

// begin records a subscription and returns its number.
func (src *Source[T]) begin() int {
	src.mu.Lock()
	defer src.mu.Unlock()
	src.runs = append(src.runs, marble.Subscription{From: time.Since(src.from), Open: true})
	return len(src.runs) - 1
}

// end records the end of a subscription, and replaces its error.
func (src *Source[T]) end(run int, err *error) {
	src.mu.Lock()
	defer src.mu.Unlock()
	src.runs[run].To, src.runs[run].Open = time.Since(src.from), false
	if *err == ErrDiagram && len(src.errs) > 0 {
		*err = src.errs[min(src.failed, len(src.errs)-1)]
		src.failed++
	}
}

// Errors replaces ErrDiagram as the error of the source: the n-th run that would fail with it fails with the n-th of
// errs, and further runs with the last. It returns the source. Call it before the source is run.
func (src *Source[T]) Errors(errs ...error) *Source[T] {
	src.mu.Lock()
	defer src.mu.Unlock()
	src.errs = errs
	return src
}

// Subscriptions fails the test unless the subscriptions so far were those of the diagrams, in this order. "^" is the
// instant of the subscription and "!" the instant at which it was over, ended or cancelled; without "!" it still runs.
// The instant 0 is the one at which the source was made. A diagram without "^", such as "-", is no subscription, as in
// RxJS. Without diagrams, or only with such diagrams, there must have been no subscription.
func (src *Source[T]) Subscriptions(diagrams ...string) {
	s := src.session
	s.report.Helper()
	var want []marble.Subscription
	for _, text := range diagrams {
		w, err := marble.ParseSubscription(text)
		if err == nil && w.Never && !w.Open {
			err = fmt.Errorf("%q: there is no '^', which marks the subscription", text)
		}
		if err != nil {
			s.report.Fatalf("streamtest: Subscriptions: %v", err)
		}
		if !w.Never {
			want = append(want, w)
		}
	}
	s.bubble.Settle()
	src.mu.Lock()
	got := slices.Clone(src.runs)
	src.mu.Unlock()
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	if same < max(len(want), len(got)) {
		s.report.Errorf("streamtest: the subscriptions are not as expected, from number %d on:\n%s", same+1, marble.CompareSubscriptions(want, got))
	}
}
