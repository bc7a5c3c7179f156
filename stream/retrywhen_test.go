package stream_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// script is a source that plays one run after the other, and says what became of each.
type script struct {
	runs     []stream.Stream[int]
	started  int
	running  int
	overlaps int
	contexts []context.Context
}

func (s *script) stream() stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		if s.running > 0 {
			s.overlaps++
		}
		for _, earlier := range s.contexts {
			if earlier.Err() == nil {
				s.overlaps++
			}
		}
		run := s.runs[min(s.started, len(s.runs)-1)]
		s.started++
		s.running++
		s.contexts = append(s.contexts, ctx)
		defer func() { s.running-- }()
		return run(ctx, yield)
	}
}

func scripted(runs ...stream.Stream[int]) *script { return &script{runs: runs} }

// failing delivers the values and fails.
func failing(err error, values ...int) stream.Stream[int] {
	return stream.FromSlice(values).Concat(stream.Fail[int](err))
}

func handler(f func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure]) stream.RetryHandler {
	return stream.RetryHandlerFunc(f)
}

// atOnce answers every failure at once.
var atOnce = handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return failures })

// answering is a handler whose stream is what f does with the failures.
func answering(f func(ctx context.Context, failures stream.Stream[stream.Failure], yield func(stream.Failure) bool) error) stream.RetryHandler {
	return handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return func(ctx context.Context, yield func(stream.Failure) bool) error { return f(ctx, failures, yield) }
	})
}

// take answers n failures at once and ends.
func take(n int) stream.RetryHandler {
	return handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return failures.Take(n) })
}

// numbered is an error of its own for each attempt.
type numbered int

func (n numbered) Error() string { return fmt.Sprintf("failure %d", int(n)) }

// numberedFailures fails every time with the next number, after having delivered it.
func numberedFailures() stream.Stream[int] {
	n := 0
	return func(_ context.Context, yield func(int) bool) error {
		n++
		if !yield(n) {
			return nil
		}
		return numbered(n)
	}
}

func TestRule1_NilOnlyAfterAGoodEndOrAStop(t *testing.T) {
	bad := errors.New("bad")
	t.Run("a good end", func(t *testing.T) {
		got, err := scripted(failing(bad, 1), stream.Of(2, 3)).stream().RetryWhen(atOnce).Collect(t.Context())
		if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("got %v, %v; want [1 2 3], nil", got, err)
		}
	})
	t.Run("the consumer stops", func(t *testing.T) {
		got, err := numberedFailures().RetryWhen(atOnce).Take(3).Collect(t.Context())
		if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("got %v, %v; want [1 2 3], nil", got, err)
		}
	})
	t.Run("the handler ends without an answer", func(t *testing.T) {
		_, err := failing(bad, 1).RetryWhen(take(0)).Collect(t.Context())
		if err != bad {
			t.Errorf("got %v, want the failure itself", err)
		}
	})
}

func TestRetryWhen_AHandlerThatDoesNotStopWhenToldIsNotWaitedFor(t *testing.T) {
	deaf := answering(func(ctx context.Context, failures stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
		return failures(ctx, func(f stream.Failure) bool { yield(f); return true })
	})
	bubble(t, "a good end", func(t *testing.T) {
		expect(t, scripted(failing(numbered(1), 1), stream.Of(2)).stream().RetryWhen(deaf), []int{1, 2}, nil)
	})
	bubble(t, "the consumer stops", func(t *testing.T) {
		expect(t, numberedFailures().RetryWhen(deaf).Take(2), []int{1, 2}, nil)
	})
	bubble(t, "a permanent error", func(t *testing.T) {
		expect(t, scripted(failing(numbered(1), 1), stream.Fail[int](stream.Permanent(errBoom))).stream().RetryWhen(deaf), []int{1}, errBoom)
	})
}

func TestRule2_TheLastRetryRunsInFull(t *testing.T) {
	got, err := numberedFailures().RetryWhen(take(3)).Collect(t.Context())
	if err != numbered(4) || !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("got %v, %v; want four attempts and the last one's error", got, err)
	}
	got, err = scripted(failing(numbered(1), 1), failing(numbered(2), 2), stream.Of(3, 4, 5)).stream().
		RetryWhen(take(2)).Collect(t.Context())
	if err != nil || !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
		t.Errorf("got %v, %v; want the second retry in full", got, err)
	}
}

