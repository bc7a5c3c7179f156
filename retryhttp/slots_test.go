package retryhttp_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

var passed = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "passed") })

// ask sends one request to the handler and returns its status and the two delays it names.
func ask(t *testing.T, h http.Handler, path string) (code int, seconds, ms time.Duration) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	if w.Code == 200 {
		if w.Body.String() != "passed" {
			t.Errorf("the body is %q", w.Body)
		}
		if len(w.Header()["Retry-After"])+len(w.Header()["Retry-After-Ms"]) > 0 {
			t.Errorf("a request that passed has %v", w.Header())
		}
		return w.Code, 0, 0
	}
	s, err := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 64)
	m, err2 := strconv.ParseInt(w.Header().Get("Retry-After-Ms"), 10, 64)
	if err != nil || err2 != nil {
		t.Error(err, err2)
	}
	return w.Code, time.Duration(s) * time.Second, time.Duration(m) * time.Millisecond
}

func TestSlots(t *testing.T) {
	bubble(t, "the burst passes, the others get one slot after another", func(t *testing.T) {
		h := retryhttp.Slots(4, 3, passed)
		var got []string
		for range 9 {
			code, seconds, ms := ask(t, h, "/")
			got = append(got, fmt.Sprintf("%d %v %v", code, seconds, ms))
		}
		if want := []string{"200 0s 0s", "200 0s 0s", "200 0s 0s", "429 1s 250ms", "429 1s 500ms", "429 1s 750ms", "429 1s 1s", "429 2s 1.25s", "429 2s 1.5s"}; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
	bubble(t, "a delay of less than a millisecond", func(t *testing.T) {
		h := retryhttp.Slots(3000, 1, passed)
		ask(t, h, "/")
		if code, seconds, ms := ask(t, h, "/"); code != 429 || seconds != time.Second || ms != time.Millisecond {
			t.Error(code, seconds, ms)
		}
	})
	bubble(t, "the burst fills again", func(t *testing.T) {
		h := retryhttp.Slots(1, 2, passed)
		n := 0
		for _, c := range []struct {
			sleep  time.Duration
			passes int
		}{{0, 2}, {time.Hour, 2}, {time.Hour, 2}} {
			time.Sleep(c.sleep)
			for passes := 0; ; passes++ {
				n++
				if code, _, _ := ask(t, h, fmt.Sprint("/", n)); code != 200 {
					if passes != c.passes {
						t.Errorf("after %v %d pass, want %d", c.sleep, passes, c.passes)
					}
					break
				}
			}
		}
	})
	bubble(t, "a request that keeps to the rate always passes", func(t *testing.T) {
		h := retryhttp.Slots(4, 1, passed)
		for range 100 {
			if code, _, _ := ask(t, h, "/"); code != 200 {
				t.Fatal(code)
			}
			time.Sleep(250 * time.Millisecond)
		}
	})
	bubble(t, "a request that comes back passes, a new one waits behind the others", func(t *testing.T) {
		h := retryhttp.Slots(1, 1, passed)
		ask(t, h, "/1")
		ask(t, h, "/2") // at 1 s
		ask(t, h, "/3") // at 2 s
		time.Sleep(2500 * time.Millisecond)
		if code, _, ms := ask(t, h, "/new"); code != 429 || ms != 500*time.Millisecond {
			t.Error("a new one:", code, ms)
		}
		for _, path := range []string{"/2", "/3"} {
			if code, _, _ := ask(t, h, path); code != 200 {
				t.Error(path, code)
			}
		}
	})
	bubble(t, "a request that comes too early gets another slot", func(t *testing.T) {
		h := retryhttp.Slots(1, 1, passed)
		ask(t, h, "/1")
		ask(t, h, "/2")
		time.Sleep(time.Second - time.Millisecond)
		if code, _, ms := ask(t, h, "/2"); code != 429 || ms != 1001*time.Millisecond {
			t.Error(code, ms)
		}
		time.Sleep(time.Millisecond)
		if code, _, _ := ask(t, h, "/2"); code != 200 {
			t.Error(code)
		}
	})
	bubble(t, "a slot is kept, then anybody's, then lost", func(t *testing.T) {
		for late, want := range map[time.Duration]struct{ owner, other int }{
			6 * time.Second:   {200, 429}, // the slot was at 4 s: kept until 10 s
			6*time.Second + 1: {200, 200},
			7 * time.Second:   {200, 200},
			7*time.Second + 1: {429, 429},
			24 * time.Hour:    {200, 200}, // for the bucket is full
		} {
			for who, code := range map[string]int{"/owner": want.owner, "/other": want.other} {
				h := retryhttp.Slots(0.25, 1, passed)
				ask(t, h, "/first")
				ask(t, h, "/owner")
				time.Sleep(4 * time.Second)
				for i := range 20 { // the rate is used up
					ask(t, h, fmt.Sprint("/", i))
				}
				time.Sleep(late)
				if got, _, _ := ask(t, h, who); got != code {
					t.Errorf("%s, %v late: %d, want %d", who, late, got, code)
				}
				if got, _, _ := ask(t, h, "/another"); got != 429 && late < 24*time.Hour {
					t.Errorf("after %s, %v late, another: %d, want 429", who, late, got)
				}
			}
		}
	})
	bubble(t, "slots are handed out for 10 minutes", func(t *testing.T) {
		h := retryhttp.Slots(0.5, 1, passed)
		ask(t, h, "/")
		for i := range 300 {
			if code, seconds, _ := ask(t, h, "/"); code != 429 || seconds != time.Duration(2*i+2)*time.Second {
				t.Fatal(i, code, seconds)
			}
		}
		longest := time.Duration(0)
		for range 200 {
			code, seconds, _ := ask(t, h, "/")
			if code != 503 || seconds < 602*time.Second || seconds > 903*time.Second {
				t.Fatal(code, seconds)
			}
			longest = max(longest, seconds)
		}
		if longest < 700*time.Second {
			t.Error("the others are not spread:", longest)
		}
	})
	bubble(t, "at most 100,000", func(t *testing.T) {
		h := retryhttp.Slots(1e6, 1, passed)
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		for range 100_000 {
			h.ServeHTTP(quietWriter{}, r)
		}
		if code, _, _ := ask(t, h, "/"); code != 429 {
			t.Error(code)
		}
		if code, seconds, ms := ask(t, h, "/"); code != 503 || seconds != time.Second || ms < 100*time.Millisecond || ms > 151*time.Millisecond {
			t.Error(code, seconds, ms)
		}
	})
	bubble(t, "extreme rates", func(t *testing.T) {
		h := retryhttp.Slots(math.SmallestNonzeroFloat64, math.MaxInt, passed)
		if code, _, _ := ask(t, h, "/"); code != 200 {
			t.Error(code)
		}
		h = retryhttp.Slots(1e-300, 1, passed)
		ask(t, h, "/")
		if code, seconds, ms := ask(t, h, "/"); code != 503 || seconds <= 0 || ms <= 0 {
			t.Error(code, seconds, ms)
		}
		h = retryhttp.Slots(math.MaxFloat64, 1, passed)
		for range 100 {
			ask(t, h, "/")
		}
	})
}

// quietWriter is where a response goes that nobody reads.
type quietWriter struct{}

func (quietWriter) Header() http.Header         { return http.Header{} }
func (quietWriter) Write(p []byte) (int, error) { return len(p), nil }
func (quietWriter) WriteHeader(int)             {}

// Of a fleet that is refused together each client comes back once, and the last one at the earliest possible time.
func TestSlotsOfAFleet(t *testing.T) {
	const clients, perSecond, burst = 1000, 50, 10
	earliest := time.Duration(clients-burst) * time.Second / perSecond
	for name, whole := range map[string]func(i int) bool{
		"in milliseconds":  func(int) bool { return false },
		"in whole seconds": func(int) bool { return true },
		"both":             func(i int) bool { return i%2 == 0 },
	} {
		for _, path := range []string{"/%d", "/"} { // apart, and all alike
			bubble(t, name, func(t *testing.T) {
				h := retryhttp.Slots(perSecond, burst, passed)
				start := time.Now()
				var mu sync.Mutex
				tries, served := 0, make([]int, 100)
				var last time.Duration
				var wg sync.WaitGroup
				for i := range clients {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * time.Microsecond)
						for {
							p := path
							if path != "/" {
								p = fmt.Sprintf(path, i)
							}
							code, seconds, ms := ask(t, h, p)
							mu.Lock()
							tries++
							if code == 200 {
								last = time.Since(start)
								served[int(last/time.Second)]++
								mu.Unlock()
								return
							}
							mu.Unlock()
							if whole(i) {
								ms = seconds
							}
							time.Sleep(ms)
						}
					})
				}
				wg.Wait()
				if tries != clients*2-burst {
					t.Errorf("%d requests, want %d", tries, clients*2-burst)
				}
				if last > earliest+earliest*4/100+time.Second*map[bool]time.Duration{false: 0, true: 1}[whole(0)] {
					t.Errorf("the last one is served after %v, the earliest possible is %v", last, earliest)
				}
				if most := slices.Max(served); most > perSecond+burst {
					t.Errorf("%d in one second", most)
				}
			})
		}
	}
}

