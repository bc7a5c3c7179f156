package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// retry: the source completes on the k-th subscription. The values of failed subscriptions stay delivered. RxJava, RxJS
// and Reactor do the same.
func TestRetry_SourceCompletesOnTheKthSubscription(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, `
			--a--#
			--b--#
			--c--|`)
		streamtest.Expect(s, src.Retry(5)).ToBe("--a----b----c--|")
		src.Subscriptions("^----!", "-----^----!", "----------^----!")
	})
}

// retry: a source that completes at its first run, with values or empty, is subscribed to once, and the handler is not
// called. RxJS too calls its notifier at the first error. RxJava and Reactor call their handlers at the subscription.
func TestRetryWhen_EmptySource(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		asked := handler(func(failures) failures {
			t.Error("the handler is called")
			return nil
		})
		for _, diagram := range []string{"|", "---|", "--a--|"} {
			src := streamtest.Cold[string](s, diagram)
			streamtest.Expect(s, src.RetryWhen(asked)).ToBe(diagram)
		}
	})
}

// retry: a source that never does anything is subscribed to once, and cancelled with its subscriber. RxJava, RxJS and
// Reactor do the same.
func TestRetryWhen_NeverSource(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-----")
		streamtest.ExpectDuring(s, src.RetryWhen(again(0)), "^----!").ToBe("--------")
		src.Subscriptions("^----!")
	})
}

// retry(0): the first error is the result. RxJava, RxJS and Reactor do the same. Reactor's Retry.max(0) wraps the error
// in an exhausted error, as ExpBackoff with 0 retries does here ("limit of 0 retries").
func TestRetry_CountZero(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "--a--#")
		streamtest.Expect(s, src.Retry(0)).ToBe("--a--#")
		src.Subscriptions("^----!")

		policy := operators.ExpBackoff(jitter.None, time.Hour, 0)
		streamtest.Expect(s, streamtest.Cold[string](s, "--a--#").RetryWhen(policy)).Error(retry.ErrExhausted).ToBe("--a--#")
		streamtest.Expect(s, streamtest.Cold[string](s, "--a--#").RetryWhen(policy)).Error(streamtest.ErrDiagram).ToBe("--a--#")
	})
}

// repeat(0): empty, without a subscription; repeat(1) is the source. RxJava and RxJS do the same; Reactor's repeat(n)
// subscribes n + 1 times.
func TestRepeat_CountZero(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a|")
		streamtest.Expect(s, src.Repeat(0)).ToBe("|")
		src.Subscriptions()
		streamtest.Expect(s, src.Repeat(1)).ToBe("-a|")
		streamtest.Expect(s, streamtest.Cold[string](s, "-a|").Repeat(3)).ToBe("-a-a-a|")
	})
}

// retry: the cleanup of a failed subscription (finalize, doFinally) runs before the source is subscribed to again. RxJS
// does the same since version 7, also for synchronous sources. RxJava and Reactor run doFinally after onError: if the
// source fails asynchronously, that is after the new subscription, otherwise before it.
func TestRetry_CleanupBeforeTheNextSubscription(t *testing.T) {
	for name, test := range map[string]struct {
		diagram string
		want    []string
	}{
		"asynchronous": {"-#", []string{"0s begins 1", "1ms ends 1", "1ms begins 2", "2ms ends 2", "2ms begins 3", "3ms ends 3"}},
		"synchronous":  {"#", []string{"0s begins 1", "0s ends 1", "0s begins 2", "0s ends 2", "0s begins 3", "0s ends 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			streamtest.Run(t, func(s *session) {
				j := &journal{s: s}
				n := 0
				src := streamtest.Cold[string](s, test.diagram)
				resource := stream.Defer(func(ctx context.Context) text {
					n++
					j.note("begins %d", n)
					context.AfterFunc(ctx, func() {}) // the attempt's context ends too
					return src.OnEnd(func(error) { j.note("ends %d", n) })
				})
				streamtest.Expect(s, resource.Retry(2)).ToBe(test.diagram[:len(test.diagram)-1] + test.diagram[:len(test.diagram)-1] + test.diagram)
				j.expect(t, test.want...)
			})
		})
	}
}

// retry: the subscriber unsubscribes in the middle of a subscription. The source is disposed, and not subscribed to
// again. RxJava, RxJS and Reactor do the same.
func TestRetryWhen_ConsumerCancelsMidAttempt(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "--a--#")
		streamtest.ExpectDuring(s, src.RetryWhen(again(3*ms)), "^---------!").ToBe("--a-------")
		src.Subscriptions("^----!", "--------^-!")
	})
}

// retry: the subscriber unsubscribes while the handler waits. The source is not subscribed to again and the wait is
// disposed. RxJava, RxJS and Reactor do the same.
func TestRetryWhen_ConsumerCancelsMidWait(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		for name, h := range map[string]stream.RetryHandler{
			"handler": again(time.Hour),
			"policy":  constant(time.Hour),
		} {
			src := streamtest.Cold[string](s, "--a--#")
			e := streamtest.ExpectDuring(s, src.RetryWhen(h), "^--------!")
			e.ToBe("--a 10s -")
			src.Subscriptions("^----!")
			if t.Failed() {
				t.Log(name)
			}
		}
	})
}

