package blockchain_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/blockchain"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the position after each block of a chain that does not change.
func program(ctx context.Context, e *killed.Effects, _ []string) error {
	at := blockchain.Position{Hash: "0"}
	if err := e.Start(&at); err != nil {
		return err
	}
	named := func(_ context.Context, number uint64) (*block, error) {
		name := strconv.FormatUint(number, 10)
		return &block{Position: blockchain.Position{Number: number, Hash: name}, Parent: strconv.FormatUint(number-1, 10)}, nil
	}
	node := blockchain.Node[string]{ByNumber: named}
	return killed.Follow(ctx, e, 100, node.Follow(at, time.Second, time.Second, policy), func(b block) (int, any) { return int(b.Number), b.Position })
}

func TestFollow_Killed(t *testing.T) { killed.Check(t, 10, 8, 1, 100, false) }
