package reconnecttest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// What the first finding says is so, and its advice is for this fault.
func TestFindings_AreTrue(t *testing.T) {
	losing := numbers(4)
	losing.Lost = func(oldest int) error { return purged(oldest) }
	for _, test := range []struct {
		name  string
		check func(t *testing.T, opts ...reconnecttest.Option) reconnecttest.Report
		want  string // with which the finding begins
		mend  string
	}{
		{"it drops all that comes after its consumer has stopped", feeding(func(connect connect) ints {
			return func(ctx context.Context, yield func(int) bool) error {
				stopped := false
				return faultless(connect)(ctx, func(v int) bool {
					stopped = stopped || !yield(v)
					return true
				})
			}
		}), "the consumer stops at 1: it has not returned a second after yield returned false: ", "does it return as soon as yield returns false?"},
		{"it notices silence, and waits for too long", feeding(func(connect connect) ints {
			return func(ctx context.Context, yield func(int) bool) error {
				at := 0
				return handWritten(connect, &at, nothing, func(v int) { at = v }, func(ctx context.Context, err error) {
					if errors.Is(err, stream.ErrTimeout) {
						_, _ = stream.Timer(20*time.Minute + rand.N(time.Second)).Collect(ctx)
					}
					pause(ctx, err)
				})(ctx, yield)
			}
		}), "the connection falls silent before event 1 of", "is every failure retried?"},
		{"it handles a lost position, and skips an event", func(t *testing.T, opts ...reconnecttest.Option) reconnecttest.Report {
			return reconnecttest.CheckResume(t, losing, func(connect connect) ints {
				return operators.Resume(0, func(at int) ints {
					return connect(at).Catch(func(err error) ints {
						if oldest := purged(0); errors.As(err, &oldest) {
							return connect(min(4, int(oldest)+1))
						}
						return stream.Fail[int](err)
					}).Timeout(time.Minute).MustNotEnd(io.EOF)
				}, latest, reconnect)
			}, opts...)
		}, "the connection is cut, and the server has dropped the next event too, before event 2 of 4 (2): it continued at event 4, and lost 3", "does it continue with the first event that is left, and deliver it?"},
		{"it handles a lost position, and drops the first event", func(t *testing.T, opts ...reconnecttest.Option) reconnecttest.Report {
			return reconnecttest.CheckResume(t, losing, func(connect connect) ints {
				return operators.Resume(0, func(at int) ints {
					return connect(at).Catch(func(err error) ints {
						if errors.As(err, new(purged)) {
							return connect(0).Skip(1)
						}
						return stream.Fail[int](err)
					}).Timeout(time.Minute).MustNotEnd(io.EOF)
				}, latest, reconnect)
			}, opts...)
		}, "the connection is cut, and the server has dropped the next event too, before event 2 of 4 (2): it continued at event 3, and lost 3", "does it continue with the first event that is left, and deliver it?"},
		{"it writes without a pause", of(serveLines(events), byHand{keepAlive: true}.run), "undisturbed: it spins: more than 10000 calls of its connections at one instant, without a wait", "does each turn of the loop wait, or end after an error?"},
		{"it writes without an end from its second value on", of(serveLines(3), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			var conn net.Conn
			return byHand{}.run(ctx, func(ctx context.Context, network, addr string) (c net.Conn, err error) {
				conn, err = dial(ctx, network, addr)
				return conn, err
			}, func(line string) {
				if got(line); number(0, line) == 2 {
					_, _ = spinning{conn}.Write([]byte("x"))
				}
			})
		}), "undisturbed: it spins: more than 10000 calls of its connections at one instant, without a wait", "does each turn of the loop wait, or end after an error?"},
		{"it writes often, and receives nothing", of(serveLines(2), func(ctx context.Context, dial reconnecttest.Dial, _ func(string)) error {
			conn, err := dial(ctx, "tcp", "127.0.0.1:80")
			if err != nil {
				return err
			}
			defer conn.Close()
			for ctx.Err() == nil {
				if _, err := io.WriteString(conn, " "); err != nil {
					return err
				}
				time.Sleep(time.Millisecond / 2)
			}
			return context.Cause(ctx)
		}), "undisturbed: it wrote more than 20000 times in 20s", "does each turn of the loop wait, or end after an error?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var found []string
			test.check(t, reconnecttest.OnFinding(func(f reconnecttest.Finding) {
				found = append(found, fmt.Sprintf("%s: %s; %s", f.Where, f.What, f.Mend))
			}))
			if len(found) == 0 || !strings.HasPrefix(found[0], test.want) || !strings.HasSuffix(found[0], "; "+test.mend) {
				t.Errorf("got %q, want %q and %q", found, test.want, test.mend)
			}
		})
	}
}