// retry: the consumer stops (take) while the handler waits for the next attempt. Nothing continues. RxJava, RxJS and
// Reactor do the same.
func TestRetryWhen_ConsumerStopsMidWait(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#")
		stop := streamtest.Cold[string](s, "-----x")
		streamtest.Expect(s, operators.TakeUntil(src.RetryWhen(again(time.Hour)), stop.Stream)).ToBe("-a---|")
		src.Subscriptions("^-!")
	})
}

// retry, take(k): the k-th value comes in a subscription that would fail later. The result completes at that value.
// RxJava, RxJS and Reactor do the same.
func TestRetry_TakeIsSatisfiedInsideAnAttemptThatWouldFail(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "--a-b-c#")
		streamtest.Expect(s, src.Retry(9).Take(2)).ToBe("--a-(b|)")
	})
}

// retry: an error of the consumer is not a failure of the source. Here a consumer can only stop or panic. RxJava and
// Reactor cancel the source when the subscriber's onNext throws, and pass the error to the subscriber's onError. RxJS
// reports it asynchronously and continues. None of them retries.
func TestRetry_ConsumersErrorIsNoFailureOfTheSource(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "--a-b--#")
		use := func() error {
			for v, err := range src.Retry(9).All(s.Context()) {
				if err != nil {
					return err
				}
				if v == "b" {
					return errBoom // the consumer's own
				}
			}
			return nil
		}
		if err := use(); err != errBoom {
			t.Errorf("got %v", err)
		}
		src.Subscriptions("^---!")
	})
}

// retry: a panic of the consumer is not a failure of the source. It reaches the caller of the stream, and nothing is
// retried. For RxJava, RxJS and Reactor see the test above.
func TestRetry_ConsumersPanicIsNoFailureOfTheSource(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "--a-b--#")
		if v := check.Recovered(func() { _ = src.Retry(9).ForEach(s.Context(), func(string) { panic(errBoom) }) }); v != any(errBoom) {
			t.Errorf("recovered %v", v)
		}
		src.Subscriptions("^-!")
	})
}

// retry, timeout: a timeout before the retry is a failure like any other. RxJava, RxJS and Reactor do the same.
func TestRetry_TimeoutInsideIsRetried(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, `
			-a------
			-b-|`)
		streamtest.Expect(s, src.Timeout(3*ms).Retry(1)).ToBe("-a---b-|")
		src.Subscriptions("^---!", "----^--!")
	})
}

// retry, timeout: a deadline that the source sets for itself is a failure like any other, although its error is one of
// package context. RxJava, RxJS and Reactor have no counterpart.
func TestRetry_DeadlineInsideIsRetried(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		n := 0
		src := stream.FromFunc(func(ctx context.Context) (string, error) {
			if n++; n == 3 {
				return "a", nil
			}
			ctx, cancel := context.WithTimeout(ctx, 2*ms)
			defer cancel()
			<-ctx.Done()
			return "", ctx.Err()
		})
		streamtest.Expect(s, src.Retry(5)).ToBe("----(a|)")
	})
}

// Two subscribers of one retried observable each have their own subscriptions, and their own counts. RxJava, RxJS and
// Reactor do the same.
func TestRetry_TwoSubscribersAreIndependent(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a-#")
		retried := src.RetryWhen(retry.New(backoff.Linear(ms), retry.Limit(2)))
		first := streamtest.Expect(s, retried).Error(retry.ErrExhausted)
		second := streamtest.ExpectDuring(s, retried, "--^").Error(retry.ErrExhausted)
		first.ToBe("-a---a----a-#")
		second.ToBe("---a---a----a-#")
		src.Subscriptions("^--!", "--^--!", "----^--!", "------^--!", "---------^--!", "-----------^--!")
	})
}

// timeout, retry: one slow subscriber. The time that a subscriber takes for a value does not count: the timer for the
// next value starts when the subscriber is done. So a slow subscriber causes no timeout, and does not delay another
// one. RxJava, RxJS and Reactor start the timer after onNext too.
func TestRetry_OneSlowSubscriberWithTimeout(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a-b-|")
		retried := src.Timeout(3 * ms).Retry(3)
		fast := streamtest.Expect(s, retried)
		slow := streamtest.Expect(s, text(func(ctx context.Context, yield func(string) bool) error {
			return retried(ctx, func(v string) bool {
				wait(ctx, 10*ms)
				return yield(v)
			})
		}))
		fast.ToBe("-a-b-|")
		slow.ToBe("11ms a 9ms (b|)")
	})
}

// Nothing that belongs to a subscription outlives it. The journal of a source that is retried, repeated and cancelled
// has an end for each beginning. RxJava, RxJS and Reactor call this disposal.
func TestRetry_WhatBeginsEnds(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		begun, ended := 0, 0
		src := streamtest.Cold[string](s, "-a#")
		counted := stream.Defer(func(context.Context) text {
			begun++
			return src.OnEnd(func(error) { ended++ })
		})
		streamtest.ExpectDuring(s, counted.Retry(2).Catch(func(error) text { return stream.Empty[string]() }).Repeat(4), "------------!").
			ToBe("-a-a-a-a-a-a")
		if begun != 6 || ended != begun {
			t.Errorf("%d begun, %d ended, want 6 and 6", begun, ended)
		}
	})
}