func TestRule3_AHandlersErrorKeepsTheSources(t *testing.T) {
	stop := errors.New("enough")
	refuse := func(wrap func(error) error) stream.RetryHandler {
		return answering(func(ctx context.Context, failures stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
			var last error
			_ = failures(ctx, func(f stream.Failure) bool {
				last = f.Err
				return yield(f) && f.N < 2
			})
			return wrap(last)
		})
	}
	_, err := numberedFailures().RetryWhen(refuse(func(error) error { return stop })).Collect(t.Context())
	if !errors.Is(err, stop) || !errors.Is(err, numbered(3)) {
		t.Errorf("got %v; want it to match the handler's error and failure 3", err)
	}
	_, err = failing(stop).RetryWhen(refuse(func(last error) error { return last })).Collect(t.Context())
	if err != stop {
		t.Errorf("got %v; want the source's error without a wrapper", err)
	}
	var wrapped error
	_, err = failing(stop).RetryWhen(refuse(func(last error) error {
		wrapped = fmt.Errorf("given up: %w", last)
		return wrapped
	})).Collect(t.Context())
	if err != wrapped {
		t.Errorf("got %v; want the handler's own wrapper and no second one", err)
	}
}

// uncomparable panics when it is compared with ==.
type uncomparable struct{ detail any }

func (uncomparable) Error() string { return "uncomparable" }

func TestRule3_ErrorsThatCannotBeCompared(t *testing.T) {
	stop := errors.New("enough")
	source := stream.Fail[int](uncomparable{[]int{1}})
	_, err := source.RetryWhen(handler(func(stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return stream.Fail[stream.Failure](uncomparable{[]int{2}})
	})).Collect(t.Context())
	if _, ok := errors.AsType[uncomparable](err); !ok {
		t.Errorf("got %v; want an uncomparable", err)
	}
	_, err = source.RetryWhen(handler(func(stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return stream.Fail[stream.Failure](stop)
	})).Collect(t.Context())
	if !errors.Is(err, stop) {
		t.Errorf("got %v; want %v", err, stop)
	}
}

// answeringAll yields the given answers for each failure it receives.
func answeringAll(answers func(f stream.Failure) []stream.Failure) stream.RetryHandler {
	return answering(func(ctx context.Context, failures stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
		return failures(ctx, func(f stream.Failure) bool {
			for _, a := range answers(f) {
				if !yield(a) {
					return false
				}
			}
			return f.N < 3
		})
	})
}

func TestRule4_OneAnswerOneAttempt(t *testing.T) {
	number := func(n int) stream.Failure { return stream.Failure{N: n} }
	for _, test := range []struct {
		name     string
		answers  func(f stream.Failure) []stream.Failure
		attempts int
	}{
		{"its number", func(f stream.Failure) []stream.Failure { return []stream.Failure{f} }, 4},
		{"zero", func(stream.Failure) []stream.Failure { return []stream.Failure{{}} }, 4},
		{"twice its number", func(f stream.Failure) []stream.Failure { return []stream.Failure{f, f} }, 4},
		{"twice zero", func(stream.Failure) []stream.Failure { return []stream.Failure{{}, {}} }, 4},
		{"a later number, then its own", func(f stream.Failure) []stream.Failure { return []stream.Failure{number(f.N + 1), f} }, 4},
		{"an earlier number, then its own", func(f stream.Failure) []stream.Failure { return []stream.Failure{number(f.N - 2), f} }, 4},
		{"never its own", func(f stream.Failure) []stream.Failure { return []stream.Failure{number(f.N + 7), number(-1)} }, 1},
	} {
		bubble(t, test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without its own the handler waits for a second failure, forever
			defer cancel()
			got, err := numberedFailures().RetryWhen(answeringAll(test.answers)).Collect(ctx)
			if len(got) != test.attempts || !errors.Is(err, numbered(test.attempts)) {
				t.Errorf("got %d attempts and %v, want %d and failure %[3]d", len(got), err, test.attempts)
			}
		})
	}
}

