package durable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/retry"
)

// BudgetConfig says what a fleet may spend on retries. Name, Tokens and one of URL, Server and Conn are needed.
type BudgetConfig struct {
	URL    string
	Server Server
	Conn   *nats.Conn
	NATS   []nats.Option
	// Name is the budget's, as Config.Name is a queue's: budgets of one name are one.
	Name string

	// Tokens is how many retries all processes together may make in each Per, 1 s by default. All processes must say
	// the same.
	Tokens int
	Per    time.Duration
	// Local is how many retries this process may make in each Per while the server does not answer; a tenth of Tokens
	// by default. Tokens divided by the number of processes keeps the bound for the fleet.
	Local float64
	// Timeout is how long an answer may take before the server counts as silent, 250 ms by default.
	Timeout time.Duration
	// Replicas is how many servers keep the counter, 1 by default. It is kept in memory.
	Replicas int
}

// Budget bounds the retries of a fleet: processes that share it make, all together, no more retries than its tokens.
// Each has a small retry.Budget of its own, which policies spend as any other, without waiting for anybody; it is
// filled from a counter that the server keeps, before it is empty. When the server does not answer in time it is
// filled at the rate of BudgetConfig.Local.
//
// A budget in the process is the better choice as long as a fixed share for each process will do: it costs no server
// and cannot fail. A shared one is worth it when the processes are many, come and go, or are unevenly busy, and what
// they retry against is one server that a burst of retries would hurt.
type Budget struct {
	config BudgetConfig
	nc     *nats.Conn
	owned  bool
	js     jetstream.JetStream
	purse  *retry.Budget
	slice  time.Duration // Per, divided
	cancel context.CancelFunc
	ended  chan struct{}
	close  sync.Once

	granted, local atomic.Int64
	silent         atomic.Bool
}

const (
	// tick is how often the purse is filled, on average. The tokens of a Per are divided into slices of at least
	// leastSlice, so that they are not all gone at its beginning.
	tick       = 20 * time.Millisecond
	leastSlice = 100 * time.Millisecond
)

// OpenBudget joins the budget, and makes its counter if it is not there. The server must be of version 2.12 or later.
func OpenBudget(ctx context.Context, c BudgetConfig) (*Budget, error) {
	if c.Tokens < 1 {
		return nil, fmt.Errorf("durable: budget: Tokens is %d, want at least 1", c.Tokens)
	}
	if c.Per != 0 && c.Per < leastSlice || c.Per > time.Hour {
		return nil, fmt.Errorf("durable: budget: Per is %v, want %v to 1h", c.Per, leastSlice)
	}
	if c.Local < 0 || c.Local != c.Local || c.Timeout < 0 {
		return nil, fmt.Errorf("durable: budget: Local is %v and Timeout %v, want at least 0", c.Local, c.Timeout)
	}
	orDefault(&c.Per, time.Second)
	orDefault(&c.Local, float64(c.Tokens)/10)
	orDefault(&c.Timeout, 250*time.Millisecond)
	queue, err := Config{URL: c.URL, Server: c.Server, Conn: c.Conn, NATS: c.NATS, Name: c.Name, Replicas: c.Replicas}.withDefaults()
	if err != nil {
		return nil, err
	}
	nc, owned, err := connect(ctx, queue)
	if err != nil {
		return nil, err
	}
	b := &Budget{config: c, nc: nc, owned: owned, slice: c.Per / time.Duration(slicesOf(c.Per)), ended: make(chan struct{})}
	if err := b.open(ctx, queue); err != nil {
		if owned {
			nc.Close()
		}
		return nil, err
	}
	// A quarter of a slice: whoever asks first leaves some for the others.
	most := max(1, float64(c.Tokens)/float64(slicesOf(c.Per))/4)
	b.purse = retry.NewBudget(most, 1, 0)
	b.purse.Add(-most)
	ctx, b.cancel = context.WithCancel(context.Background())
	go b.run(ctx, most)
	return b, nil
}

func (b *Budget) open(ctx context.Context, queue Config) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	v, err := serverVersion(ctx, b.nc)
	if err != nil {
		return explain("budget", err)
	}
	if !canSchedule(v) {
		return &failure{"budget", ErrRefused, errors.New("the server is of version " + v + " and has no counters"), "update it to 2.12 or later"}
	}
	if b.js, err = jetstream.New(b.nc); err != nil {
		return explain("budget", err)
	}
	b.config.Replicas = queue.Replicas
	return b.ensure(ctx)
}

