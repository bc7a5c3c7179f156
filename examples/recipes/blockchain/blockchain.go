// Package blockchain follows the logs of a chain's blocks, as of Ethereum, and takes back those of a block that a
// reorganisation has orphaned. It imports no client, whose calls fit into two functions.
package blockchain

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Position is a block. A number alone is no position: after a reorganisation it means another block.
type Position struct {
	Number uint64
	Hash   string
}

// Block is a block with its logs. If it is Undone, take their effects back.
type Block[Log any] struct {
	Position
	Parent string
	Logs   []Log
	Undone bool
}

// Node is a node. Each function makes two calls: eth_getBlockByNumber or eth_getBlockByHash, and then eth_getLogs with
// the blockHash, because by a number it may return the logs of another block. The returned Block is the caller's.
type Node[Log any] struct {
	ByNumber func(ctx context.Context, number uint64) (*Block[Log], error) // nil: there is none yet
	ByHash   func(ctx context.Context, hash string) (*Block[Log], error)   // also of orphaned blocks; nil: unknown
}

// ErrUnknown is the error if the node does not know the block of the position, and so not what to undo. It is
// permanent.
var ErrUnknown = errors.New("the node does not know the block of the position")

// Follow returns the blocks after start, each once its parent was returned. When the next block has another parent than
// the position, the position's block is returned as Undone, and the position goes back to its parent. Without a next
// block it asks again after every. A call of the node that takes longer than silence fails.
//
// Blocks that are final need no undoing: a ByNumber that returns nil for those after the "finalized" one never leads to
// it.
func (n Node[Log]) Follow(start Position, every, silence time.Duration, policy stream.RetryHandler) stream.Stream[Block[Log]] {
	return operators.Resume(start, func(at Position) stream.Stream[Block[Log]] {
		return func(ctx context.Context, yield func(Block[Log]) bool) error {
			for {
				b, err := n.next(ctx, at, silence)
				if err == nil && b == nil {
					stream.Works(ctx)
					if _, err = stream.Timer(every).One(ctx); err == nil {
						continue
					}
				}
				if err != nil || !yield(*b) {
					return err
				}
				at = b.After()
			}
		}
	}, func(_ Position, b Block[Log]) Position { return b.After() }, policy)
}

// After returns the position to store with the block's effects.
func (b Block[Log]) After() Position {
	if b.Undone {
		return Position{b.Number - 1, b.Parent}
	}
	return b.Position
}

func (n Node[Log]) next(ctx context.Context, at Position, silence time.Duration) (*Block[Log], error) {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	b, err := n.ByNumber(ctx, at.Number+1)
	if err == nil && b != nil && b.Parent != at.Hash {
		if b, err = n.ByHash(ctx, at.Hash); b != nil {
			b.Undone = true
		} else if err == nil {
			err = stream.Permanent(ErrUnknown)
		}
	}
	return b, err
}