func TestRule4_ARunBeginsWithTheUnansweredFailure(t *testing.T) {
	// Four runs one after the other, each for one failure.
	oneByOne := handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		one := failures.Take(1)
		return one.Concat(one, one, one)
	})
	got, err := numberedFailures().RetryWhen(oneByOne).Collect(t.Context())
	if len(got) != 5 || err != numbered(5) {
		t.Errorf("got %v, %v; want 5 attempts and failure 5", got, err)
	}
	// The first run does not answer what it received: the second one begins with it.
	var seen []int
	handedOn := answering(func(ctx context.Context, failures stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
		note := func(f stream.Failure) { seen = append(seen, f.N) }
		_ = failures(ctx, func(f stream.Failure) bool { note(f); return false })
		_ = failures(ctx, func(f stream.Failure) bool { note(f); return yield(f) && f.N < 2 })
		return failures(ctx, func(f stream.Failure) bool { note(f); return false })
	})
	if _, err = numberedFailures().RetryWhen(handedOn).Collect(t.Context()); err != numbered(3) {
		t.Errorf("got %v, want failure 3", err)
	}
	if want := []int{1, 1, 2, 3}; !slices.Equal(seen, want) {
		t.Errorf("the runs received %v, want %v", seen, want)
	}
}

func TestRule4_RunsSideBySideEachGetEveryFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[string][]int{}
		note := func(name string) func(stream.Failure) {
			return func(f stream.Failure) { mu.Lock(); seen[name] = append(seen[name], f.N); mu.Unlock() }
		}
		both := handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			quick := failures.Tap(note("quick")).Delay(time.Second)
			slow := failures.Tap(note("slow")).Delay(2500 * time.Millisecond)
			return quick.Merge(slow)
		})
		start := time.Now()
		var at []time.Duration
		source := stream.Defer(func(context.Context) stream.Stream[int] {
			if at = append(at, time.Since(start)); len(at) == 9 {
				return stream.Of(1)
			}
			return stream.Fail[int](numbered(len(at)))
		})
		if _, err := source.RetryWhen(both).Collect(t.Context()); err != nil {
			t.Error(err)
		}
		if want := []time.Duration{0, 1e9, 2e9, 3e9, 4e9, 5e9, 6e9, 7e9, 8e9}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v: a stale answer must start none", at, want)
		}
		mu.Lock()
		defer mu.Unlock()
		if quick, slow := []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{1, 2, 3, 4}; !slices.Equal(seen["quick"], quick) || !slices.Equal(seen["slow"], slow) {
			t.Errorf("the runs received %v, want each failure in each, in order", seen)
		}
	})
}

func TestRule5_AttemptsRunOnTheSubscribersGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on []int
		source := stream.Defer(func(context.Context) stream.Stream[int] {
			on = append(on, virtual.Current().ID)
			return stream.Fail[int](numbered(len(on)))
		})
		elsewhere := handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			return failures.Take(5).Buffer(2).Merge(stream.Never[stream.Failure]().Timeout(time.Hour).Catch(func(error) stream.Stream[stream.Failure] {
				return stream.Empty[stream.Failure]()
			}))
		})
		_, err := source.RetryWhen(elsewhere).Collect(t.Context())
		if !errors.Is(err, numbered(6)) {
			t.Errorf("got %v, want failure 6", err)
		}
		for i, id := range on {
			if id != virtual.Current().ID {
				t.Errorf("attempt %d ran on goroutine %d, the subscriber is on %d", i+1, id, virtual.Current().ID)
			}
		}
	})
}

func TestRule6_AnAttemptIsOverAndCancelledBeforeTheNext(t *testing.T) {
	s := scripted(failing(numbered(1), 1), failing(numbered(2), 2), failing(numbered(3)), stream.Of(4))
	if _, err := s.stream().RetryWhen(atOnce).Collect(t.Context()); err != nil {
		t.Error(err)
	}
	if s.started != 4 || s.overlaps != 0 {
		t.Errorf("%d attempts, %d overlaps; want 4 and 0", s.started, s.overlaps)
	}
	for i, ctx := range s.contexts {
		if ctx.Err() == nil {
			t.Errorf("the context of attempt %d is not cancelled", i+1)
		}
	}
}

