package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/calls"
)

// measuring is a Calls with its defaults, and what is known of the program.
type measuring struct {
	Calls
	telling
	rules    calls.Rules
	target   string        // METHOD /path
	startup  time.Duration // until the first request of an undisturbed run
	first    []*calls.Run  // undisturbed
	slots    chan struct{} // are taken by runs,
	starting chan struct{} // until their first request
	pressure func() time.Duration
	pressed  float64 // the part of the time in which something waited for a processor, while waits were measured
}

// firstRequest is how long a program may take until its first request.
const firstRequest = 20 * time.Second

// undisturbed runs the program twice, and learns what the others are compared with.
func (m *measuring) undisturbed(ctx context.Context) error {
	m.first = make([]*calls.Run, 2)
	m.clock.each(ctx, 2, 2, func(i int) { m.first[i] = m.play(ctx, calls.Way{Name: calls.Undisturbed}) })
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, r := range m.first {
		target, err := r.Target(m.Request)
		switch {
		case r.Panicked != "":
			return fmt.Errorf("prove: undisturbed: the program panicked: %s", r.Panicked)
		case r.Returned && r.Err != nil:
			return fmt.Errorf("prove: undisturbed: the program failed: %w", r.Err)
		case err != nil:
			return fmt.Errorf("prove: undisturbed: %w", err)
		case !r.Returned:
			return fmt.Errorf("prove: undisturbed: the call has not returned after %v", m.Within)
		}
		m.target, m.startup = target, max(m.startup, r.Startup)
	}
	if one, two := m.first[0].Result, m.first[1].Result; one != two {
		return fmt.Errorf("prove: two undisturbed results differ: %q and %q; a result must not contain a time or an address", one, two)
	}
	return nil
}

// playAll plays all ways: the long ones from the beginning, and those whose waits are measured when the short ones are
// over.
func (m *measuring) playAll(ctx context.Context) []*calls.Run {
	ways := calls.Ways(false)
	runs := make([]*calls.Run, len(ways))
	m.total = len(ways)
	m.progress(0)
	var long, short, timed sync.WaitGroup
	start := func(group *sync.WaitGroup, wanted func(w calls.Way) bool) {
		for i, w := range ways {
			if wanted(w) {
				group.Go(func() {
					runs[i] = m.play(ctx, w)
					m.progress(1)
				})
			}
		}
	}
	start(&long, func(w calls.Way) bool { return w.Long && !w.Timed })
	start(&short, func(w calls.Way) bool { return !w.Long })
	short.Wait()
	begun, before := time.Now(), m.pressure()
	start(&timed, func(w calls.Way) bool { return w.Timed })
	timed.Wait()
	m.pressed = float64(m.pressure()-before) / float64(time.Since(begun))
	long.Wait()
	return append(m.first[:1:1], runs...)
}

// confirm plays ways again that only one run has shown to be wrong.
func (m *measuring) confirm(ctx context.Context, v *calls.Verdict) {
	ways := v.Uncertain()
	runs := make([]*calls.Run, len(ways))
	m.mu.Lock()
	m.total += len(ways)
	m.mu.Unlock()
	m.clock.each(ctx, len(ways), len(ways), func(i int) {
		runs[i] = m.play(ctx, ways[i])
		m.progress(1)
	})
	for _, r := range runs {
		v.Add(r)
	}
}

