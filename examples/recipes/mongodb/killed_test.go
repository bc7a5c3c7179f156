package mongodb_test

import (
	"context"
	"net/rpc"
	"strconv"
	"sync"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/stream"
)

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
