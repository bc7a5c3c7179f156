package mongodb_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/rpc"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/mongodb"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// raw is bson.Raw.
type raw []byte

// batch is what a getMore returns: an event and its token, or, if there is no event, the token of an empty batch.
type batch struct {
	event, token string
}

// changes is a fake of the driver's change stream: a cursor that asks the connection for batch after batch.
type changes struct {
	next  func() (batch, error, bool)
	stop  func()
	now   batch
	err   error
	ended bool
}

func (c *changes) TryNext(context.Context) bool {
	now, err, ok := c.next()
	if c.err, c.ended = err, !ok; err != nil || !ok {
		return false
	}
	c.now = now
	return now.event != ""
}

func (c *changes) Decode(event any) error {
	*event.(*string) = c.now.event
	return nil
}

func (c *changes) ResumeToken() raw {
	if c.now.token == "" {
		return nil // nothing was received
	}
	return raw(c.now.token)
}

func (c *changes) ID() int64 {
	if c.ended {
		return 0
	}
	return 7
}

func (c *changes) Err() error                  { return c.err }
func (c *changes) Close(context.Context) error { c.stop(); return nil }

// serverError is a mongo.ServerError.
type serverError int

func (e serverError) Error() string              { return fmt.Sprintf("(%d) from the server", int(e)) }
func (e serverError) HasErrorCode(code int) bool { return int(e) == code }

var policy = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfterItems(1), retry.ResetAfter(time.Minute))

// follow returns the events, as one that does not store the tokens.
func follow(connect func(at string) stream.Stream[batch]) stream.Stream[string] {
	events := positions(connect, nil).Filter(func(m marked) bool { return !m.Bookmark })
	return operators.Map(events, func(m marked) string { return m.Value })
}

type marked = operators.Marked[string, raw]

func positions(connect func(at string) stream.Stream[batch], start raw) stream.Stream[marked] {
	watch := func(ctx context.Context, after raw) (mongodb.ChangeStream[raw], error) {
		c := &changes{}
		c.next, c.stop = iter.Pull2(connect(string(after)).All(ctx))
		return c, nil
	}
	return mongodb.Follow[string](watch, start, 30*time.Second, policy)
}

// The recipe comes back from every break at every event.
func TestFollow(t *testing.T) {
	feed := reconnecttest.Feed[batch, string]{
		From: func(at string) int { // tokens are names: that of an empty batch lies between two events
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(at, "token "), ", and nothing"))
			return n
		},
		Idle: func(next int) batch { return batch{token: fmt.Sprintf("token %d, and nothing", next)} },
		Lost: func(int) error { return serverError(286) },
	}
	for n := 1; n <= 12; n++ {
		feed.Events = append(feed.Events, batch{"insert " + strconv.Itoa(n), "token " + strconv.Itoa(n)})
	}
	reconnecttest.CheckResume(t, feed, follow)
}

func TestFollow_Lost(t *testing.T) {
	connections := 0
	_, err := follow(func(string) stream.Stream[batch] {
		connections++
		return stream.Fail[batch](serverError(286))
	}).Collect(t.Context())
	if !errors.Is(err, mongodb.ErrLost) || !errors.Is(err, serverError(286)) || errors.Is(err, retry.ErrExhausted) || connections != 1 {
		t.Errorf("%v after %d connections", err, connections)
	}
}

// The next change stream starts after an invalidate event, as of a collection that is dropped, with which the server
// closes the stream; and after the token of an empty batch, which counts events of other collections too.
func TestFollow_StartsAfter(t *testing.T) {
	reset := stream.Fail[batch](errors.New("connection reset by peer"))
	for _, test := range []struct {
		first       stream.Stream[batch]
		next        batch
		want, after string
	}{
		{stream.Of(batch{"drop", "token 1"}, batch{"invalidate", "token 2"}), batch{"insert", "token 3"}, "drop, invalidate, insert", "token 2"},
		{stream.Of(batch{"insert 1", "token 1"}, batch{token: "token 50"}).Concat(reset), batch{"insert 2", "token 51"}, "insert 1, insert 2", "token 50"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var opened []string
			got, err := follow(func(at string) stream.Stream[batch] {
				if opened = append(opened, at); len(opened) == 1 {
					return test.first
				}
				return stream.Of(test.next)
			}).Take(strings.Count(test.want, ",") + 1).Collect(t.Context())
			if err != nil || strings.Join(got, ", ") != test.want || strings.Join(opened, ",") != ","+test.after {
				t.Errorf("got %q, %v, opened after %q; want %s, after %s", got, err, opened, test.want, test.after)
			}
		})
	}
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// collection is a server with the events 1 to 100 and the cursors of the change streams. Before each event is an empty
// batch, so the token of the event n is 2n.
type collection struct {
	mu      sync.Mutex
	cursors []int
}

// Watch opens a cursor after a token.
func (c *collection) Watch(after string, cursor *int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, _ := strconv.Atoi(after)
	*cursor = len(c.cursors)
	c.cursors = append(c.cursors, at)
	return nil
}

// Batch is a batch, or the end of all.
type Batch struct {
	Event, Token string
	End          bool
}

// Next returns the next batch of a cursor.
func (c *collection) Next(cursor int, b *Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cursors[cursor]++
	token := c.cursors[cursor]
	*b = Batch{Token: strconv.Itoa(token), End: token > 200}
	if token%2 == 0 {
		b.Event = strconv.Itoa(token / 2)
	}
	return nil
}

// program stores each token, also those of empty batches.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	var start raw
	e.Start(&start)
	server, err := rpc.DialHTTP("tcp", args[0])
	if err != nil {
		return err
	}
	connect := func(after string) stream.Stream[batch] {
		return func(_ context.Context, yield func(batch) bool) error {
			var cursor int
			if err := server.Call("Fake.Watch", after, &cursor); err != nil {
				return err
			}
			for {
				var b Batch
				if err := server.Call("Fake.Next", cursor, &b); err != nil || b.End || !yield(batch{b.Event, b.Token}) {
					return err
				}
			}
		}
	}
	return positions(connect, start).TakeWhile(func(m marked) bool {
		if n, _ := strconv.Atoi(m.Value); m.Bookmark {
			e.Apply(m.At)
		} else {
			e.Apply(m.At, n)
		}
		return m.Value != "100"
	}).ForEach(ctx, func(marked) {})
}

// Killed after effects, and after tokens of empty batches.
func TestFollow_Killed(t *testing.T) {
	killed.Check(t, "MongoDB", 9, 21, 100, "0", killed.Serve(t, new(collection)))
}
