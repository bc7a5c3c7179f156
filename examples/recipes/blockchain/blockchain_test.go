package blockchain_test

import (
	"context"
	"errors"
	"net/rpc"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/blockchain"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

type block = blockchain.Block[string]

// The chains of the node, by the time that has passed: a block comes every 10 s, and at 60 s a longer chain replaces
// the last three blocks. The name of a block is its hash and its log.
func chain(passed time.Duration) []string {
	if passed < time.Minute {
		return strings.Fields("0 1 2 3 4 5")[:1+passed/(10*time.Second)]
	}
	return strings.Fields("0 1 2 3' 4' 5' 6' 7' 8'")[:min(9, 1+passed/(10*time.Second))]
}

// node is a fake, which knows orphaned blocks too. fault is called before each call.
func node(fault func(ctx context.Context) error) blockchain.Node[string] {
	begin := time.Now()
	find := func(ctx context.Context, in []string, is func(hash string) bool) (*block, error) {
		for range 2 { // the block, and its logs
			if err := fault(ctx); err != nil {
				return nil, err
			}
		}
		i := slices.IndexFunc(in, is)
		if i < 1 {
			return nil, nil
		}
		return &block{Position: blockchain.Position{Number: uint64(i), Hash: in[i]}, Parent: in[i-1], Logs: []string{"log of " + in[i]}}, nil
	}
	return blockchain.Node[string]{
		ByNumber: func(ctx context.Context, number uint64) (*block, error) {
			now := chain(time.Since(begin))
			return find(ctx, now, func(hash string) bool { return number < uint64(len(now)) && hash == now[number] })
		},
		ByHash: func(ctx context.Context, hash string) (*block, error) {
			is := func(h string) bool { return h == hash }
			if b, err := find(ctx, chain(59*time.Second), is); b != nil || err != nil {
				return b, err
			}
			return find(ctx, chain(time.Hour), is)
		},
	}
}

var policy = retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Equal), retry.ResetAfterItems(1), retry.Limit(8))

// Each call fails once, in each way. Each block follows its parent, only the last one is undone, with its logs, and in
// the end the client has the node's chain.
func TestFollow(t *testing.T) {
	for name, failure := range map[string]func(context.Context) error{
		"cut":    func(context.Context) error { return errors.New("connection reset by peer") },
		"silent": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for at, calls := 1, 2; at < calls; at++ {
					calls = 0
					n := node(func(ctx context.Context) error {
						if calls++; calls == at {
							return failure(ctx)
						}
						return nil
					})
					chain, undone := []string{"0"}, 0
					err := n.Follow(blockchain.Position{Number: 0, Hash: "0"}, 3*time.Second, 5*time.Second, policy)(t.Context(), func(b block) bool {
						last := chain[len(chain)-1]
						if !slices.Equal(b.Logs, []string{"log of " + b.Hash}) {
							t.Errorf("call %d fails: block %s has the logs %q", at, b.Hash, b.Logs)
						}
						switch {
						case b.Undone && b.Hash == last:
							chain, undone = chain[:len(chain)-1], undone+1
						case !b.Undone && b.Parent == last && b.Number == uint64(len(chain)):
							chain = append(chain, b.Hash)
						default:
							t.Errorf("call %d fails: %+v comes after %s", at, b, last)
						}
						return b.Hash != "8'"
					})
					if got := strings.Join(chain, " "); err != nil || got != "0 1 2 3' 4' 5' 6' 7' 8'" || undone != 3 {
						t.Errorf("call %d fails: the chain is %s, %d undone, %v", at, got, undone, err)
					}
					if calls < 30 {
						t.Errorf("%d calls, want more", calls)
					}
				}
			})
		})
	}
}

// An outage ends when the node answers, although there is no next block yet.
func TestFollow_Idle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		calls := 0
		n := blockchain.Node[string]{ByNumber: func(context.Context, uint64) (*block, error) {
			if calls++; calls == 1 {
				return nil, errors.New("connection reset by peer")
			}
			return nil, nil
		}}
		p := policy.With(retry.OnRecovered(func(context.Context, retry.Recovery) { stop() }))
		if _, err := n.Follow(blockchain.Position{}, time.Second, time.Second, p).Collect(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("not recovered: %v", err)
		}
	})
}

func TestFollow_Unknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := node(func(context.Context) error { return nil })
		time.Sleep(time.Hour)
		stored := blockchain.Position{Number: 4, Hash: "of another node"}
		_, err := n.Follow(stored, 3*time.Second, 5*time.Second, policy).Collect(t.Context())
		if !errors.Is(err, blockchain.ErrUnknown) || errors.Is(err, retry.ErrExhausted) {
			t.Errorf("got %v", err)
		}
	})
}

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
