package reconnecttest_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

// each makes a client of each run, whose faults depend on what it has done before.
func each(client func() byHand) reconnecting {
	return func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		return client().run(ctx, dial, got)
	}
}

// waiter starts a goroutine that ends with the client, if it is to.
func waiter(starts func(connection, lines int) bool) reconnecting {
	return func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		var all sync.WaitGroup
		defer all.Wait()
		return byHand{after: func(ctx context.Context, connection, lines int) {
			if starts(connection, lines) {
				all.Go(func() { <-ctx.Done() })
			}
		}}.run(ctx, dial, got)
	}
}

// thirdWorking reports from the third connection with a line on that one has had one.
func thirdWorking() func(connection, lines int) bool {
	working := 0
	return func(_, lines int) bool {
		working += min(lines, 1)
		return lines > 0 && working > 2
	}
}

// polling asks for one line on a connection of its own, and closes all with itself.
func polling(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	last := 0
	for ctx.Err() == nil {
		conn, err := dial(ctx, "tcp", "127.0.0.1:80")
		if err == nil {
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			_, _ = fmt.Fprintln(conn, last)
			var line string
			if line, err = bufio.NewReader(conn).ReadString('\n'); err == nil && len(line) > 1 {
				got(strings.TrimSpace(line))
				last = number(0, line)
			}
			stop()
		}
		if err != nil {
			pause(ctx, err)
		}
	}
	return context.Cause(ctx)
}

// reconnectsAfterItsEnd has a timer that connects again, whether it has ended or not.
func reconnectsAfterItsEnd(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	defer time.AfterFunc(3*time.Second, func() {
		if conn, err := dial(context.Background(), "tcp", "127.0.0.1:80"); err == nil {
			_ = conn.Close()
		}
	})
	return byHand{}.run(ctx, dial, got)
}

// serveOf serves a log of n records as serveLines does. A record is one write.
func serveOf(n int, record func(i int) string) serving {
	return func(ctx context.Context, l net.Listener) { serveLines(n)(ctx, recorder{l, record}) }
}

type recorder struct {
	net.Listener
	record func(i int) string
}

func (r recorder) Accept() (net.Conn, error) {
	conn, err := r.Listener.Accept()
	return recording{conn, r.record}, err
}

// recording writes the records of lines.
type recording struct {
	net.Conn
	record func(i int) string
}

func (r recording) Write(p []byte) (int, error) {
	record := r.record(0)
	if line := strings.TrimSpace(string(p)); line != "" {
		record = r.record(number(0, line))
	}
	_, err := io.WriteString(r.Conn, record)
	return len(p), err
}

// reading is a loop whose read reads a value, and returns the position after it.
func readingWith(read func(in *bufio.Reader, last int, got func(string)) (int, error)) reconnecting {
	return func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		last := 0
		for ctx.Err() == nil {
			_ = connected(ctx, dial, last, func(conn net.Conn) error {
				in := bufio.NewReader(conn)
				for {
					_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
					var err error
					if last, err = read(in, last, got); err != nil {
						return err
					}
				}
			})
			pause(ctx, nil)
		}
		return context.Cause(ctx)
	}
}

// twoLines is a record whose position comes behind it.
func twoLines(i int) string {
	if i == 0 {
		return "\n"
	}
	return fmt.Sprintf("line number %d\n#%d\n", i, i)
}

// framed is a record behind its length.
func framed(i int) string {
	text := "."
	if i > 0 {
		text = fmt.Sprintf("%d is the number of this", i)
	}
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
}

// losing dials twice, and never closes the connection that comes second before its end.
func losing(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
	var others []net.Conn
	defer func() {
		for _, conn := range others {
			_ = conn.Close()
		}
	}()
	return byHand{}.run(ctx, func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if other, failed := dial(ctx, network, addr); failed == nil {
			others = append(others, other)
		}
		return conn, err
	}, got)
}

