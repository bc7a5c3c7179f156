package durable

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// At most putsAtOnce jobs are put at a time. The results are in the order of the jobs.
func TestPutAll(t *testing.T) {
	for n, want := range map[int]struct {
		most int32
		took time.Duration
	}{0: {}, 3: {3, time.Second}, 64: {64, time.Second}, 65: {64, 2 * time.Second}, 150: {64, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			no := errors.New("no")
			s := &server{publish: func(m *nats.Msg) error {
				now := running.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				time.Sleep(time.Second)
				running.Add(-1)
				if string(m.Data) == "2" {
					return no
				}
				return nil
			}}
			q := online(t, s, Config{})
			jobs := make([]NewJob, n)
			for i := range jobs {
				jobs[i] = NewJob{Data: fmt.Append(nil, i), Options: []PutOption{PutID(fmt.Sprint("id", i))}}
			}
			if n > 1 {
				jobs[1].At = time.Now().Add(time.Hour)
			}
			began := time.Now()
			results := q.PutAll(t.Context(), jobs)
			if got := time.Since(began); got != want.took || most.Load() != want.most || len(results) != n {
				t.Errorf("%d jobs took %v, %d at a time, with %d results, want %v, %d", n, got, most.Load(), len(results), want.took, want.most)
			}
			for i, r := range results {
				if r.ID != fmt.Sprint("id", i) || (r.Err != nil) != (i == 2) || i == 2 && !errors.Is(r.Err, no) {
					t.Errorf("result %d of %d is %v", i, n, r)
				}
			}
			scheduled := 0
			for _, m := range s.sent {
				if get(m.Header, headerSchedule) != "" {
					scheduled++
				}
			}
			if scheduled != min(max(n-1, 0), 1) {
				t.Errorf("%d of %d jobs are scheduled, want one", scheduled, n)
			}
		})
	}
}

// While the server is away, PutAll takes as long as one Put. What it has not sent is checked nevertheless.
func TestPutAll_WithoutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(*nats.Msg) error { return errNoResponse }}
		q := fakeQueue(t, s, Config{})
		jobs := make([]NewJob, 10_000)
		for i := range jobs {
			jobs[i].Options = []PutOption{PutID(fmt.Sprint(i))}
		}
		jobs[9_000].Options = []PutOption{PutID(" ")}
		began := time.Now()
		results := q.PutAll(t.Context(), jobs)
		if took := time.Since(began); took != putTimeout {
			t.Errorf("it took %v, want %v", took, putTimeout)
		}
		for i, r := range results {
			if i == 9_000 {
				if r.ID != "" || r.Err == nil || errors.Is(r.Err, ErrNotStored) {
					t.Errorf("the invalid one: %v", r)
				}
			} else if r.ID != fmt.Sprint(i) || !errors.Is(r.Err, ErrNotStored) {
				t.Errorf("result %d is %v", i, r)
			}
		}
		ids := make(map[string]bool)
		for _, m := range s.sent {
			ids[m.Subject] = true
		}
		if len(ids) != putsAtOnce {
			t.Errorf("%d jobs were sent, want %d", len(ids), putsAtOnce)
		}
	})
}
