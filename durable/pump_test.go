package durable

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// fakePump returns the pump of the fresh jobs and its consumer.
func fakePump(t *testing.T, s *server, workers int) (*pump, *fakeConsumer) {
	t.Helper()
	q := fakeQueue(t, s, Config{})
	_, fresh := addConsumers(q, s)
	return newFeed(q.attempts, workers).pumps[1], fresh
}

// consumeAsync calls consume in a goroutine. The channel gets its error.
func consumeAsync(p *pump, n int) <-chan error {
	ended := make(chan error, 1)
	go func() {
		drained, err := p.consume(n)
		if err == nil && drained != p.consuming.Closed() {
			err = errors.New("the channel is not that of the Consume")
		}
		ended <- err
	}()
	return ended
}

// A Consume ends with the job that is the last of n or fills the bytes. What the server sends after that is received.
func TestConsume_EndsWhenItHasEnough(t *testing.T) {
	const mib = 1 << 20
	large := make([]byte, 8*mib)
	for name, test := range map[string]struct {
		n     int
		ready [2]int // bytes that are ready before
		sizes []int  // of the jobs that come; the last one ends it
	}{
		"one":                     {n: 1, sizes: []int{1}},
		"three":                   {n: 3, sizes: []int{1, 0, 1}},
		"bytes":                   {n: 9, sizes: []int{3 * mib, 3 * mib, 3 * mib}},
		"the bytes exactly":       {n: 9, sizes: []int{4 * mib, 4 * mib}},
		"one byte less":           {n: 9, sizes: []int{4 * mib, 4*mib - 1, 1}},
		"with the ready jobs":     {n: 9, ready: [2]int{3 * mib, 1 * mib}, sizes: []int{2 * mib, 2*mib - 1, 1}},
		"the ready jobs are it":   {n: 9, ready: [2]int{0, 8 * mib}, sizes: []int{0, 1}},
		"the ready jobs are more": {n: 9, ready: [2]int{5 * mib, 5 * mib}, sizes: []int{0, 0, 1}},
		"both at once":            {n: 2, sizes: []int{4 * mib, 4 * mib}},
	} {
		bubble(t, name, func(t *testing.T) {
			s := new(server)
			p, c := fakePump(t, s, 1)
			p.feed.pumps[0].bytes, p.bytes = test.ready[0], test.ready[1]
			ended := consumeAsync(p, test.n)
			synctest.Wait()
			for i, size := range test.sizes {
				select {
				case <-ended:
					t.Fatalf("it has ended after %d jobs, want %d", i, len(test.sizes))
				default:
				}
				m := job(p.feed.a.backend, s, "x", first, uint64(i+1), nil)
				m.data = large[:size]
				c.last().handler(m)
				synctest.Wait()
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			default:
				t.Fatalf("it has not ended after %d jobs", len(test.sizes))
			}
			m := job(p.feed.a.backend, s, "x", first, 99, nil)
			m.data = large
			c.last().handler(m)
			if got := s.took(); got != "consume first; drain first" || len(p.ready) != len(test.sizes)+1 {
				t.Errorf("it did %q and has %d jobs, want %d", got, len(p.ready), len(test.sizes)+1)
			}
		})
	}
}

// A job may come before the client's Consume has returned.
func TestConsume_AJobComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		p, c := fakePump(t, s, 1)
		c.consume = func(run *fakeConsume) {
			go run.handler(job(p.feed.a.backend, s, "x", first, 1, nil))
			time.Sleep(time.Millisecond)
		}
		if err := <-consumeAsync(p, 1); err != nil || s.took() != "consume first; drain first" {
			t.Errorf("got %v", err)
		}
	})
}

// What is requested from the server.
func TestConsume_Request(t *testing.T) {
	for ready, want := range map[[2]int]string{
		{0, 0}:                "{7 8388608} stop after 7 expiry 10s heartbeat 2.5s",
		{100, 11}:             "{7 8388497} stop after 7 expiry 10s heartbeat 2.5s",
		{7 << 20, 1<<20 - 10}: "{7 1056768} stop after 7 expiry 10s heartbeat 2.5s", // the server's max_payload, and room for the headers
		{9 << 20, 0}:          "{7 1056768} stop after 7 expiry 10s heartbeat 2.5s",
	} {
		s := new(server)
		p, c := fakePump(t, s, 1)
		p.feed.a.nc = connected(t, s)
		p.feed.pumps[0].bytes, p.bytes = ready[0], ready[1]
		p.feed.close(nil) // it ends at once
		if _, err := p.consume(7); err != nil {
			t.Error(err)
		}
		if got := strings.Join(c.last().options, " "); got != want {
			t.Errorf("%v are ready: got %s, want %s", ready, got, want)
		}
	}
}