// ensure makes the counter's stream if it is not there.
func (b *Budget) ensure(ctx context.Context) error {
	_, err := ensureStream(ctx, b.js, jetstream.StreamConfig{
		Name:              "retrywhen-" + b.config.Name + "+budget", // no queue's: their names have no +
		Description:       "retry budget " + b.config.Name,
		Subjects:          []string{"retrywhen." + b.config.Name + ".budget.*"},
		Storage:           jetstream.MemoryStorage,
		Replicas:          b.config.Replicas,
		MaxAge:            2*b.config.Per + 3*time.Minute,
		MaxMsgsPerSubject: 1,
		Duplicates:        2 * time.Minute,
		AllowMsgCounter:   true,
	}, false)
	return err
}

// Option has a policy spend from the budget.
func (b *Budget) Option() retry.Option { return retry.WithBudget(b.purse) }

// Local is the budget of this process, which the shared one fills.
func (b *Budget) Local() *retry.Budget { return b.purse }

// Silent reports whether the server does not answer, so that the tokens are local ones.
func (b *Budget) Silent() bool { return b.silent.Load() }

// Granted returns how many tokens the server has granted to this process, and how many it has given itself while the
// server was silent.
func (b *Budget) Granted() (shared, local int64) { return b.granted.Load(), b.local.Load() }

// Close leaves the budget. Policies that have it then find it empty, once the tokens in hand are spent.
func (b *Budget) Close() error {
	b.close.Do(func() {
		b.cancel()
		<-b.ended
		if b.owned {
			b.nc.Close()
		}
	})
	return nil
}

// run keeps the purse filled.
func (b *Budget) run(ctx context.Context, most float64) {
	defer close(b.ended)
	// Each wait is another one, so that no process is always the first after the turn of a slice.
	timer := time.NewTimer(rand.N(2 * tick))
	defer timer.Stop()
	var (
		spent  int64     = -1 // the slice that has no tokens left
		asked  time.Time      // when a silent server was last asked
		filled time.Time      // up to when local tokens were given
		owed   float64        // parts of a local token
	)
	for {
		select {
		case <-timer.C:
			timer.Reset(rand.N(2 * tick))
		case <-ctx.Done():
			return
		}
		now := time.Now()
		want := int64(most - b.purse.Tokens())
		if current := now.UnixNano() / int64(b.slice); want >= 1 && spent != current && (!b.silent.Load() || now.Sub(asked) >= time.Second) {
			granted, err := b.ask(ctx, current, want)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				asked = time.Now()
				if !b.silent.Swap(true) {
					filled = now
				}
			default:
				b.silent.Store(false)
				b.granted.Add(granted)
				b.purse.Add(float64(granted))
				if granted < want {
					spent = current
				}
			}
		}
		if b.silent.Load() {
			now := time.Now()
			owed = min(owed+b.config.Local*float64(now.Sub(filled))/float64(b.config.Per), most)
			filled = now
			if n := int64(owed); n >= 1 {
				owed -= float64(n)
				b.local.Add(n)
				b.purse.Add(float64(n))
			}
		}
	}
}

// ask adds what is wanted to the slice's counter, and returns how much of it was within the slice's tokens. An answer
// that is lost is a grant that is lost: the bound holds.
func (b *Budget) ask(ctx context.Context, current, want int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.config.Timeout)
	defer cancel()
	if !b.nc.IsConnected() {
		return 0, nats.ErrDisconnected // and not buffered, to be counted later
	}
	ack, err := b.js.PublishMsg(ctx, &nats.Msg{
		Subject: "retrywhen." + b.config.Name + ".budget." + strconv.FormatInt(current, 10),
		Header:  nats.Header{headerIncr: {"+" + strconv.FormatInt(want, 10)}},
	}, jetstream.WithRetryAttempts(0))
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
		// The server has started again, and its memory was empty: the next second finds the stream.
		return 0, errors.Join(err, b.ensure(ctx))
	}
	if err != nil {
		return 0, err
	}
	claimed, err := strconv.ParseInt(ack.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("durable: budget: the counter is %q, want a number", ack.Value)
	}
	left := b.tokensOf(current) - (claimed - want)
	return max(0, min(want, left)), nil
}

// tokensOf returns the tokens of one slice: those of a Per, spread over its slices.
func (b *Budget) tokensOf(current int64) int64 {
	n := slicesOf(b.config.Per)
	at, tokens := current%n, int64(b.config.Tokens)
	return (at+1)*tokens/n - at*tokens/n
}

// slicesOf is into how many slices a Per is divided.
func slicesOf(per time.Duration) int64 { return int64(per / leastSlice) }
