package reconnecttest_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/reconnecttest"
)

// byHand is a client of serveLines without the library: a loop, bufio, and deadlines. The zero value is right.
type byHand struct {
	keepOpen     bool                                                // it does not close its connections
	greeting     bool                                                // it expects a first line before the others
	noTimeout    func(connection int) bool                           // of its reads
	noHandshake  func(connection int) bool                           // no timeout of the greeting
	dialUnder    func(context.Context) context.Context               // the context of its dial
	wait         func(connection, attempts, lines int) time.Duration // after a connection with so many lines
	disconnected func(last *int, lines int)
	tries        int  // 0: without a limit
	again        bool // it reads on after an error
	keepAlive    bool // it writes without a pause

	closesLate func(connection int, err error, lines int) bool // whether it closes a connection that has ended only with itself
	noWait     func(err error, lines int) bool                 // whether it connects at once
	deaf       func(connection int) bool                       // to the context until the greeting has come
	tick       time.Duration                                   // it looks up so often while it reads, and drops what has come of a line
	after      func(ctx context.Context, connection, lines int)
}

func (c byHand) run(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	last, attempts := 0, 0
	var open []net.Conn
	defer func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	for connection := 1; ; connection++ {
		conn, lines, err := c.connect(ctx, dial, connection, &last, got)
		switch {
		case conn == nil || c.keepOpen:
		case c.closesLate != nil && c.closesLate(connection, err, lines):
			open = append(open, conn)
		default:
			_ = conn.Close()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.after != nil {
			c.after(ctx, connection, lines)
		}
		if c.disconnected != nil {
			c.disconnected(&last, lines)
		}
		if attempts++; lines > 0 {
			attempts = 0
		}
		if c.tries > 0 && attempts >= c.tries {
			return err
		}
		wait := pauseFor()
		if c.wait != nil {
			wait = c.wait(connection, attempts, lines)
		}
		if c.noWait != nil && c.noWait(err, lines) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (c byHand) connect(ctx context.Context, dial reconnecttest.Dial, connection int, last *int, got func(string)) (conn net.Conn, lines int, err error) {
	dialing := ctx
	if c.dialUnder != nil {
		dialing = c.dialUnder(ctx)
	}
	if conn, err = dial(dialing, "tcp", "127.0.0.1:80"); err != nil {
		return nil, 0, err
	}
	if c.deaf == nil || !c.deaf(connection) {
		defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	}
	if _, err := fmt.Fprintln(conn, *last); err != nil {
		return conn, 0, err
	}
	if c.keepAlive {
		for ctx.Err() == nil {
			if _, err := fmt.Fprintln(conn); err != nil {
				return conn, 0, err
			}
		}
	}
	in := bufio.NewReader(conn)
	read := func(never func(int) bool) (string, error) {
		for begun := time.Now(); ; {
			until := time.Now().Add(cmp.Or(c.tick, 30*time.Second))
			if never != nil && never(connection) {
				until = time.Time{}
			}
			if err := conn.SetReadDeadline(until); err != nil {
				return "", err
			}
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			line, err := in.ReadString('\n')
			if c.tick == 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) > 30*time.Second {
				return line, err
			}
		}
	}
	if c.greeting {
		if _, err := read(c.noHandshake); err != nil {
			return conn, 0, err
		}
		if c.deaf != nil {
			defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
		}
	}
	for {
		line, err := read(c.noTimeout)
		for err != nil && c.again && ctx.Err() == nil {
			line, err = in.ReadString('\n')
		}
		if err != nil {
			return conn, lines, err
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		got(strings.TrimSpace(line))
		*last = number(0, line)
	}
}

// greeted is serveLines with a first line.
func greeted(n int) func(context.Context, net.Listener) {
	return func(ctx context.Context, l net.Listener) {
		serveLines(n)(ctx, greeter{l})
	}
}

type greeter struct{ net.Listener }

func (g greeter) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err == nil {
		_, _ = io.WriteString(conn, "hello\n")
	}
	return conn, err
}

// serveEvents serves n server-sent events from the one after Last-Event-ID on, and then comments. id returns the id of
// the event i of a connection that began after the event first.
func serveEvents(n int, id func(first, i int) int) func(context.Context, net.Listener) {
	return func(ctx context.Context, l net.Listener) {
		server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			first, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
			for i := first + 1; r.Context().Err() == nil; i++ {
				if i <= n {
					time.Sleep(100 * time.Millisecond)
					fmt.Fprintf(w, "data: event %d\nid: %d\n\n", i, id(first, i))
				} else {
					time.Sleep(10 * time.Second)
					fmt.Fprint(w, ":\n\n")
				}
				_ = http.NewResponseController(w).Flush()
			}
		})}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		_ = server.Serve(l)
	}
}