func TestRule7_NothingIsLeftWhenTheConsumerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails on a goroutine that is left
		s := scripted(failing(numbered(1), 1), failing(numbered(2), 2))
		var delays int
		waiting := handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			return failures.Tap(func(stream.Failure) { delays++ }).Delay(time.Second).Merge(stream.Never[stream.Failure]())
		})
		got, err := s.stream().RetryWhen(waiting).Take(2).Collect(t.Context())
		if err != nil || !slices.Equal(got, []int{1, 2}) {
			t.Errorf("got %v, %v; want [1 2], nil", got, err)
		}
		if s.started != 2 || delays != 1 {
			t.Errorf("%d attempts and %d waits, want 2 and 1", s.started, delays)
		}
	})
}

func TestRule8_CancellationIsNotRetried(t *testing.T) {
	reason := errors.New("going home")
	bubble(t, "in an attempt", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		s := scripted(failing(numbered(1)), stream.Never[int]())
		_, err := s.stream().RetryWhen(atOnce).Collect(ctx)
		if s.started != 2 || !errors.Is(err, reason) || !errors.Is(err, numbered(1)) {
			t.Errorf("%d attempts, %v; want 2 and the cause with failure 1", s.started, err)
		}
	})
	bubble(t, "in a wait", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(reason) })
		start := time.Now()
		_, err := stream.Fail[int](numbered(1)).RetryWhen(handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			return failures.Delay(time.Hour)
		})).Collect(ctx)
		if !errors.Is(err, reason) || !errors.Is(err, numbered(1)) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v; want the cause with failure 1 after 1s", err, time.Since(start))
		}
	})
	t.Run("as the source fails of its own", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		runs := 0
		_, err := stream.Stream[int](func(context.Context, func(int) bool) error {
			runs++
			if runs == 2 {
				cancel(reason)
			}
			return numbered(runs)
		}).RetryWhen(atOnce).Collect(ctx)
		if runs != 2 || !errors.Is(err, reason) || !errors.Is(err, numbered(2)) {
			t.Errorf("%d attempts, %v; want 2 and the cause with failure 2", runs, err)
		}
	})
	t.Run("the first attempt", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(reason)
		_, err := stream.Never[int]().RetryWhen(atOnce).Collect(ctx)
		if !errors.Is(err, reason) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

func TestRule9_APanicThatTheSourceRecoversIsNotRetried(t *testing.T) {
	runs := 0
	source := stream.Stream[int](func(_ context.Context, yield func(int) bool) (err error) {
		runs++
		defer func() { err = fmt.Errorf("recovered: %v", recover()) }()
		yield(1)
		return nil
	})
	err := source.RetryWhen(atOnce)(t.Context(), func(int) bool { panic("boom") })
	if runs != 1 || err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("%d attempts, %v; want one and an error that says boom", runs, err)
	}
}

func TestRule9_APanicThatTheHandlerRecoversIsNotRetried(t *testing.T) {
	for name, goesOn := range map[string]bool{"and waits for the next failure": true, "and ends": false} {
		bubble(t, name, func(t *testing.T) {
			runs := 0
			source := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				runs++
				yield(runs)
				return errors.New("cut")
			})
			recovering := answering(func(ctx context.Context, failures stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
				return failures(ctx, func(f stream.Failure) (more bool) {
					defer func() { more = recover() == nil || goesOn }()
					return yield(f) || goesOn && yield(f)
				})
			})
			err := source.RetryWhen(recovering)(t.Context(), func(v int) bool {
				if v == 2 {
					panic("boom")
				}
				return true
			})
			if runs != 2 || err == nil || !strings.Contains(err.Error(), "panic") {
				t.Errorf("%d attempts, %v; want two and an error that says panic", runs, err)
			}
		})
	}
}

func TestRule10_TheContextIsLookedAtEveryTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	source := stream.Stream[int](func(context.Context, func(int) bool) error {
		if runs++; runs == 1000 {
			cancel()
		}
		return numbered(runs)
	})
	_, err := source.RetryWhen(atOnce).Collect(ctx)
	if runs != 1000 || !errors.Is(err, context.Canceled) || !errors.Is(err, numbered(1000)) {
		t.Errorf("%d attempts, %v; want 1000, cancelled, with failure 1000", runs, err)
	}
}