// play runs the program once. It returns nil if ctx ends.
func (m *measuring) play(ctx context.Context, w calls.Way) *calls.Run {
	m.slots <- struct{}{}
	defer func() { <-m.slots }()
	m.starting <- struct{}{}
	started := sync.OnceFunc(func() { <-m.starting })
	defer started()
	if ctx.Err() != nil {
		return nil
	}
	s := calls.NewServer(w, m.target, m.Answer, time.Millisecond)
	s.Stood = m.clock.stood
	if m.Server != "" {
		s.Pass = m.pass
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer stop()
	addr, err := m.open(serving, s, w, &tasks)
	if err != nil {
		m.cancel(err)
		return nil
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	result := ""
	p := start(func() (err error) {
		result, err = m.Client(running, Run{Name: "call", Addr: addr, Server: m.Server})
		return err
	})
	begun := m.clock.now()
	first := m.watch(ctx, w, s, p.done, started)
	var out calls.Run
	if p.returns(m.clock, 0) {
		out.Returned, out.Result, out.Err, out.Panicked = true, result, p.err, p.panicked
	}
	out.Startup, out.Took = first.Sub(begun), m.clock.now().Sub(first)
	s.Fill(&out)
	if !out.Returned {
		s.Note("the program is told to end")
		cancel()
		if out.Late = !p.returns(m.clock, m.Stop); !out.Late {
			out.Panicked = p.panicked
		}
	}
	s.EndIdle()
	if !out.Late {
		m.clock.until(time.Second, func() bool { return s.Open() <= 1 })
		out.Open = s.Open()
	}
	out.Timeline = s.Lines()
	if out.Late {
		stop() // what waits for an answer may end then
		p.returns(m.clock, m.Stop+abandoned)
	}
	if ctx.Err() != nil {
		return nil
	}
	return &out
}

// open starts a server, at an address that refuses connections while the way says so: its port is bound, but nobody
// listens.
func (m *measuring) open(ctx context.Context, s *calls.Server, w calls.Way, tasks *sync.WaitGroup) (addr string, err error) {
	if w.Refused == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", fmt.Errorf("prove: the server: %w", err)
		}
		tasks.Go(func() { s.Serve(ctx, l) })
		return l.Addr().String(), nil
	}
	held, release, err := hold()
	if err != nil {
		return "", fmt.Errorf("prove: the server: %w", err)
	}
	tasks.Go(func() {
		begin := m.clock.now()
		for w.Refused < 0 || m.clock.now().Sub(begin) < w.Refused+2*m.startup {
			if !pause(ctx, 10*time.Millisecond) {
				release()
				return
			}
		}
		release()
		if l, err := net.Listen("tcp", held); err == nil {
			s.Note("the server accepts connections")
			s.Serve(ctx, l)
		}
	})
	return held, nil
}

// hold returns an address whose port is taken, by a connection from it, and at which nobody listens.
func hold() (addr string, release func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = l.Close() }()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	one, err := d.Dial("tcp", l.Addr().String())
	if err != nil {
		return "", nil, err
	}
	two, err := l.Accept()
	if err != nil {
		return "", nil, errors.Join(err, one.Close())
	}
	return one.LocalAddr().String(), func() {
		reset(one.(*net.TCPConn))
		reset(two.(*net.TCPConn))
	}, nil
}

// toldAfter is when a program is told to end, after the first answer: in its first wait, or a later one.
const toldAfter = 200 * time.Millisecond

// watch waits until the run is over, calls started at the first request, and returns when that was.
func (m *measuring) watch(ctx context.Context, w calls.Way, s *calls.Server, done <-chan struct{}, started func()) (first time.Time) {
	now := m.clock.now
	begin := now()
	var told time.Time
	for {
		seen := s.Look()
		until := begin.Add(firstRequest + m.startup + m.Within)
		if w.Refused != 0 && first.IsZero() && now().Sub(begin) >= m.startup {
			first = begin.Add(m.startup)
		}
		if first.IsZero() && !seen.First.IsZero() {
			first = now()
		}
		if !first.IsZero() {
			started()
			until = first.Add(m.Within + time.Second) // a timeout of just so long is none
		}
		if told.IsZero() && !seen.Answered.IsZero() {
			told = now()
		}
		if w.Told && !told.IsZero() {
			until = told.Add(toldAfter)
		}
		if seen.Hot || !now().Before(until) {
			break
		}
		select {
		case <-s.News:
			continue
		case <-time.After(min(until.Sub(now()), 50*time.Millisecond)):
			continue
		case <-done:
		case <-ctx.Done():
		}
		break
	}
	if first.IsZero() {
		return begin
	}
	return first
}

// passing passes requests on, as they are.
var passing = &http.Transport{DisableKeepAlives: true, DisableCompression: true}

// pass passes a request on to the server.
func (c Calls) pass(r *http.Request, body []byte) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", c.Server, ""
	out.Body, out.ContentLength, out.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		out.Body = http.NoBody
	}
	out.Header.Del("Expect")
	return passing.RoundTrip(out)
}