// How a Consume ends before its jobs have come.
func TestConsume_Ends(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*pump, *fakeConsume)
		want string
		err  error
	}{
		"the workers are busy":   {do: func(p *pump, _ *fakeConsume) { p.pause(); p.pause() }, want: "drain first"},
		"the feed has stopped":   {do: func(p *pump, _ *fakeConsume) { p.feed.close(nil) }, want: "drain first"},
		"the client has ended":   {do: func(_ *pump, run *fakeConsume) { run.end() }},
		"the consumer is gone":   {do: func(_ *pump, run *fakeConsume) { run.failed(jetstream.ErrConsumerDeleted) }, want: "stop first", err: jetstream.ErrConsumerDeleted},
		"the connection is lost": {do: func(_ *pump, run *fakeConsume) { run.failed(jetstream.ErrNoHeartbeat); synctest.Wait(); run.end() }},
	} {
		bubble(t, name, func(t *testing.T) {
			s := new(server)
			p, c := fakePump(t, s, 1)
			c.lingers = true
			ended := consumeAsync(p, 5)
			synctest.Wait()
			if got := s.took(); got != "consume first" || len(ended) != 0 {
				t.Errorf("it did %q, and has ended: %d", got, len(ended))
			}
			test.do(p, c.last())
			if err := <-ended; err != test.err {
				t.Errorf("got %v, want %v", err, test.err)
			}
			s.did(t, test.want)
		})
	}
}

// The client reports errors, and ends, before consume looks at either. Both orders have the same result.
func TestConsume_TheClientEndsWithAnError(t *testing.T) {
	for err, want := range map[error]error{jetstream.ErrConsumerDeleted: jetstream.ErrConsumerDeleted, jetstream.ErrNoHeartbeat: nil} {
		for range 30 {
			s := new(server)
			p, c := fakePump(t, s, 1)
			c.consume = func(run *fakeConsume) {
				run.failed(err)
				run.failed(errors.New("another"))
				run.end()
			}
			drained, got := p.consume(5)
			if got != want || want == nil && drained != c.last().Closed() {
				t.Fatalf("%v: got %v, want %v", err, got, want)
			}
		}
	}
}

// After which errors it is useless to request more. Only on a connection it looks whether the consumer exists.
func TestFatal(t *testing.T) {
	other := errors.New("other")
	for name, test := range map[string]struct {
		err, info    error
		disconnected bool
		want         error
		did          string
		after        time.Duration
	}{
		"the connection is closed":        {err: jetstream.ErrConnectionClosed, want: jetstream.ErrConnectionClosed},
		"the consumer is deleted":         {err: jetstream.ErrConsumerDeleted, want: jetstream.ErrConsumerDeleted},
		"a bad request":                   {err: jetstream.ErrBadRequest, want: jetstream.ErrBadRequest},
		"no heartbeat, and all is well":   {err: jetstream.ErrNoHeartbeat, did: "info of first"},
		"no heartbeat, no consumer":       {err: jetstream.ErrNoHeartbeat, info: jetstream.ErrConsumerNotFound, want: jetstream.ErrConsumerNotFound, did: "info of first"},
		"no heartbeat, no stream":         {err: jetstream.ErrNoHeartbeat, info: jetstream.ErrStreamNotFound, want: jetstream.ErrStreamNotFound, did: "info of first"},
		"no heartbeat, and another error": {err: jetstream.ErrNoHeartbeat, info: other, did: "info of first"},
		"no heartbeat, no response":       {err: jetstream.ErrNoHeartbeat, info: errNoResponse, did: "info of first", after: 5 * time.Second},
		"no heartbeat, no connection":     {err: jetstream.ErrNoHeartbeat, disconnected: true, info: jetstream.ErrConsumerNotFound},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &server{fails: map[string]error{"info of first": test.info}}
			p, _ := fakePump(t, s, 1)
			if !test.disconnected {
				p.feed.a.nc = connected(t, s)
			}
			began := time.Now()
			if got := p.fatal(test.err); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if got := s.took(); got != test.did || time.Since(began) != test.after {
				t.Errorf("it did %q in %v, want %q in %v", got, time.Since(began), test.did, test.after)
			}
		})
	}
}

