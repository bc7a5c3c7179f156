package durable

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// call records a call and returns its error of fails. With errNoResponse it waits for the context.
func (s *server) call(ctx context.Context, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	s.note("%s", what)
	s.mu.Lock()
	err := s.fails[what]
	s.mu.Unlock()
	if err == errNoResponse {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (f fakeJetStream) DeleteStream(ctx context.Context, name string) error {
	return f.s.call(ctx, "delete stream %s", name)
}

// GetMsg returns the first message of stored from the sequence on that has the subject. It records the stage.
func (f fakeStream) GetMsg(ctx context.Context, seq uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	if opts == nil {
		return f.s.held(seq)
	}
	subject := ">"
	for _, o := range opts { // the type of the request is not exported
		request := reflect.New(reflect.TypeFor[jetstream.GetMsgOpt]().In(0).Elem())
		reflect.ValueOf(o).Call([]reflect.Value{request})
		subject = request.Elem().FieldByName("NextFor").String()
	}
	if err := f.s.call(ctx, "get %d %s", seq, subject[strings.LastIndexByte(subject, '.')+1:]); err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(subject, "*")
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	for _, m := range f.s.stored {
		if m.Sequence >= seq && strings.HasPrefix(m.Subject, before) && strings.HasSuffix(m.Subject, after) {
			return m, nil
		}
	}
	return nil, jetstream.ErrMsgNotFound
}

func (f fakeStream) DeleteMsg(ctx context.Context, seq uint64) error {
	if err := f.s.call(ctx, "delete %d", seq); err != nil {
		return err
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	i := slices.IndexFunc(f.s.stored, func(m *jetstream.RawStreamMsg) bool { return m.Sequence == seq })
	if i < 0 {
		return jetstream.ErrMsgDeleteUnsuccessful
	}
	f.s.stored = slices.Delete(f.s.stored, i, i+1)
	return nil
}

func (f fakeStream) Info(ctx context.Context, _ ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	if err := f.s.call(ctx, "info"); err != nil {
		return nil, err
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if len(f.s.stored) == 0 {
		return &jetstream.StreamInfo{State: jetstream.StreamState{FirstSeq: 1}}, nil
	}
	return &jetstream.StreamInfo{State: jetstream.StreamState{FirstSeq: f.s.stored[0].Sequence, LastSeq: f.s.stored[len(f.s.stored)-1].Sequence}}, nil
}

func (f fakeStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	var r jetstream.StreamPurgeRequest
	for _, o := range opts {
		if err := o(&r); err != nil {
			return err
		}
	}
	return f.s.call(ctx, "purge %s, keep %d", r.Subject, r.Keep)
}

// Consumer returns the consumer if it is in pending.
func (f fakeStream) Consumer(ctx context.Context, name string) (jetstream.Consumer, error) {
	if err := f.s.call(ctx, "consumer %s", name); err != nil {
		return nil, err
	}
	n, ok := f.s.pending[name]
	if !ok {
		return nil, jetstream.ErrConsumerNotFound
	}
	info := jetstream.ConsumerInfo{NumPending: n}
	return &fakeConsumer{s: f.s, name: name, cached: info, now: info}, nil
}

// CreateOrUpdateConsumer returns a consumer that has counted 3 messages, but does not know it before the first Info.
func (f fakeStream) CreateOrUpdateConsumer(ctx context.Context, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	if err := f.s.call(ctx, "create %s of %s", c.Durable, c.FilterSubject); err != nil {
		return nil, err
	}
	return &fakeConsumer{s: f.s, name: c.Durable, now: jetstream.ConsumerInfo{NumPending: 3}}, nil
}

// fakeConsumer records the calls of a consumer, with its name.
type fakeConsumer struct {
	jetstream.Consumer
	s       *server
	name    string
	cached  jetstream.ConsumerInfo // what CachedInfo returns
	now     jetstream.ConsumerInfo // what Info returns, and caches
	consume func(*fakeConsume)     // called by Consume before it returns; nil does nothing
	lingers bool                   // a Consume that is drained does not end before the test closes it

	all []*fakeConsume // guarded by s.mu
}

func (c *fakeConsumer) CachedInfo() *jetstream.ConsumerInfo { return &c.cached }

func (c *fakeConsumer) Info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	if err := c.s.call(ctx, "info of %s", c.name); err != nil {
		return nil, err
	}
	c.cached = c.now
	return &c.now, nil
}

func (c *fakeConsumer) Consume(handler jetstream.MessageHandler, opts ...jetstream.PullConsumeOpt) (jetstream.ConsumeContext, error) {
	run := &fakeConsume{c: c, handler: handler, closed: make(chan struct{})}
	for _, o := range opts {
		switch o := o.(type) {
		case jetstream.ConsumeErrHandler:
			run.failed = func(err error) { o(run, err) }
		case jetstream.StopAfter:
			run.n = int(o)
			run.options = append(run.options, fmt.Sprintf("stop after %d", o))
		case jetstream.PullExpiry:
			run.options = append(run.options, fmt.Sprintf("expiry %v", time.Duration(o)))
		case jetstream.PullHeartbeat:
			run.options = append(run.options, fmt.Sprintf("heartbeat %v", time.Duration(o)))
		default: // jobs and bytes; the type is not exported
			run.options = append(run.options, fmt.Sprint(o))
		}
	}
	if err := c.s.call(context.Background(), "consume %s", c.name); err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	c.all = append(c.all, run)
	c.s.mu.Unlock()
	if c.consume != nil {
		c.consume(run)
	}
	return run, nil
}

// last returns the last Consume.
func (c *fakeConsumer) last() *fakeConsume {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.all[len(c.all)-1]
}

// fakeConsume is a Consume. It receives what the test gives to its handler.
type fakeConsume struct {
	c       *fakeConsumer
	handler jetstream.MessageHandler
	failed  func(error)
	options []string // without the handler of errors
	n       int      // how many messages are wanted
	closed  chan struct{}
}

func (f *fakeConsume) Stop() { f.c.s.note("stop %s", f.c.name) }

func (f *fakeConsume) Drain() {
	f.c.s.note("drain %s", f.c.name)
	if !f.c.lingers {
		f.end()
	}
}

func (f *fakeConsume) Closed() <-chan struct{} { return f.closed }

// end closes the channel of Closed, once.
func (f *fakeConsume) end() {
	f.c.s.mu.Lock()
	defer f.c.s.mu.Unlock()
	select {
	case <-f.closed:
	default:
		close(f.closed)
	}
}

// addConsumers gives the queue consumers.
func addConsumers(q *Queue, s *server) (due, fresh *fakeConsumer) {
	due, fresh = &fakeConsumer{s: s, name: string(again)}, &fakeConsumer{s: s, name: string(first)}
	q.again, q.first = due, fresh
	return due, fresh
}

// job returns a message of a job, as the server delivers it for the first time.
func job(b *backend, s *server, id string, st stage, seq uint64, h nats.Header) *fakeMsg {
	at := time.Now().Add(-time.Minute)
	s.delivers(seq, b.config.subject(id, st), func() time.Time { return at })
	return &fakeMsg{s: s, subject: b.config.subject(id, st), header: h, data: []byte("data"),
		meta: &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: seq}, NumDelivered: 1, Timestamp: at}}
}

func noHandler(context.Context, *Job) error { return nil }

// movingConsumer calls move before each Info.
type movingConsumer struct {
	*fakeConsumer
	move func()
}

func (c movingConsumer) Info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	c.move()
	return c.fakeConsumer.Info(ctx)
}

// serve delivers the messages, as many as each Consume wants.
func (c *fakeConsumer) serve(all ...*fakeMsg) {
	c.consume = func(run *fakeConsume) {
		now := all[:min(run.n, len(all))]
		all = all[len(now):]
		go func() {
			for _, m := range now {
				run.handler(m)
			}
		}()
	}
}

// outcomesOf returns what was recorded since the last call, without the requests for jobs and without what the
// connection sends on its own when it comes to it.
func outcomesOf(s *server) string {
	all := strings.Split(s.took(), "; ")
	return strings.Join(slices.DeleteFunc(all, func(a string) bool {
		word, _, _ := strings.Cut(a, " ")
		return slices.Contains([]string{"consume", "drain", "PUB", "HPUB"}, word)
	}), "; ")
}