func TestRule11_SubscriptionsShareNothing(t *testing.T) {
	retried := stream.Defer(func() func(context.Context) stream.Stream[int] {
		return func(ctx context.Context) stream.Stream[int] { return failing(numbered(1), 1) }
	}()).RetryWhen(take(2))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				got, err := retried.Collect(t.Context())
				if err != numbered(1) || len(got) != 3 {
					t.Errorf("got %v, %v; want three attempts for each", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRule12_TheHandlerIsFirstRunAtTheFirstFailure(t *testing.T) {
	handled, ran := 0, 0
	lazy := handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		handled++
		return func(ctx context.Context, yield func(stream.Failure) bool) error {
			ran++
			return failures(ctx, yield)
		}
	})
	if _, err := stream.Of(1).RetryWhen(lazy).Collect(t.Context()); err != nil || handled+ran != 0 {
		t.Errorf("%v; handled %d times, run %d times, without a failure", err, handled, ran)
	}
	s := scripted(failing(numbered(1)), failing(numbered(2)), stream.Of(1))
	if _, err := s.stream().RetryWhen(lazy).Collect(t.Context()); err != nil || handled != 1 || ran != 1 {
		t.Errorf("%v; handled %d times, run %d times, want once each", err, handled, ran)
	}
}

func TestRule13_PermanentErrorsEndIt(t *testing.T) {
	bad := errors.New("no such user")
	marked := stream.Permanent(bad)
	s := scripted(failing(numbered(1)), failing(marked))
	if _, err := s.stream().RetryWhen(atOnce).Collect(t.Context()); err != marked || s.started != 2 {
		t.Errorf("got %v after %d attempts, want the error itself after 2", err, s.started)
	}
	outer := scripted(failing(marked)).stream().RetryWhen(atOnce)
	if _, err := outer.RetryWhen(handler(func(stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		t.Error("an outer RetryWhen handles it")
		return nil
	})).Collect(t.Context()); err != marked || !errors.Is(err, bad) || err.Error() != bad.Error() {
		t.Errorf("got %v, want the error itself from both", err)
	}
	wrapped := fmt.Errorf("loading: %w", stream.Permanent(bad))
	if _, err := stream.Fail[int](wrapped).RetryWhen(atOnce).Collect(t.Context()); err != wrapped {
		t.Errorf("got %v, want the wrapping error as it is", err)
	}
	if stream.Permanent(nil) != nil {
		t.Error("Permanent(nil) is not nil")
	}
}

// Once an attempt has delivered a value, no later error contains an older failure.
func TestRule8_AnOutageThatIsOverIsBlamedForNothing(t *testing.T) {
	reason := errors.New("going home")
	deliver := func(then stream.Stream[int]) stream.Stream[int] { return stream.Of(1).Concat(then) }
	for name, test := range map[string]struct {
		attempts []stream.Stream[int]
		want     error
	}{
		"cancelled in the attempt":       {[]stream.Stream[int]{failing(stream.ErrTimeout), deliver(stream.Never[int]())}, reason},
		"cancelled in the wait after it": {[]stream.Stream[int]{failing(numbered(1)), deliver(failing(numbered(2)))}, reason},
		"not restartable":                {[]stream.Stream[int]{failing(numbered(1)), deliver(failing(stream.ErrNotRestartable))}, stream.ErrNotRestartable},
	} {
		for _, stopped := range []string{"", ", the end as the observer sees it"} {
			bubble(t, name+stopped, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(90*time.Second, func() { cancel(reason) })
				o := &observed{RetryHandler: handler(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return f.Delay(time.Minute) })}
				_, err := scripted(test.attempts...).stream().RetryWhen(o).Collect(ctx)
				if stopped != "" {
					err = o.err
				}
				if !errors.Is(err, test.want) || errors.Is(err, numbered(1)) || errors.Is(err, stream.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want %v without the first failure", err, test.want)
				}
			})
		}
	}
}

// observed is an attempt.Observer that notes its calls.
type observed struct {
	stream.RetryHandler
	early bool
	items []int64 // of the ends
	notes []string
	err   error
}

