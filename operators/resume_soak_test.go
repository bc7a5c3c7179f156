package operators_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// soakLength is how many values a soak takes: a million nightly.
func soakLength() int {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "1" {
		return million
	}
	return 50_000
}

// expectEach runs s, which must yield 1 to n, each once and in order.
func expectEach(t *testing.T, s ints, n int) {
	t.Helper()
	last, lost, doubled := 0, 0, 0
	err := s.ForEach(t.Context(), func(v int) {
		if v <= last {
			doubled++
			return
		}
		lost += v - last - 1
		last = v
	})
	if err != nil || last != n || lost+doubled > 0 {
		t.Errorf("it came to %d of %d, %d lost, %d doubled, %v", last, n, lost, doubled, err)
	}
}

// A source that is cut, falls silent, ends early and drops what it holds, at random.
func TestResume_Soak(t *testing.T) {
	n := soakLength()
	synctest.Test(t, func(t *testing.T) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		attempts := 0
		open := func(at int) ints {
			attempts++
			stop := at + r.IntN(200)
			source := stream.Range(at+1, n-at).TakeWhile(func(v int) bool { return v <= stop })
			if stop < n {
				switch r.IntN(4) {
				case 0:
					source = source.Concat(stream.Fail[int](errBoom))
				case 1:
					source = source.Concat(stream.Never[int]()).Timeout(time.Second)
				case 2:
					source = source.MustNotEnd(errBoom)
				case 3:
					drop := at + r.IntN(200)
					source = source.Tap(func(v int) {
						if v == drop {
							time.Sleep(time.Minute) // too late for Timeout, which drops it
						}
					}).Timeout(time.Second).MustNotEnd(errBoom)
				}
			}
			switch r.IntN(4) {
			case 0:
				source = source.Buffer(1 + r.IntN(9))
			case 1:
				source = flat(operators.Batch(source, 1+r.IntN(9), 0))
			case 2:
				source = operators.FlatMap(source, 1, self)
			}
			return source
		}
		policy := retry.New(backoff.Exponential(time.Millisecond, 2).Cap(time.Minute).Jitter(jitter.Full), retry.ResetAfterItems(1))
		expectEach(t, operators.Resume(0, open, latest, policy), n)
		t.Logf("seed %d, %d values in %d attempts", seed, n, attempts)
	})
}

// The same from a server that drops its connections in the middle of a line, refuses, ends early and falls silent. It
// moves the clock of the client's Timeout while it is silent, so however slow the machine is, nothing else makes that
// strike.
func TestResume_SoakFromAServer(t *testing.T) {
	n := soakLength()
	mock := clock.NewMock()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := strconv.Atoi(r.URL.Query().Get("after"))
		fault := rand.IntN(40)
		if err != nil || fault < 8 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		stop := min(at+rand.IntN(5000), n)
		for v := at + 1; v <= stop; v++ {
			fmt.Fprintln(w, v)
		}
		if stop == n {
			return
		}
		switch {
		case fault < 24:
			fmt.Fprint(w, stop+1) // half a line
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case fault < 28:
			_ = http.NewResponseController(w).Flush()
			for r.Context().Err() == nil {
				mock.Add(time.Minute)
			}
		}
	}))
	defer server.Close()
	defer server.Client().CloseIdleConnections()

	attempts := 0
	lines := func(at int) ints {
		attempts++
		return stream.FromSeq2(func(ctx context.Context) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint(server.URL, "?after=", at), nil)
				if err != nil {
					yield(0, err)
					return
				}
				response, err := server.Client().Do(request)
				if err != nil {
					yield(0, err)
					return
				}
				defer response.Body.Close()
				if response.StatusCode != http.StatusOK {
					yield(0, fmt.Errorf("the server returned %s", response.Status))
					return
				}
				body := bufio.NewReader(response.Body)
				for {
					line, err := body.ReadString('\n')
					if err != nil { // what came without the end of its line is no value
						yield(0, err)
						return
					}
					v, err := strconv.Atoi(line[:len(line)-1])
					if !yield(v, err) || err != nil {
						return
					}
				}
			}
		}).Timeout(time.Minute)
	}
	s := operators.Resume(0, lines, latest, retry.New(backoff.Backoff{})).Take(n)
	expectEach(t, func(ctx context.Context, yield func(int) bool) error { return s(stream.WithClock(ctx, mock), yield) }, n)
	t.Logf("%d values in %d attempts", n, attempts)
}