func absolute(_, i int) int { return i }

// eventSource is a client of serveEvents over net/http. The zero value is right.
type eventSource struct {
	half   bool // it takes an event before its empty line
	status bool // it ends at an error of the transport
}

func (c eventSource) run(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	transport := &http.Transport{DialContext: dial, ResponseHeaderTimeout: time.Minute}
	client := &http.Client{Transport: transport}
	defer transport.CloseIdleConnections()
	id, attempts := "", 0
	for ctx.Err() == nil {
		err := c.connect(ctx, client, &id, func(event string) { attempts = 0; got(event) })
		if c.status && err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		attempts++
		wait := min(time.Minute, time.Second<<min(attempts, 10))
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait/2)):
		}
	}
	return context.Cause(ctx)
}

func (c eventSource) connect(ctx context.Context, client *http.Client, id *string, got func(string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
	if err != nil {
		return err
	}
	if *id != "" {
		request.Header.Set("Last-Event-ID", *id)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	silence := time.AfterFunc(30*time.Second, cancel)
	defer silence.Stop()
	next, data := "", ""
	take := func() {
		if data != "" {
			*id = next
			got(data)
		}
		data = ""
	}
	for in := bufio.NewScanner(response.Body); ; {
		more := in.Scan()
		silence.Reset(30 * time.Second)
		if !more {
			if c.half {
				take()
			}
			return cmpOr(in.Err(), io.EOF)
		}
		switch field, value, _ := strings.Cut(in.Text(), ": "); field {
		case "id":
			next = value
		case "data":
			data = value
		case "":
			take()
		}
	}
}

func cmpOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// machine is a client of serveLines with a goroutine that reads, channels, and timers. The zero value is right.
type machine struct {
	ahead bool // what the reader has read is dropped when the connection breaks
}

func (c machine) run(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	last := 0
	type message struct {
		line string
		err  error
	}
	for {
		conn, err := dial(ctx, "tcp", "127.0.0.1:80")
		if err == nil {
			lines, over := make(chan message, 16), make(chan struct{})
			read, broken, keep := make(chan struct{}), make(chan struct{}), last
			go func() {
				defer close(read)
				in := bufio.NewReader(conn)
				for {
					line, err := in.ReadString('\n')
					if err != nil && c.ahead {
						close(broken)
						return
					}
					select {
					case lines <- message{line, err}:
					case <-over:
						return
					}
					if err != nil {
						return
					}
					if c.ahead && strings.TrimSpace(line) != "" {
						keep = number(0, line)
					}
				}
			}()
			_, err = fmt.Fprintln(conn, last)
			silence := time.NewTimer(30 * time.Second)
			for err == nil {
				select {
				case <-ctx.Done():
					err = ctx.Err()
				case <-broken:
					err = io.ErrUnexpectedEOF
				case <-silence.C:
					err = errors.New("silence")
				case m := <-lines:
					if err = m.err; err == nil && strings.TrimSpace(m.line) != "" {
						if c.ahead {
							time.Sleep(250 * time.Millisecond)
						}
						got(strings.TrimSpace(m.line))
						last = number(0, m.line)
					}
					silence.Reset(30 * time.Second)
				}
			}
			close(over)
			_ = conn.Close()
			<-read
			if c.ahead {
				last = keep
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pauseFor()):
		}
	}
}
