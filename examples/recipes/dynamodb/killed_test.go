package dynamodb_test

import (
	"context"
	"net/rpc"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/dynamodb"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// remote serves the shard to the program that is killed.
type remote struct{ shard dynamodb.Shard[int] }

// Page is what Records returns.
type Page struct {
	Records []int
	Next    string
}

func (r remote) Iterator(after string, iterator *string) (err error) {
	*iterator, err = r.shard.Iterator(context.Background(), after)
	return err
}

func (r remote) Records(iterator string, p *Page) (err error) {
	p.Records, p.Next, err = r.shard.Records(context.Background(), iterator)
	return err
}

// program stores the sequence number of each record.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := ""
	e.Start(&at)
	server, err := rpc.DialHTTP("tcp", args[0])
	if err != nil {
		return err
	}
	shard := new(service).shard()
	shard.Iterator = func(_ context.Context, after string) (iterator string, err error) {
		err = server.Call("Fake.Iterator", after, &iterator)
		return iterator, err
	}
	shard.Records = func(_ context.Context, iterator string) ([]int, string, error) {
		var p Page
		err := server.Call("Fake.Records", iterator, &p)
		return p.Records, p.Next, err
	}
	return killed.Follow(ctx, e, 12, shard.Follow(at, time.Millisecond, time.Second, policy), func(n int) (int, any) { return n, shard.Sequence(n) })
}

// The pages have two records: it is killed amid them, and at their ends.
func TestFollow_Killed(t *testing.T) {
	s := &service{fault: func(context.Context, int) error { return nil }}
	killed.Check(t, "DynamoDB Streams", 3, 3, 12, "0", killed.Serve(t, remote{s.shard()}))
}
