package conformance_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// retry(predicate): an error that the predicate accepts is retried. RxJava (retry(Predicate)) and Reactor (filter) do
// the same. RxJS has no predicate: its delay function throws or returns EMPTY instead.
func TestPredicate_Yes(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		var asked []error
		policy := constant(2*ms, retry.If(func(err error) bool {
			asked = append(asked, err)
			return true
		}))
		src := streamtest.Cold[string](s, "-a#\n-b#\n-c|").Errors(errBoom, errCause)
		streamtest.Expect(s, src.RetryWhen(policy)).ToBe("-a---b---c|")
		if !slices.Equal(asked, []error{errBoom, errCause}) {
			t.Errorf("called with %v", asked)
		}
	})
}

// retry(biPredicate): the handler receives the numbers of the failures, 1, 2, 3. RxJava's BiPredicate and RxJS' delay
// function count from 1 too. Reactor's RetrySignal.totalRetries counts from 0.
func TestPredicate_SeesTheAttemptNumbers(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		var numbers []int
		policy := handler(func(f failures) failures {
			return f.TakeWhile(func(f stream.Failure) bool {
				numbers = append(numbers, f.N)
				return f.N < 3
			})
		})
		streamtest.Expect(s, streamtest.Cold[string](s, "-a#").RetryWhen(policy)).ToBe("-a-a-a#")
		if !slices.Equal(numbers, []int{1, 2, 3}) {
			t.Errorf("the numbers are %v", numbers)
		}
	})
}

// retry(predicate): the predicate panics. Here the panic reaches the caller of the stream, and nothing is left running.
// RxJava passes a CompositeException of both errors to the subscriber, RxJS and Reactor the error that was thrown.
func TestPredicate_Panics(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#")
		policy := constant(ms, retry.If(func(error) bool { panic("what an error") }))
		check.Panics(t, "what an error", func() { _, _ = src.RetryWhen(policy).Collect(s.Context()) })
		src.Subscriptions("^-!")
	})
}

// retryWhen: the notifier emits some time after the error. Only then the source is subscribed to again. RxJava, RxJS
// and Reactor do the same.
func TestHandler_Delays(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#\n-b#\n-c|")
		streamtest.Expect(s, src.RetryWhen(again(3*ms))).ToBe("-a----b----c|")
		src.Subscriptions("^-!", "-----^-!", "----------^-!")
	})
}

// retryWhen: a notifier that drops an error (filter) waits for the next one. That never comes, because nothing
// subscribes again. RxJava, RxJS and Reactor do the same.
func TestHandler_DropsAFailure(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#")
		dropsTheSecond := handler(func(f failures) failures {
			return f.Filter(func(f stream.Failure) bool { return f.N != 2 })
		})
		streamtest.Expect(s, src.RetryWhen(dropsTheSecond)).ToBe("-a-a 10s -")
		src.Subscriptions("^-!", "--^-!")
	})
}

// retryWhen: a notifier merges in an external signal, "the network is back", and retries at once when it comes. Here
// and in RxJava's Observable, a signal that comes while an attempt runs is ignored. RxJS then subscribes once more,
// while the attempt runs. Reactor and RxJava's Flowable request one signal for each error, so an early signal can
// answer the next error.
func TestHandler_MergesAnExternalSignal(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "----#\n-a|")
		online := streamtest.Hot[string](s, "-x----x-x-")
		signal := operators.Map(online.Stream, func(string) stream.Failure { return stream.Failure{} })
		impatient := handler(func(f failures) failures { return f.Delay(time.Hour).Merge(signal) })
		streamtest.Expect(s, src.RetryWhen(impatient)).ToBe("-------a|")
		src.Subscriptions("^---!", "------^-!")
	})
}

// retryWhen: the notifier completes. Its earlier answer still counts: the attempt runs in full, and if it fails, the
// result is its error. RxJava, RxJS and Reactor complete the result at once, dispose the running attempt, and lose the
// error. That is why the published idiom, zip with a range, loses its last retry.
func TestHandler_EndsEarly(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#\n-b-----#")
		once := handler(func(f failures) failures { return f.Take(1) })
		streamtest.Expect(s, src.RetryWhen(once)).ToBe("-a-b-----#")
		src.Subscriptions("^-!", "--^------!")

		none := handler(func(failures) failures { return stream.Empty[stream.Failure]() })
		streamtest.Expect(s, streamtest.Cold[string](s, "-a#").RetryWhen(none)).ToBe("-a#")
		streamtest.Expect(s, streamtest.Cold[string](s, "-a|").RetryWhen(none)).ToBe("-a|")
	})
}

