package conformance_test

import (
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// retry().repeat(): each repetition has its own retries. RxJava and RxJS do the same, Reactor with repeat(1) for two
// runs.
func TestRepeatOverRetry(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#\n-b|\n-c#\n-d|")
		streamtest.Expect(s, src.Retry(1).Repeat(2)).ToBe("-a-b-c-d|")
		src.Subscriptions("^-!", "--^-!", "----^-!", "------^-!")
	})
}

// repeat().retry(): a failure in any repetition restarts all of them. RxJava and RxJS do the same, Reactor with
// repeat(1) for two runs.
func TestRetryOverRepeat(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a|\n-b#\n-c|\n-d|\n-e|")
		streamtest.Expect(s, src.Repeat(2).Retry(1)).ToBe("-a-b-c-d|")
		streamtest.Expect(s, streamtest.Cold[string](s, "-a#\n-b|\n-c#\n-d|").Repeat(2).Retry(1)).ToBe("-a-b-c#")
	})
}

// merge().retry(): the error of one source disposes the others, and all are subscribed to again. RxJava, RxJS and
// Reactor do the same.
func TestRetryOverMerge(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		a := streamtest.Cold[string](s, "-a--a--a|")
		b := streamtest.Cold[string](s, "--b#\n--b|")
		streamtest.Expect(s, a.Merge(b.Stream).Retry(1)).ToBe("-ab-ab-a--a|")
		a.Subscriptions("^--!", "---^-------!")
		b.Subscriptions("^--!", "---^--!")
	})
}

// mergeMap, flatMap: an error of an inner source disposes the outer one and the other inner ones, and the retry begins
// with the outer one. RxJava, RxJS and Reactor do the same.
func TestRetryOverFlatMap(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		outer := streamtest.Cold[string](s, "-x---y-----|\n-z|")
		inner := map[string]text{
			"x": streamtest.Cold[string](s, "-a-----a|").Stream,
			"y": streamtest.Cold[string](s, "-b#").Stream,
			"z": streamtest.Cold[string](s, "-c|").Stream,
		}
		flat := operators.FlatMap(outer.Stream, 2, func(v string) text { return inner[v] })
		streamtest.Expect(s, flat.Retry(1)).ToBe("--a---b--c|")
		outer.Subscriptions("^------!", "-------^-!")
	})
}

// concatMap: an error of an inner source disposes the outer one, and the retry begins with the outer one. RxJava, RxJS
// and Reactor do the same.
func TestRetryOverConcatMap(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		outer := streamtest.Cold[string](s, "-x|")
		inner := streamtest.Cold[string](s, "-a#\n-b|")
		streamtest.Expect(s, operators.ConcatMap(outer.Stream, func(string) text { return inner.Stream }).Retry(1)).ToBe("--a--b|")
		outer.Subscriptions("^--!", "---^--!")
	})
}

// zip().retry(): a value without a partner is dropped at the failure, and the pairs begin anew. RxJava, RxJS and
// Reactor do the same.
func TestRetryOverZip(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		a := streamtest.Cold[string](s, "-abc----|")
		b := streamtest.Cold[string](s, "--1-#\n--2-3|")
		zipped := operators.ZipWith(a.Stream, b.Stream, func(a, b string) string { return a + b })
		want := map[string]string{"p": "a1", "q": "a2", "r": "b3"}
		streamtest.Expect(s, zipped.Retry(1)).ToBeWith("--p---q-r|", want)
		a.Subscriptions("^---!", "----^----!")
	})
}

// debounce().retry(): a value that still waits when the source fails is delivered before the next attempt begins, so it
// is not lost. RxJava and RxJS drop it at an error. Reactor has no debounce, but the similar sampleTimeout.
func TestRetryOverDebounce(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-ab#\n-c------|")
		streamtest.Expect(s, src.Debounce(3*ms).Retry(1)).ToBe("---b---c---|")
		src.Subscriptions("^--!", "---^-------!")
	})
}

// timeout().retry(): each subscription has its own timer, which starts with it and again at each value. RxJava, RxJS
// (each) and Reactor do the same.
func TestRetryOverTimeout(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "---------a|\n--a--b---------|\n--a--b--|")
		streamtest.Expect(s, src.Timeout(4*ms).Retry(2)).ToBe("------a--b-----a--b--|")
		src.Subscriptions("^---!", "----^--------!", "-------------^-------!")
		streamtest.Expect(s, stream.Never[string]().Timeout(4*ms).Retry(2)).Error(stream.ErrTimeout).ToBe("------------#")
	})
}

// retry().timeout(): a timeout after the retry ends everything, retries included. RxJava, RxJS and Reactor do the same.
func TestTimeoutOverRetry(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a#\n---#\n---#\n---#")
		streamtest.Expect(s, src.Retry(9).Timeout(5*ms)).Error(stream.ErrTimeout).ToBe("-a----#")
		src.Subscriptions("^-!", "--^--!", "-----^!")
	})
}

// onBackpressureBuffer().retry(): values that were in the buffer when the source failed come first, then the next
// attempt. Reactor does the same. In RxJava, an error overtakes the values unless delayError is set. RxJS has no
// backpressure; its buffer operators collect values in arrays, like Batch here.
func TestRetryOverBuffer(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "(abc)#\n(de)|")
		slow := src.Buffer(2).Retry(1).Delay(4 * ms)
		streamtest.Expect(s, slow).ToBe("----a---b---c---d---(e|)")
		src.Subscriptions("^----!", "------------^---!")
	})
}

// bufferTime, bufferCount (Batch): a batch that is not full when the source fails is delivered before the next attempt.
// RxJava, RxJS and Reactor drop it at the error.
func TestRetryOverBatch(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-abc#\n-d|")
		batches := operators.Map(operators.Batch(src.Stream, 2, 0).Retry(1), func(b []string) string { return strings.Join(b, "") })
		streamtest.Expect(s, batches).ToBeWith("--p-q-(r|)", map[string]string{"p": "ab", "q": "c", "r": "d"})
	})
}

// switchMap().retry(): when the outer source fails, the running inner source is disposed. RxJava, RxJS and Reactor do
// the same.
func TestRetryOverSwitchMap(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		outer := streamtest.Cold[string](s, "-x--#\n-y|")
		inner := streamtest.Cold[string](s, "-a-a-a|\n-b|")
		switched := operators.SwitchMap(outer.Stream, func(string) text { return inner.Stream })
		streamtest.Expect(s, switched.Retry(1)).ToBe("--a---b|")
		inner.Subscriptions("-^--!", "-----^-!")
	})
}

// scan().retry(): the state of an operator before the retry begins anew with each subscription. RxJava, RxJS and
// Reactor do the same.
func TestRetryOverScan(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[int](s, "-12#\n-3|")
		sums := operators.Scan(src.Stream, 0, func(sum, v int) int { return sum + v })
		streamtest.Expect(s, sums.Retry(1)).ToBe("-13-3|")
	})
}

// share().retry(): the retry subscribes to the shared source again. Because its run has ended, a new one begins. RxJava
// and Reactor (publish().refCount()) and RxJS (share, which resets on error) do the same.
func TestRetryOverShare(t *testing.T) {
	streamtest.Run(t, func(s *session) {
		src := streamtest.Cold[string](s, "-a-#\n-b-|")
		shared := operators.Share(src.Stream)
		first := streamtest.Expect(s, shared.Retry(1))
		second := streamtest.Expect(s, shared)
		first.ToBe("-a--b-|")
		second.ToBe("-a-#")
		src.Subscriptions("^--!", "---^--!")
	})
}