func init() {
	attempt.ObserverOf = func(handler any) (attempt.Observer, bool) {
		o, _ := handler.(attempt.Observer)
		return o, false
	}
}

func (o *observed) Early() bool { return o.early }

func (o *observed) Observe(s *attempt.Subscription) attempt.Observation {
	s.Observe(o)
	return o
}

func (o *observed) Next(*attempt.Attempt) error { panic("the handler's stream decides") }

func (o *observed) Once(_ *attempt.Subscription, only attempt.Attempt, err error) {
	o.notes = append(o.notes, "once")
	o.Over(only, err)
}

func (o *observed) Count(f *attempt.Attempt) {
	o.notes = append(o.notes, fmt.Sprintf("%v is number %d", f.Err, f.N))
}

func (o *observed) Begins() {
	if o.early {
		o.notes = append(o.notes, "begins")
	}
}

func (o *observed) Works() { o.notes = append(o.notes, "works") }

func (o *observed) Over(last attempt.Attempt, err error) {
	if err == attempt.ErrPanic {
		o.notes = append(o.notes, "aborted")
		return
	}
	if last.Reported {
		last.Items = 0 // they were counted with the failure
	}
	o.items, o.err = append(o.items, last.Items), err
	o.notes = append(o.notes, fmt.Sprintf("ended after %d: %v", last.N, err))
}

// The values of an attempt are reported once: with its failure, or with the end.
func TestRetryEnd_Items(t *testing.T) {
	o := &observed{RetryHandler: atOnce}
	_, _ = stream.Of(1, 2, 3).RetryWhen(o).Collect(t.Context())
	_, _ = scripted(failing(numbered(1), 1), stream.Of(1, 2)).stream().RetryWhen(o).Collect(t.Context())
	_, _ = failing(stream.Permanent(numbered(1)), 1).RetryWhen(o).Collect(t.Context())
	_, _ = stream.Of(1, 2).RetryWhen(o).Take(1).Collect(t.Context())
	_, _ = failing(numbered(1), 1).RetryWhen(&observer{o, none}).Collect(t.Context())
	if want := []int64{3, 2, 1, 1, 0}; !reflect.DeepEqual(o.items, want) {
		t.Errorf("called for %v, want %v", o.items, want)
	}
}

// observer is a handler that another one observes.
type observer struct {
	*observed
	stream.RetryHandler
}

func (o *observer) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	return o.RetryHandler.Handle(failures)
}

var none = handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return failures.Take(0) })

func TestFailureTellsOfItsAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []stream.Failure
		noting := handler(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			return failures.Tap(func(f stream.Failure) { got = append(got, f) }).Delay(time.Minute)
		})
		s := scripted(failing(numbered(1), 1, 2).Delay(time.Second), failing(numbered(2)), stream.Of(1))
		slowConsumer := func(int) { time.Sleep(time.Second) }
		if err := s.stream().RetryWhen(noting).ForEach(t.Context(), slowConsumer); err != nil {
			t.Error(err)
		}
		want := []stream.Failure{
			{Err: numbered(1), N: 1, Items: 2, Lasted: 4 * time.Second},
			{Err: numbered(2), N: 2},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// A handler that yields more answers than there are failures, and does not look at what yield returns, starts no
// attempt after the end.
func TestRetryWhen_AnswersAfterTheEnd(t *testing.T) {
	reason := errors.New("going home")
	for name, test := range map[string]struct {
		second func(cancel context.CancelCauseFunc, yield func(int) bool) error // the second attempt
		want   []error
	}{
		"after a good end":   {func(context.CancelCauseFunc, func(int) bool) error { return nil }, nil},
		"after a stop":       {func(_ context.CancelCauseFunc, yield func(int) bool) error { yield(1); return nil }, nil},
		"after a permanent":  {func(context.CancelCauseFunc, func(int) bool) error { return stream.Permanent(errBoom) }, []error{errBoom}},
		"after a cancelling": {func(cancel context.CancelCauseFunc, _ func(int) bool) error { cancel(reason); return errBoom }, []error{reason, errBoom}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			runs := 0
			source := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				if runs++; runs == 1 {
					return numbered(1)
				}
				return test.second(cancel, yield)
			})
			eager := answering(func(_ context.Context, _ stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
				for i := range 3 {
					if more := yield(stream.Failure{}); more {
						t.Errorf("answer %d: yield returned true", i+1)
					}
				}
				return nil
			})
			err := source.RetryWhen(eager)(ctx, func(int) bool { return false })
			if runs != 2 {
				t.Errorf("%d attempts, want 2", runs)
			}
			for _, want := range test.want {
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			if test.want == nil && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

// An answer after the context has ended starts no attempt. The stream has the context's cause and the last failure,
// also if the handler returns no error.
func TestRetryWhen_AnAnswerAfterTheContextHasEnded(t *testing.T) {
	reason := errors.New("going home")
	for name, answers := range map[string]bool{"an answer": true, "an end": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			runs := 0
			source := stream.Stream[int](func(context.Context, func(int) bool) error { runs++; return numbered(runs) })
			late := answering(func(_ context.Context, _ stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
				cancel(reason)
				if answers && yield(stream.Failure{}) {
					t.Error("yield returned true")
				}
				return nil
			})
			err := source.RetryWhen(late)(ctx, func(int) bool { return true })
			if runs != 1 || !errors.Is(err, reason) || !errors.Is(err, numbered(1)) {
				t.Errorf("%d attempts, %v; want 1, and the cause with failure 1", runs, err)
			}
		})
	}
}

// A handler that has recovered a panic of an attempt starts no other one, whichever answers it gives.
func TestRetryWhen_AnswersAfterARecoveredPanic(t *testing.T) {
	runs, own := 0, error(nil)
	source := stream.Stream[int](func(context.Context, func(int) bool) error {
		if runs++; runs == 2 {
			panic("boom")
		}
		return numbered(runs)
	})
	recovering := answering(func(_ context.Context, _ stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
		for range 3 {
			func() {
				defer func() { _ = recover() }()
				yield(stream.Failure{})
			}()
		}
		return own
	})
	if _, err := source.RetryWhen(recovering).Collect(t.Context()); runs != 2 || err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("%d attempts, %v; want two and an error that says panic", runs, err)
	}
	runs, own = 0, errBoom
	if _, err := source.RetryWhen(recovering).Collect(t.Context()); runs != 2 || !errors.Is(err, errBoom) {
		t.Errorf("%d attempts, %v; want two and the handler's error", runs, err)
	}
}

// A run of the failures that ends does not end the others.
func TestRetryWhen_ARunThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		both := answering(func(ctx context.Context, failures stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
			return failures(ctx, func(f stream.Failure) bool {
				_, err := failures.Take(1).Collect(ctx) // another run, which ends
				return err == nil && yield(f)
			})
		})
		got, err := numberedFailures().RetryWhen(both).Take(3).Collect(ctx)
		if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("got %v, %v, want 3 attempts", got, err)
		}
	})
}

// The failures, run under a context that has ended, fail with its cause, as every stream does.
func TestRetryWhen_FailuresUnderAContextThatHasEnded(t *testing.T) {
	var got error
	under := answering(func(ctx context.Context, failures stream.Stream[stream.Failure], yield func(stream.Failure) bool) error {
		ended, cancel := context.WithCancelCause(ctx)
		cancel(errCause)
		got = failures(ended, yield)
		return nil
	})
	err := stream.Fail[int](errBoom).RetryWhen(under)(t.Context(), func(int) bool { return true })
	if !errors.Is(got, errCause) || !errors.Is(err, errBoom) {
		t.Errorf("the failures returned %v, the stream %v; want the cause, and the failure", got, err)
	}
}

// A run of the failures that begins during an attempt does not receive the failure that this attempt answers.
func TestRetryWhen_ARunThatBeginsDuringAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures stream.Stream[stream.Failure]
		runs := 0
		source := stream.Stream[int](func(ctx context.Context, _ func(int) bool) error {
			if runs++; runs == 1 {
				return errBoom
			}
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_ = failures.ForEach(ctx, func(f stream.Failure) { t.Errorf("received failure %d, which was answered", f.N) })
			return nil
		})
		expect(t, source.RetryWhen(handler(func(all stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			failures = all
			return all
		})), nil, nil)
	})
}