// Retries are served at their slots, however many new requests come meanwhile; these wait in their order.
func TestSlotsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := retryhttp.Slots(10, 1, passed)
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 400 { // 20 a second: twice the rate
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				code, _, ms := ask(t, h, fmt.Sprint("/", i))
				time.Sleep(ms)
				if code != 200 {
					code, _, _ = ask(t, h, fmt.Sprint("/", i))
				}
				if want := time.Duration(i) * 100 * time.Millisecond; code != 200 || time.Since(start) != want {
					t.Errorf("request %d: %d after %v, want %v", i, code, time.Since(start), want)
				}
			})
		}
		wg.Wait()
	})
}

func TestSlotsKnowRequests(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"method":          func(r *http.Request) { r.Method = "PUT" },
		"address":         func(r *http.Request) { r.RemoteAddr = "192.0.2.9:1234" },
		"odd address":     func(r *http.Request) { r.RemoteAddr = "@" },
		"host":            func(r *http.Request) { r.Host = "other.test" },
		"query":           func(r *http.Request) { r.RequestURI = "/?q" },
		"authorization":   func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") },
		"idempotency key": func(r *http.Request) { r.Header.Set("Idempotency-Key", "1") },
		"port":            func(r *http.Request) { r.RemoteAddr = "192.0.2.1:9" },
	} {
		bubble(t, name, func(t *testing.T) {
			h := retryhttp.Slots(1, 1, passed)
			ask(t, h, "/")
			ask(t, h, "/") // at 1 s
			ask(t, h, "/other")
			time.Sleep(time.Second)
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			change(r)
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); (w.Code == 200) != (name == "port") {
				t.Error(w.Code)
			}
		})
	}
}

func TestSlotsOnAnInjectedClock(t *testing.T) {
	mock := clock.NewMock()
	h := retryhttp.Slots(1, 1, passed)
	ask := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(stream.WithClock(t.Context(), mock), "GET", "/", nil))
		return w.Code
	}
	first, second := ask(), ask()
	mock.Add(time.Second)
	if third := ask(); first != 200 || second != 429 || third != 200 {
		t.Error(first, second, third)
	}
}

func TestSlotsUnderLoad(t *testing.T) {
	h := retryhttp.Slots(1000, 10, passed)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 200 {
				ask(t, h, fmt.Sprintf("/%d/%d", i, k%7))
			}
		})
	}
	wg.Wait()
}