// never is later than all that a test waits for.
const never = time.Minute

// drain waits until no more jobs can come from the last Consume, but for at most settleTime and not without a
// connection. That it is lost is noticed within 50 ms.
func TestDrain(t *testing.T) {
	for name, test := range map[string]struct {
		drained, lost, want time.Duration
	}{
		"at once":                {lost: never},
		"after a while":          {drained: 3 * time.Second, lost: never, want: 3 * time.Second},
		"too late":               {drained: 11 * time.Second, lost: never, want: settleTime},
		"the connection is lost": {drained: never, lost: 3*time.Second + time.Millisecond, want: 3050 * time.Millisecond},
		"there is no connection": {drained: never},
	} {
		bubble(t, name, func(t *testing.T) {
			s := new(server)
			p, c := fakePump(t, s, 1)
			nc := connected(t, s)
			p.feed.a.nc = nc
			p.drain()
			if got := s.took(); got != "" {
				t.Errorf("without a Consume it did %q", got)
			}
			c.lingers = true
			ended := consumeAsync(p, 5)
			synctest.Wait()
			s.took()
			began := time.Now()
			if test.drained == 0 {
				c.lingers = false
			} else {
				time.AfterFunc(test.drained, c.last().end)
			}
			if test.lost == 0 {
				nc.Close()
			} else {
				time.AfterFunc(test.lost, nc.Close)
			}
			p.drain()
			if got := s.took(); got != "drain first" || time.Since(began) != test.want {
				t.Errorf("it did %q in %v, want it to drain in %v", got, time.Since(began), test.want)
			}
			c.last().end()
			<-ended
		})
	}
}

// run requests jobs whenever there is room. At the end it waits until no more can come from any Consume, but for at
// most settleTime together.
func TestPumpRun(t *testing.T) {
	for name, test := range map[string]struct {
		drained [3]time.Duration // after the end; 0: before the next Consume
		want    time.Duration
	}{
		"all are drained":      {},
		"the first is not":     {drained: [3]time.Duration{3 * time.Second, 0, 0}, want: 3 * time.Second},
		"the second is not":    {drained: [3]time.Duration{0, 3 * time.Second, 0}, want: 3 * time.Second},
		"the last is not":      {drained: [3]time.Duration{0, 0, 3 * time.Second}, want: 3 * time.Second},
		"none is, for a while": {drained: [3]time.Duration{3 * time.Second, 2 * time.Second, 4 * time.Second}, want: 4 * time.Second},
		"none is":              {drained: [3]time.Duration{never, never, never}, want: settleTime},
	} {
		bubble(t, name, func(t *testing.T) {
			s := new(server)
			p, c := fakePump(t, s, 2)
			f := p.feed
			f.a.nc = connected(t, s)
			ended := make(chan time.Time, 1)
			go func() { p.run(); ended <- time.Now() }()
			for i, after := range test.drained {
				synctest.Wait()
				if got := s.took(); got != "consume first" || c.last().n != 2 {
					t.Fatalf("request %d: it did %q, for %d jobs", i+1, got, c.last().n)
				}
				c.lingers = after > 0
				if i == 2 {
					break
				}
				for j := range 2 {
					c.last().handler(job(f.a.backend, s, "x", first, uint64(2*i+j+1), nil))
				}
				synctest.Wait()
				if got := s.took(); got != "drain first" {
					t.Fatalf("after request %d it did %q", i+1, got)
				}
				for range 2 {
					f.take()
				}
				f.release(time.Second)
				f.release(time.Second)
			}
			for i, after := range test.drained {
				if after > 0 {
					time.AfterFunc(after, c.all[i].end)
				}
			}
			began := time.Now()
			f.close(nil)
			if got := (<-ended).Sub(began); got != test.want || s.took() != "drain first" {
				t.Errorf("it has ended after %v, want %v", got, test.want)
			}
		})
	}
}

// A token of pause that was meant for a Consume that has ended does not end the next one.
func TestPumpRun_ALatePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		p, c := fakePump(t, s, 1)
		go p.run()
		synctest.Wait()
		c.last().handler(job(p.feed.a.backend, s, "x", first, 1, nil))
		synctest.Wait()
		p.feed.take() // all workers are busy
		if len(p.enough) != 1 || len(p.feed.pumps[0].enough) != 1 {
			t.Error("the pumps are not paused")
		}
		p.feed.release(time.Second)
		synctest.Wait()
		s.did(t, "consume first; drain first; consume first")
		p.feed.close(nil)
	})
}