// kinds are loops with faults that show only while a client runs, after a clean end, in its first dial, at a certain
// byte, in its waits, or after its end.
var kinds = []wrong{
	{"left: connections are closed only with the client", prove.Open, of(serveLines(events), byHand{closesLate: func(int, error, int) bool { return true }}.run)},
	{"left: silent connections are closed only with the client", prove.Open, of(serveLines(events), byHand{closesLate: func(_ int, err error, _ int) bool {
		timeout, ok := err.(net.Error)
		return ok && timeout.Timeout()
	}}.run)},
	{"left: connections without a greeting are closed only with the client", prove.Open, of(greeted(events), byHand{greeting: true,
		closesLate: func(_ int, err error, lines int) bool { return lines == 0 }}.run)},
	{"left: undisturbed, connections are closed only with the client", prove.Open, of(serveLines(events), polling)},
	{"left: a goroutine for each connection that delivered", prove.Left, of(serveLines(12), waiter(func(_, lines int) bool { return lines > 0 }))},
	{"left: a goroutine for each third connection that delivered", prove.Left, of(serveLines(events), waiter(func(connection, lines int) bool { return lines > 0 && connection%3 == 0 }))},
	{"left: a goroutine from the third working connection on", prove.Left, of(serveLines(events), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		return waiter(thirdWorking())(ctx, dial, got)
	})},
	{"left: a goroutine for each third connection of a stream", prove.Left, feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			var all sync.WaitGroup
			defer all.Wait()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			connections := 0
			return faultless(func(at int) ints {
				if connections++; connections%3 == 0 {
					all.Go(func() { <-ctx.Done() })
				}
				return connect(at)
			})(ctx, yield)
		}
	})},
	{"late: a timer connects after the end", prove.Late, of(serveLines(events), reconnectsAfterItsEnd)},
	{"late: a timer subscribes after the end of a stream", prove.Late, feeding(func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			defer time.AfterFunc(9*time.Second, func() { _ = connect(0)(ctx, func(int) bool { return false }) })
			return faultless(connect)(ctx, yield)
		}
	})},
	{"end: no wait after a clean one", prove.Hot, of(serveLines(events), byHand{noWait: func(err error, _ int) bool { return err == io.EOF }}.run)},
	{"end: no wait after a clean one that came after a line", prove.Hot, of(serveLines(12), byHand{noWait: func(err error, lines int) bool { return err == io.EOF && lines > 0 }}.run)},
	{"context: not in the first dial", prove.Late, of(serveLines(events), each(func() byHand {
		dials := 0
		return byHand{dialUnder: func(ctx context.Context) context.Context {
			if dials++; dials == 1 {
				return context.Background()
			}
			return ctx
		}}
	}))},
	{"context: not in the handshake of a reconnect", prove.Late, of(greeted(events), byHand{greeting: true, deaf: later}.run)},
	{"amid: half a line is dropped when a deadline passes", prove.Lost, of(serveLines(events), byHand{tick: time.Second}.run)},
	{"amid: half a line is dropped when a long deadline passes", prove.Lost, of(serveLines(events), byHand{tick: 10 * time.Second}.run)},
	{"amid: a position that comes with the next line", prove.Repeated, of(serveOf(events, twoLines), readingWith(func(in *bufio.Reader, last int, got func(string)) (int, error) {
		line, err := in.ReadString('\n')
		switch {
		case err != nil || line == "\n":
		case line[0] == '#':
			last, _ = strconv.Atoi(strings.TrimSpace(line[1:]))
		default:
			got(strings.TrimSpace(line))
		}
		return last, err
	}))},
	{"amid: half a header is taken for a whole one", prove.Foreign, of(serveOf(events, framed), readingWith(func(in *bufio.Reader, last int, got func(string)) (int, error) {
		var length [4]byte
		if _, err := in.Read(length[:]); err != nil {
			return last, err
		}
		text := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(in, text); err != nil || string(text) == "." {
			return last, err
		}
		got(string(text))
		return last + 1, nil
	}))},
	{"amid: the first byte of a line is taken for a bookmark", prove.Lost, of(serveLines(events), readingWith(func(in *bufio.Reader, last int, got func(string)) (int, error) {
		line, err := in.ReadString('\n')
		line = strings.TrimSpace(line)
		if at, failed := strconv.Atoi(line); failed == nil {
			return at, err
		}
		if err == nil && line != "" {
			got(line)
			last = number(0, line)
		}
		return last, err
	}))},
	{"waits: constant ones of 200 ms", prove.Hot, feeding(with(retry.New(backoff.Constant(200 * time.Millisecond).Jitter(jitter.Equal))))},
	{"waits: constant ones of 3 s", prove.Hot, of(serveLines(events), byHand{wait: func(int, int, int) time.Duration { return 2*time.Second + rand.N(time.Second) }}.run)},
	{"waits: a connection starts them over", prove.Hot, of(serveLines(events), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		wait := 100 * time.Millisecond
		return byHand{wait: func(int, int, int) time.Duration {
			defer func() { wait = min(time.Minute, 2*wait) }()
			return wait + rand.N(wait)
		}}.run(ctx, func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err == nil {
				wait = 100 * time.Millisecond
			}
			return conn, err
		}, got)
	})},
	{"jitter: in the first wait only", prove.Jitter, of(serveLines(events), byHand{wait: func(_, attempts, _ int) time.Duration {
		if attempts < 1 {
			return pauseFor()
		}
		return min(time.Minute, 5*time.Second<<min(attempts, 10))
	}}.run)},
	{"jitter: of less than a hundredth", prove.Jitter, of(serveLines(events), byHand{wait: func(int, int, int) time.Duration {
		return 10*time.Second + rand.N(50*time.Millisecond)
	}}.run)},
	{"silence: not noticed from the third connection on", prove.Silent, of(serveLines(events), byHand{noTimeout: func(connection int) bool { return connection > 2 }}.run)},
	{"dials: the loser of two stays open", prove.Open, of(serveLines(events), losing)},
}

func TestWrong_Kinds(t *testing.T) {
	expectAll(t, kinds)
}

// What is left may connect long after the end.
func TestWrong_LateByWhatIsLeft(t *testing.T) {
	wrong{"", prove.Late, of(serveLines(events), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		err := byHand{}.run(ctx, dial, got)
		go func() { time.Sleep(30 * time.Second); _, _ = dial(context.Background(), "tcp", "127.0.0.1:80") }()
		return err
	})}.expect(t)
}
