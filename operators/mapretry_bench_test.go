//go:build unix

package operators

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

var errBench = errors.New("bench")

// BenchmarkMapRetryMemory reports the bytes for each of a million items that wait, beyond the item itself, beside those
// of a goroutine and of a time.AfterFunc for each.
func BenchmarkMapRetryMemory(b *testing.B) {
	b.Run("MapRetry", func(b *testing.B) {
		for b.Loop() {
			before := heapAlloc()
			ctx, cancel := context.WithCancel(context.Background())
			calls := 0
			_, _ = MapRetry(stream.Range(0, million), retry.New(backoff.Constant(time.Hour)), func(context.Context, int) (int, error) {
				if calls++; calls == million {
					// One is in this call, the others wait.
					b.ReportMetric(float64(heapAlloc()-before)/(million-1)-8, "B/wait")
					cancel()
				}
				return 0, errBench
			}, MapRetryOptions[int]{Workers: 1, MaxPending: million}).Collect(ctx)
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		for b.Loop() {
			before := heapAlloc()
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			const n = million / 10
			for range n {
				wg.Go(func() {
					_, _ = retry.Do(ctx, retry.New(backoff.Constant(time.Hour)), func(context.Context) (int, error) { return 0, errBench })
				})
			}
			time.Sleep(time.Second)
			b.ReportMetric(float64(heapAlloc()-before)/n-8, "B/wait")
			cancel()
			wg.Wait()
		}
	})
	b.Run("AfterFunc", func(b *testing.B) {
		for b.Loop() {
			before := heapAlloc()
			timers := make([]*time.Timer, million)
			for i := range timers {
				timers[i] = time.AfterFunc(time.Hour, func() { _ = i })
			}
			b.ReportMetric(float64(heapAlloc()-before)/million-8, "B/wait")
			for _, t := range timers {
				t.Stop()
			}
		}
	})
}

// heapAlloc returns the bytes in use, stacks included.
func heapAlloc() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkMapRetryArm puts an item aside while others wait, and takes the first one out again.
func BenchmarkMapRetryArm(b *testing.B) {
	for _, n := range []int{1000, million} {
		b.Run(fmt.Sprintf("arm/waiting=%d", n), func(b *testing.B) {
			w, j := filledRoom(n)
			i := 0
			for b.Loop() {
				w.add(&j, rand.Int64N(int64(10*time.Second)))
				if i++; i == n/10 { // the room stays as full as it is
					b.StopTimer()
					for ; i > 0; i-- {
						w.take(&j)
					}
					b.StartTimer()
				}
			}
		})
		b.Run(fmt.Sprintf("arm+fire/waiting=%d", n), func(b *testing.B) {
			w, j := filledRoom(n)
			for b.Loop() {
				at := w.due()
				w.take(&j)
				w.add(&j, at+rand.Int64N(int64(10*time.Second)))
			}
		})
	}
	// All that a failed call costs: the decision, and the way through the run, which starts with the source.
	b.Run("failed call/waiting=1000000", func(b *testing.B) {
		for b.Loop() {
			start := time.Now()
			ctx, cancel := context.WithCancel(context.Background())
			calls := 0
			_, _ = MapRetry(stream.Range(0, million), retry.New(backoff.Func(func(_ int, u float64) time.Duration {
				return time.Hour + time.Duration(u*float64(10*time.Second))
			})), func(context.Context, int) (int, error) {
				if calls++; calls == million {
					cancel()
				}
				return 0, errBench
			}, MapRetryOptions[int]{Workers: 1, MaxPending: million}).Collect(ctx)
			b.ReportMetric(float64(time.Since(start).Nanoseconds())/million, "ns/item")
		}
	})
}

func filledRoom(n int) (*waitingRoom[int], job[int]) {
	w := new(waitingRoom[int])
	j := job[int]{row: compactRow{attempts: 1, u: notPlaced}}
	for i := range n {
		j.item = i
		w.add(&j, rand.Int64N(int64(10*time.Second)))
	}
	return w, j
}

// BenchmarkMapRetryWaits has a million items wait until a moment of their own within 10 s, in real time, beside bare
// heaps that do nothing but wait for them: one goroutine, one time.Timer, a container/heap of pointers or what MapRetry
// itself keeps items in. All are armed in the 5 s before. It reports how late the waits end and the CPU time for each,
// that of arming included, and with MapRetry that of both calls and of handing over the item and its result; "without
// waits" is the latter alone.
func BenchmarkMapRetryWaits(b *testing.B) {
	if testing.Short() {
		b.Skip("takes 15 s of real time for each run")
	}
	const spread, lead = 10 * time.Second, 5 * time.Second
	b.Run("bare container/heap", func(b *testing.B) {
		for b.Loop() {
			m := newWaitMeter()
			start := time.Now()
			var h pointers
			for i := range million {
				m.due[i] = time.Since(start) + m.delay(start, lead, spread)
				h.put(dueEntry{at: int64(m.due[i]), turn: uint32(i), slot: uint32(i)})
			}
			timer := time.NewTimer(0)
			for len(h.s) > 0 {
				now := time.Since(start)
				if d := time.Duration(h.s[0].at) - now; d > 0 {
					timer.Reset(d)
					<-timer.C
					continue
				}
				m.ended(int(h.take().slot), now)
			}
			m.report(b)
		}
	})
	b.Run("bare heap", func(b *testing.B) {
		for b.Loop() {
			m := newWaitMeter()
			start := time.Now()
			var w waitingRoom[int]
			var j job[int]
			for i := range million {
				m.due[i] = time.Since(start) + m.delay(start, lead, spread)
				j.item = i
				w.add(&j, int64(m.due[i]))
			}
			timer := time.NewTimer(0)
			for w.len() > 0 {
				now := time.Since(start)
				if d := time.Duration(w.due()) - now; d > 0 {
					timer.Reset(d)
					<-timer.C
					continue
				}
				w.take(&j)
				m.ended(j.item, now)
			}
			m.report(b)
		}
	})
	b.Run("MapRetry without waits", func(b *testing.B) {
		for b.Loop() {
			m := newWaitMeter()
			s := MapRetry(stream.Range(0, million), retry.New(backoff.Backoff{}), func(_ context.Context, i int) (int, error) {
				return i, nil
			}, MapRetryOptions[int]{})
			if err := s.ForEach(context.Background(), func(i int) { m.ended(i, 0) }); err != nil {
				b.Fatal(err)
			}
			m.report(b)
		}
	})
	b.Run("MapRetry", func(b *testing.B) {
		for b.Loop() {
			m := newWaitMeter()
			start := time.Now()
			var mu sync.Mutex
			s := MapRetry(stream.Range(0, million), retry.New(backoff.Backoff{}), func(_ context.Context, i int) (int, error) {
				now := time.Since(start)
				if m.due[i] != 0 {
					mu.Lock()
					m.ended(i, now)
					mu.Unlock()
					return i, nil
				}
				d := m.delay(start, lead, spread)
				m.due[i] = now + d
				return 0, dictatedDelay(d)
			}, MapRetryOptions[int]{MaxPending: million})
			n := 0
			if err := s.ForEach(context.Background(), func(int) { n++ }); err != nil || n != million {
				b.Fatal(n, err)
			}
			m.report(b)
		}
	})
}

// dictatedDelay is an error that asks for the delay, which has no jitter then.
type dictatedDelay time.Duration

func (d dictatedDelay) Error() string             { return "later" }
func (d dictatedDelay) RetryAfter() time.Duration { return time.Duration(d) }

type waitMeter struct {
	due  []time.Duration
	late []time.Duration
	cpu  time.Duration
}

func newWaitMeter() *waitMeter {
	m := &waitMeter{due: make([]time.Duration, million), late: make([]time.Duration, 0, million)}
	runtime.GC()
	m.cpu = cpuTime()
	return m
}

// delay returns a delay from now to a moment between lead and lead+spread after the start.
func (m *waitMeter) delay(start time.Time, lead, spread time.Duration) time.Duration {
	return time.Until(start.Add(lead + rand.N(spread)))
}

func (m *waitMeter) ended(i int, now time.Duration) { m.late = append(m.late, now-m.due[i]) }

func (m *waitMeter) report(b *testing.B) {
	cpu := cpuTime() - m.cpu
	slices.Sort(m.late)
	n := len(m.late)
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(n), "cpu-ns/wait")
	b.ReportMetric(float64(m.late[n/2].Microseconds()), "p50-late-µs")
	b.ReportMetric(float64(m.late[n/100*99].Microseconds()), "p99-late-µs")
	b.ReportMetric(float64(m.late[n-1].Microseconds()), "max-late-µs")
}

// cpuTime returns the process's user and system time.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