// An error that is fatal ends the feed.
func TestPumpRun_Fails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{fails: map[string]error{"consume first": jetstream.ErrConsumerDeleted}}
		p, _ := fakePump(t, s, 1)
		p.feed.a.nc = connected(t, s)
		began := time.Now()
		p.run()
		if got := time.Since(began); got != 0 {
			t.Errorf("it ended after %v, want at once", got)
		}
		if err := p.feed.err(); !errors.Is(err, ErrGone) || !errors.Is(err, jetstream.ErrConsumerDeleted) || !strings.HasPrefix(err.Error(), "durable: work: ") {
			t.Errorf("got %v, want ErrGone", err)
		}
		s.did(t, "consume first")
	})
}

func TestReceive(t *testing.T) {
	failed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	st := state{put: failed, kind: "k", lastError: "no", retry: failures(1, failed), user: nats.Header{"A": {"b"}}}
	for name, test := range map[string]struct {
		change func(*fakeMsg, *feed)
		stage  stage
		header nats.Header
		want   string
		ready  [2]int
		state  state
	}{
		"a fresh job":   {stage: first, header: nats.Header{headerKind: {"k"}}, ready: [2]int{0, 1}, state: state{kind: "k"}},
		"a due retry":   {stage: again, header: st.header(), ready: [2]int{1, 0}, state: st},
		"not a job":     {change: func(m *fakeMsg, _ *feed) { m.subject = "retrywhen.q.x" }, want: "log: a message is not a job"},
		"not a message": {change: func(m *fakeMsg, _ *feed) { m.meta, m.err = nil, jetstream.ErrNotJSMessage }, want: "log: a message is not a job"},
		"at the end":    {change: func(_ *fakeMsg, f *feed) { f.close(nil) }, want: "nak"},
		"an attempt at it runs": {change: func(m *fakeMsg, f *feed) {
			f.a.leases.add(&delivery{seq: 42, busy: true, put: m.meta.Timestamp})
		}},
		"an attempt at an older message of its number runs": {stage: first, ready: [2]int{0, 1}, change: func(m *fakeMsg, f *feed) {
			f.a.leases.add(&delivery{seq: 42, busy: true, put: m.meta.Timestamp.Add(-1)})
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			s, q := fake(t, Config{Lease: 8 * time.Second})
			addConsumers(q, s)
			signal := retry.NewSignal()
			signal.Fire()
			q.Handle("k", retry.New(backoff.Constant(time.Second), retry.ResetOn(signal)), noHandler)
			f := newFeed(q.attempts, 1)
			if test.stage == "" {
				test.stage = first
			}
			m := job(q.backend, s, "x", test.stage, 42, test.header)
			m.meta.NumDelivered = 5
			put := m.meta.Timestamp
			if test.change != nil {
				test.change(m, f)
			}
			time.Sleep(4*time.Second + 1) // a gap of more than half a lease
			now := time.Now()
			f.receive(m)
			s.did(t, test.want)
			if got := [2]int{len(f.pumps[0].ready), len(f.pumps[1].ready)}; got != test.ready {
				t.Fatalf("%v are ready, want %v", got, test.ready)
			}
			if q.gaps.suspect != now.Add(time.Second) {
				t.Errorf("deliveries are suspect until %v, want a second from now", q.gaps.suspect)
			}
			for i, p := range f.pumps {
				if p.bytes != 4*test.ready[i] {
					t.Errorf("%d bytes are ready", p.bytes)
				}
				for _, d := range p.ready {
					want := delivery{id: "x", stage: test.stage, msg: m, seq: 42, last: 42, deliveries: 5, put: put, feed: f, received: now,
						until: now.Add(8 * time.Second), state: test.state}
					if !reflect.DeepEqual(*d, want) {
						t.Errorf("got %+v, want %+v", *d, want)
					}
					if q.leases.all[42] != d {
						t.Error("the lease is not kept")
					}
				}
			}
		})
	}
}

func TestConsume_Fails(t *testing.T) {
	no := errors.New("no")
	s := &server{fails: map[string]error{"consume first": no}}
	p, _ := fakePump(t, s, 1)
	if _, err := p.consume(5); err != no {
		t.Errorf("got %v, want %v", err, no)
	}
}