// spinning is a connection whose writes do not end.
type spinning struct{ net.Conn }

func (s spinning) Write(p []byte) (n int, err error) {
	for err == nil {
		n, err = s.Conn.Write(p)
	}
	return n, err
}

// A kind that no scenario has shown is not found.
func TestFindings_OfOtherKinds(t *testing.T) {
	stored := 0
	for _, test := range []struct {
		name  string
		check func(t *testing.T, opts ...reconnecttest.Option) reconnecttest.Report
		not   reconnecttest.Kind
	}{
		{"its position is stored outside of all runs, so that its consumer never stops", feeding(func(connect connect) ints {
			return handWritten(connect, &stored, nothing, func(v int) { stored = v }, pause)
		}), prove.Stop},
		{"it closes each connection after a line, and stays away after a silent one", of(serveLines(2), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			last := 0
			for ctx.Err() == nil {
				conn, err := dial(ctx, "tcp", "127.0.0.1:80")
				if err == nil {
					stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
					_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
					_, _ = fmt.Fprintln(conn, last)
					var line string
					if line, err = bufio.NewReader(conn).ReadString('\n'); err == nil && len(line) > 1 {
						got(line)
						last = number(0, line)
					}
					stop()
					_ = conn.Close()
				}
				if pause(ctx, nil); errors.Is(err, os.ErrDeadlineExceeded) {
					_, _ = stream.Timer(20*time.Minute + rand.N(time.Second)).Collect(ctx)
				}
			}
			return context.Cause(ctx)
		}), prove.Silent},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := test.check(t, reconnecttest.OnFinding(func(reconnecttest.Finding) {}))
			for _, f := range report.Findings {
				if f.Kind == test.not {
					t.Errorf("got %s: %s", f.Kind, f)
				}
			}
			if len(report.Findings) == 0 {
				t.Error("it has no finding at all")
			}
		})
	}
}

// Goroutines that a client has from its beginning are not left by attempts.
func TestCheckResume_Workers(t *testing.T) {
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(4*time.Minute).Jitter(jitter.Equal), retry.ResetAfterItems(1))
	reconnecttest.CheckResume(t, numbers(3), func(connect connect) ints {
		return func(ctx context.Context, yield func(int) bool) error {
			var workers sync.WaitGroup
			defer workers.Wait()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			for range 40 {
				workers.Go(func() { <-ctx.Done() })
			}
			return with(policy)(connect)(ctx, yield)
		}
	})
}

// A client may deliver values on several goroutines at once.
func TestCheck_GotConcurrently(t *testing.T) {
	reconnecttest.Check(t, against(serveLines(2), func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
		var both sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			both.Go(func() { errs[i] = byHand{}.run(ctx, dial, got) })
		}
		both.Wait()
		return errors.Join(errs...)
	}), reconnecttest.AnyOrder())
}

// A Known that a check cannot find does not apply to it.
func TestKnown_DoesNotApply(t *testing.T) {
	known := func(kind reconnecttest.Kind) reconnecttest.Option { return reconnecttest.Known(kind, "", "why") }
	check.Panics(t, `reconnecttest: Check: Known: kind is "second", which this check cannot find`, func() {
		reconnecttest.Check(t, against(serveLines(1), following), known(prove.Second))
	})
	check.Panics(t, `reconnecttest: CheckResume: Known: kind is "gone", which this check cannot find`, func() {
		reconnecttest.CheckResume(t, numbers(1), faultless, known(prove.Gone))
	})
}
