package blockchain_test

import (
	"context"
	"net/rpc"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/blockchain"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// chains is a node, which the program that is killed calls. When it is asked for what follows block 50, another chain
// replaces the last three blocks. The hash of a block is its number, and on the other chain also a '.
type chains struct {
	mu       sync.Mutex
	replaced bool
}

func (c *chains) hash(number uint64) string {
	if c.replaced && number > 47 {
		return strconv.FormatUint(number, 10) + "'"
	}
	return strconv.FormatUint(number, 10)
}

// ByNumber finds no block 51 at first.
func (c *chains) ByNumber(number uint64, found *[]block) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number == 51 && !c.replaced {
		c.replaced = true
		return nil
	}
	*found = []block{{Position: blockchain.Position{Number: number, Hash: c.hash(number)}, Parent: c.hash(number - 1)}}
	return nil
}

// ByHash finds the blocks of the first chain.
func (c *chains) ByHash(hash string, found *[]block) error {
	number, err := strconv.ParseUint(hash, 10, 64)
	*found = []block{{Position: blockchain.Position{Number: number, Hash: hash}, Parent: strconv.FormatUint(number-1, 10)}}
	return err
}

// program stores the position after each block of the chain that remains, which are the events 1 to 100. The blocks 48
// to 50 of the other one are the events 101 to 103, and that they are undone is 104 to 106.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := blockchain.Position{Hash: "0"}
	e.Start(&at)
	server, err := rpc.DialHTTP("tcp", args[0])
	if err != nil {
		return err
	}
	call := func(method string, of any) (*block, error) {
		var found []block
		if err := server.Call(method, of, &found); err != nil || len(found) == 0 {
			return nil, err
		}
		return &found[0], nil
	}
	node := blockchain.Node[string]{
		ByNumber: func(_ context.Context, number uint64) (*block, error) { return call("Fake.ByNumber", number) },
		ByHash:   func(_ context.Context, hash string) (*block, error) { return call("Fake.ByHash", hash) },
	}
	return killed.Follow(ctx, e, 106, node.Follow(at, 10*time.Millisecond, time.Second, policy), func(b block) (int, any) {
		switch n := int(b.Number); {
		case b.Undone:
			return n + 56, b.After()
		case n > 47 && n <= 50 && !strings.HasSuffix(b.Hash, "'"):
			return n + 53, b.After()
		default:
			return n, b.After()
		}
	})
}

func TestFollow_Killed(t *testing.T) {
	killed.Check(t, "A blockchain", 25, 4, 106, "0", killed.Serve(t, new(chains)))
}