// retryWhen: the notifier fails. Its error is the result, and wraps the source's last error. RxJava, RxJS and Reactor
// drop the source's error.
func TestHandler_Fails(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		fails := handler(func(f failures) failures { return f.Take(1).Concat(stream.Fail[stream.Failure](errBoom)) })
		for _, target := range []error{errBoom, streamtest.ErrDiagram} {
			streamtest.Expect(s, streamtest.Cold[string](s, "-a#").RetryWhen(fails)).Error(target).ToBe("-a-a#")
		}
	})
}

// retryWhen: the notifier emits twice for one error. The second value is ignored: one error, one subscription. RxJava's
// Observable ignores it too while an attempt runs. Its Flowable and Reactor request one signal for each error, so the
// second value answers the next error. RxJS subscribes a second time, while the first subscription runs.
func TestHandler_AnswersTwice(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#\n-b--#\n-c|")
		twice := handler(func(f failures) failures {
			return operators.FlatMap(f, 2, func(f stream.Failure) failures {
				return stream.Of(f).Merge(stream.Of(f).Delay(2 * ms))
			})
		})
		streamtest.Expect(s, src.RetryWhen(twice)).ToBe("-a-b---c|")
		src.Subscriptions("^-!", "--^---!", "------^-!")
	})
}

// retryWhen: while a later error waits, the notifier answers an error that was answered before. The value has the
// number of its failure, so it is ignored: no stale answer starts an attempt. In RxJava, RxJS and Reactor it would
// start one.
func TestHandler_AnswersLate(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#\n-b#\n-c|")
		late := handler(func(f failures) failures {
			return operators.FlatMap(f, 9, func(f stream.Failure) failures {
				if f.N == 1 {
					return stream.Of(f).Concat(stream.Of(f).Delay(4 * ms)) // the second one comes at 6
				}
				return stream.Of(f).Delay(10 * ms)
			})
		})
		streamtest.Expect(s, src.RetryWhen(late)).ToBe("-a-b-----------c|")
		src.Subscriptions("^-!", "--^-!", "--------------^-!")
	})
}

// retryWhen: the handler returns a nil observable. RxJava, RxJS and Reactor fail with an error too.
func TestHandler_ReturnsNil(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		none := handler(func(failures) failures { return nil })
		streamtest.Expect(s, streamtest.Cold[string](s, "-a#").RetryWhen(none)).ToBe("-a#")
		_, err := streamtest.Cold[string](s, "-a#").RetryWhen(none).Collect(s.Context())
		if want := "stream: RetryWhen: the handler returned a nil stream"; err == nil || err.Error()[:len(want)] != want {
			t.Errorf("got %v", err)
		}
	})
}

// retryWhen: the notifier ignores the errors, interval(5). Each tick retries if an attempt has failed by then. In
// RxJava's Observable a tick while an attempt runs has no effect either, in RxJS it subscribes once more. RxJava's
// Flowable and Reactor request one tick for each error, and an interval without requests fails with an overflow.
func TestHandler_ThatNeverLooksAtTheFailures(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#\n-b------#\n-c|")
		ticks := func(failures) stream.Stream[time.Time] { return stream.Interval(5 * ms) }
		// The first failure is at 2, and the ticks begin there: 7, 12, 17, 22.
		streamtest.Expect(s, operators.RetryWhen(src.Stream, ticks)).ToBe("-a------b---------c|")
		src.Subscriptions("^-!", "-------^-------!", "-----------------^-!")
	})
}

// retry: an error that is marked as permanent, and a source that cannot run again, are not retried. The handler does
// not receive them. RxJava, RxJS and Reactor have no such mark: each retry needs a predicate.
func TestHandler_IsNotAskedAboutPermanentErrors(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		asked := handler(func(f failures) failures {
			t.Error("the handler is called")
			return f
		})
		streamtest.Expect(s, streamtest.Cold[string](s, "-a#").Errors(stream.Permanent(errBoom)).RetryWhen(asked)).
			Error(errBoom).ToBe("-a#")
		ch := make(chan string, 1)
		ch <- "a"
		close(ch)
		once := stream.FromChan(ch).MustNotEnd(errBoom).RetryWhen(again(0))
		_, err := once.Collect(s.Context())
		if !errors.Is(err, stream.ErrNotRestartable) || !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
	})
}

// retryWhen: the context ends while the handler works. Nothing is left running. RxJava, RxJS and Reactor dispose the
// notifier with the subscriber.
func TestHandler_IsCancelledWithItsSubscriber(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		notifier := streamtest.Probe(s, stream.Never[stream.Failure]())
		ctx, cancel := context.WithCancelCause(s.Context())
		time.AfterFunc(9*ms, func() { cancel(errCause) })
		h := handler(func(failures) failures { return notifier.Stream })
		_, err := streamtest.Cold[string](s, "-a#").RetryWhen(h).Collect(ctx)
		if !errors.Is(err, errCause) || !errors.Is(err, streamtest.ErrDiagram) {
			t.Errorf("got %v", err)
		}
		notifier.Subscriptions("--^------!")
	})
}
