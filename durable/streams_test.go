package durable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// library is a server's streams and consumers: at most one of each.
type library struct {
	jetstream.JetStream
	stream   *jetstream.StreamConfig
	consumer *jetstream.ConsumerConfig
	other    bool  // another process creates it at the same time
	failed   error // of every request
	refuses  error // of updates
	log      []string
}

type libraryStream struct {
	jetstream.Stream
	l *library
}

type libraryConsumer struct {
	jetstream.Consumer
	l *library
}

func (l *library) Stream(context.Context, string) (jetstream.Stream, error) {
	l.log = append(l.log, "get")
	if l.failed != nil {
		return nil, l.failed
	}
	if l.stream == nil {
		return nil, jetstream.ErrStreamNotFound
	}
	return libraryStream{l: l}, nil
}

func (l *library) CreateStream(_ context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	l.log = append(l.log, "create")
	l.stream = &c
	if l.other {
		return nil, jetstream.ErrStreamNameAlreadyInUse
	}
	return libraryStream{l: l}, nil
}

func (l *library) UpdateStream(_ context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	l.log = append(l.log, "update")
	l.stream = &c
	return libraryStream{l: l}, l.refuses
}

func (s libraryStream) CachedInfo() *jetstream.StreamInfo {
	return &jetstream.StreamInfo{Config: *s.l.stream}
}

func (s libraryStream) Consumer(context.Context, string) (jetstream.Consumer, error) {
	s.l.log = append(s.l.log, "get")
	if s.l.failed != nil {
		return nil, s.l.failed
	}
	if s.l.consumer == nil {
		return nil, jetstream.ErrConsumerNotFound
	}
	return libraryConsumer{l: s.l}, nil
}

func (s libraryStream) CreateConsumer(_ context.Context, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	s.l.log = append(s.l.log, "create")
	s.l.consumer = &c
	if s.l.other {
		return nil, jetstream.ErrConsumerExists
	}
	return libraryConsumer{l: s.l}, nil
}

func (s libraryStream) UpdateConsumer(_ context.Context, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	s.l.log = append(s.l.log, "update")
	s.l.consumer = &c
	return libraryConsumer{l: s.l}, s.l.refuses
}

func (c libraryConsumer) CachedInfo() *jetstream.ConsumerInfo {
	return &jetstream.ConsumerInfo{Config: *c.l.consumer}
}

// Open creates what does not exist, and compares and changes what does.
func TestEnsure(t *testing.T) {
	stream := func(change func(*jetstream.StreamConfig)) *jetstream.StreamConfig {
		config := Config{Name: "q", Replicas: 1}
		config.adopt(nil)
		c := config.stream(jetstream.StreamConfig{})
		change(&c)
		return &c
	}
	consumer := func(change func(*jetstream.ConsumerConfig)) *jetstream.ConsumerConfig {
		c := (&Config{Name: "q", Lease: 30 * time.Second}).consumer(first, jetstream.ConsumerConfig{Durable: "first"})
		change(&c)
		return &c
	}
	same, longer := consumer(func(*jetstream.ConsumerConfig) {}), consumer(func(c *jetstream.ConsumerConfig) { c.AckWait = time.Minute })
	for name, test := range map[string]struct {
		library
		config Config
		want   error
		text   string
		did    string
		then   string // of the consumer, if it differs
		took   time.Duration
		check  func(t *testing.T, l *library)
	}{
		"a new one": {did: "get create", then: "get create get update", check: func(t *testing.T, l *library) {
			if l.stream.Replicas != 1 || l.stream.Name != "retrywhen-q" || l.stream.FirstSeq == 0 || l.stream.Metadata["retrywhen.protocol"] != "2" ||
				l.stream.Metadata["retrywhen.number"] != fmt.Sprint(l.stream.FirstSeq) || l.consumer.Durable != "first-"+fmt.Sprint(l.stream.FirstSeq) || l.consumer.AckWait != 30*time.Second {
				t.Errorf("created %+v and %+v", l.stream, l.consumer)
			}
		}},
		"a new one with three replicas": {config: Config{Replicas: 3}, did: "get create", then: "get create get update", check: func(t *testing.T, l *library) {
			if l.stream.Replicas != 3 {
				t.Errorf("created %+v", l.stream)
			}
		}},
		"another process was faster": {library: library{other: true}, did: "get create get", then: "get create get get update"},
		"the same":                   {library: library{stream: stream(func(*jetstream.StreamConfig) {}), consumer: same}, did: "get"},
		"the default takes the replicas that there are": {library: library{stream: stream(func(c *jetstream.StreamConfig) { c.Replicas = 5 }), consumer: same}, did: "get"},
		"another": {library: library{stream: stream(func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }), consumer: longer},
			want: ErrOtherConfig, text: "choose another Config.Name", did: "get"},
		"another, which is changed": {library: library{stream: stream(func(c *jetstream.StreamConfig) { c.MaxAge, c.Replicas = time.Hour, 5 }), consumer: longer},
			config: Config{Update: true}, did: "get get update update", then: "get update", took: 16 * time.Second, check: func(t *testing.T, l *library) {
				if l.stream.MaxAge != 0 || l.stream.Replicas != 5 || l.consumer.AckWait != 30*time.Second {
					t.Errorf("changed to %+v and %+v", l.stream, l.consumer)
				}
			}},
		"another, which cannot be changed": {library: library{refuses: errors.New("immutable"), stream: stream(func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }), consumer: consumer(func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 })},
			config: Config{Update: true}, did: "get get update", then: "get update", want: ErrOtherConfig, text: "; and the server cannot change it: immutable"},
		"another, and no response to its change": {library: library{refuses: context.DeadlineExceeded, stream: stream(func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }), consumer: consumer(func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 })},
			config: Config{Update: true}, did: "get get update", then: "get update", want: ErrUnreachable},
		"another, and it is gone before its change": {library: library{refuses: jetstream.ErrConsumerDoesNotExist, stream: stream(func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }), consumer: consumer(func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 })},
			config: Config{Update: true}, did: "get get update", then: "get update", want: ErrGone},
		"not permitted": {library: library{failed: nats.ErrPermissionViolation}, want: ErrRefused, did: "get"},
	} {
		bubble(t, name, func(t *testing.T) {
			l := &test.library
			test.config.Name = "q"
			began := time.Now()
			q := fakeQueue(t, new(server), test.config)
			q.js = l
			failed := func(what string, err error) {
				t.Helper()
				if test.want == nil && err != nil || !errors.Is(err, test.want) || err != nil && (!strings.HasPrefix(err.Error(), "durable: open: "+what) || !strings.Contains(err.Error(), test.text)) {
					t.Errorf("%s: got %v, want %v, %q", what, err, test.want, test.text)
				}
				if got := strings.Join(l.log, " "); got != test.did {
					t.Errorf("%s: it did %q, want %q", what, got, test.did)
				}
				l.log = nil
			}
			s, err := q.ensureStream(t.Context())
			if took := time.Since(began); took != test.took {
				t.Errorf("it took %v, want %v", took, test.took)
			}
			failed("stream retrywhen-q", err)
			if test.then != "" {
				test.did = test.then
			}
			if (s == nil) != (err != nil) {
				t.Errorf("got %v and %v", s, err)
			}
			q.jobs = libraryStream{l: l}
			c, err := q.ensureConsumer(t.Context(), first)
			failed("consumer first", err)
			if (c == nil) != (err != nil) {
				t.Errorf("got %v and %v", c, err)
			}
			if test.check != nil {
				test.check(t, l)
			}
		})
	}
}

// A consumer that was made for a stream that was deleted meanwhile does not stay, so it does not bar those of the next
// stream.
func TestEnsureConsumer_TheStreamWasDeleted(t *testing.T) {
	for name, next := range map[string]func(*library){
		"and is gone":       func(l *library) { l.stream = nil },
		"and is another":    func(l *library) { l.stream.Metadata["retrywhen.number"] = "7" },
		"and has no number": func(l *library) { delete(l.stream.Metadata, "retrywhen.number") },
	} {
		t.Run(name, func(t *testing.T) {
			l := new(library)
			q := fakeQueue(t, new(server), Config{Name: "q"})
			q.js = l
			_, err := q.ensureStream(t.Context())
			must(t, err)
			old := *l.stream
			old.Metadata = maps.Clone(old.Metadata)
			q.jobs = libraryStream{l: &library{stream: &old}}
			next(l)
			_, err = q.ensureConsumer(t.Context(), first)
			if !errors.Is(err, ErrGone) || strings.Contains(strings.Join(l.log, " "), "update") {
				t.Errorf("got %v, want ErrGone; it did %v", err, l.log)
			}
			if c := q.jobs.(libraryStream).l.consumer; c.InactiveThreshold != trial {
				t.Errorf("the consumer stays: %+v", c)
			}
		})
	}
}

// A lease that becomes shorter is announced to the workers, which need a quarter of the old one. Otherwise it is not.
func TestAnnounceLease(t *testing.T) {
	for name, test := range map[string]struct {
		have            *jetstream.ConsumerConfig
		failed, refuses error
		deadline, gone  time.Duration // gone: the caller cancels
		did, want       string
		took            time.Duration
	}{
		"shorter":                     {have: &jetstream.ConsumerConfig{AckWait: time.Minute}, did: "get update", took: 16 * time.Second},
		"the deadline is late enough": {have: &jetstream.ConsumerConfig{AckWait: time.Minute}, deadline: 16*time.Second + 1, did: "get update", took: 16 * time.Second},
		"the deadline is too early": {have: &jetstream.ConsumerConfig{AckWait: time.Minute}, deadline: 16*time.Second - 1, did: "get",
			want: "durable: open: shorten Config.Lease from 1m0s to 30s: that takes 16s, want a ctx with a later deadline"},
		"the caller goes": {have: &jetstream.ConsumerConfig{AckWait: time.Minute}, gone: time.Second, did: "get update", took: time.Second,
			want: "durable: open: shorten Config.Lease from 1m0s to 30s: context canceled"},
		"the same":               {have: &jetstream.ConsumerConfig{AckWait: 30 * time.Second}, did: "get"},
		"none yet":               {did: "get"},
		"it cannot be read":      {failed: errNo, did: "get", want: "durable: open: consumer first: no"},
		"it cannot be announced": {have: &jetstream.ConsumerConfig{AckWait: time.Minute}, refuses: errNo, did: "get update", want: "durable: open: shorten Config.Lease from 1m0s to 30s: no"},
	} {
		bubble(t, name, func(t *testing.T) {
			l := &library{consumer: test.have, failed: test.failed, refuses: test.refuses}
			q := fakeQueue(t, new(server), Config{})
			ctx, began := t.Context(), time.Now()
			if test.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.deadline)
				defer cancel()
			} else if test.gone > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(test.gone, cancel)
			}
			got := ""
			if err := q.announceLease(ctx, libraryStream{l: l}); err != nil {
				got = err.Error()
			}
			if did := strings.Join(l.log, " "); got != test.want || did != test.did || time.Since(began) != test.took {
				t.Errorf("got %q, did %q in %v, want %q, %q, %v", got, did, time.Since(began), test.want, test.did, test.took)
			}
			if test.took > 0 && announced(*l.consumer) != 30*time.Second {
				t.Errorf("announced is %+v", l.consumer)
			}
		})
	}
}

// Every setting on which the queue relies is compared, and named.
func TestDifferences(t *testing.T) {
	c := Config{Name: "q", Replicas: 1, Lease: 30 * time.Second}
	for want, change := range map[string]func(*jetstream.StreamConfig){
		"subjects is [other], want [retrywhen.q.job.*.*]": func(c *jetstream.StreamConfig) { c.Subjects = []string{"other"} },
		"retention is Limits, want WorkQueue":             func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy },
		"storage is Memory, want File":                    func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"replicas (Config.Replicas) is 3, want 1":         func(c *jetstream.StreamConfig) { c.Replicas = 3 },
		"messages a subject is 2, want 1":                 func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 },
		"message schedules is false, want true":           func(c *jetstream.StreamConfig) { c.AllowMsgSchedules = false },
		"message TTLs is false, want true":                func(c *jetstream.StreamConfig) { c.AllowMsgTTL = false },
		"rollups is false, want true":                     func(c *jetstream.StreamConfig) { c.AllowRollup = false },
		"maximal age is 1h0m0s, want 0s":                  func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"maximal messages is 1, want 0":                   func(c *jetstream.StreamConfig) { c.MaxMsgs = 1 },
		"maximal bytes is 1, want 0":                      func(c *jetstream.StreamConfig) { c.MaxBytes = 1 },
		"":                                                func(c *jetstream.StreamConfig) { c.MaxMsgs, c.MaxBytes, c.Description = -1, -1, "other" },
	} {
		have := c.stream(jetstream.StreamConfig{})
		change(&have)
		if got := strings.Join(compareStreams(have, c.stream(jetstream.StreamConfig{})), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	have := c.stream(jetstream.StreamConfig{})
	have.Subjects = []string{"b", "a"}
	want := c.stream(jetstream.StreamConfig{})
	want.Subjects = []string{"a", "b"}
	if got := compareStreams(have, want); len(got) != 0 {
		t.Errorf("the order of the subjects: %v", got)
	}
	if c.InMemory = true; c.stream(jetstream.StreamConfig{}).Storage != jetstream.MemoryStorage {
		t.Error("InMemory is not in memory")
	}
	for want, change := range map[string]func(*jetstream.ConsumerConfig){
		"AckWait (Config.Lease) is 1m0s, want 30s":     func(c *jetstream.ConsumerConfig) { c.AckWait = time.Minute },
		"filter is x, want retrywhen.q.job.*.again":    func(c *jetstream.ConsumerConfig) { c.FilterSubject = "x" },
		"MaxDeliver is 5, want -1":                     func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 },
		"MaxAckPending is 5, want -1":                  func(c *jetstream.ConsumerConfig) { c.MaxAckPending = 5 },
		"acknowledgement is AckNone, want AckExplicit": func(c *jetstream.ConsumerConfig) { c.AckPolicy = jetstream.AckNonePolicy },
		"length of BackOff is 1, want 0":               func(c *jetstream.ConsumerConfig) { c.BackOff = []time.Duration{1} },
	} {
		have := (&Config{Name: "q", Lease: 30 * time.Second}).consumer(again, jetstream.ConsumerConfig{})
		change(&have)
		q := fakeQueue(t, new(server), Config{})
		q.jobs = libraryStream{l: &library{consumer: &have}}
		if _, err := q.ensureConsumer(t.Context(), again); err == nil || !strings.Contains(err.Error(), ": "+want+": choose") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if c := (&Config{Name: "q"}).counter(dead); c.FilterSubject != "retrywhen.q.job.*.dead" || c.Durable != "count-dead" || !c.MemoryStorage || c.AckPolicy != jetstream.AckExplicitPolicy {
		t.Errorf("the counter is %+v", c)
	}
}

// A zero field takes what the queue has, else the default. A field that is set and differs is named.
func TestConfig_Adopt(t *testing.T) {
	stored := map[string]string{"retrywhen.lease": "1m0s", "retrywhen.remember": "1h0m0s", "retrywhen.keepdead": "24h0m0s", "retrywhen.maxdead": "7",
		"retrywhen.maxcrashes": "3", "retrywhen.other": "1", "other": "x"}
	type settings struct {
		lease, remember, keep time.Duration
		dead, crashes         int
	}
	for name, test := range map[string]struct {
		config   Config
		metadata map[string]string
		want     settings
		differs  string
	}{
		"a new queue":               {want: settings{30 * time.Second, 2 * time.Minute, 0, 100_000, 5}},
		"a new queue, a long lease": {config: Config{Lease: time.Minute}, want: settings{time.Minute, 4 * time.Minute, 0, 100_000, 5}, differs: "Config.Lease is 30s, want 1m0s"},
		"what the queue has":        {metadata: stored, want: settings{time.Minute, time.Hour, 24 * time.Hour, 7, 3}},
		"the same": {config: Config{Lease: time.Minute, Remember: time.Hour, KeepDead: 24 * time.Hour, MaxDead: 7, MaxCrashes: 3}, metadata: stored,
			want: settings{time.Minute, time.Hour, 24 * time.Hour, 7, 3}},
		"all differ": {config: Config{Lease: time.Second, Remember: time.Second, KeepDead: time.Second, MaxDead: 1, MaxCrashes: 1}, metadata: stored,
			want:    settings{time.Second, time.Second, time.Second, 1, 1},
			differs: "Config.Lease is 1m0s, want 1s; Config.Remember is 1h0m0s, want 1s; Config.KeepDead is 24h0m0s, want 1s; Config.MaxDead is 7, want 1; Config.MaxCrashes is 3, want 1"},
		"what cannot be read": {metadata: map[string]string{"retrywhen.lease": "soon", "retrywhen.maxdead": "-3"}, want: settings{30 * time.Second, 2 * time.Minute, 0, 100_000, 5}},
	} {
		c := test.config
		differs := strings.Join(c.adopt(test.metadata), "; ")
		if got := (settings{c.Lease, c.Remember, c.KeepDead, c.MaxDead, c.MaxCrashes}); got != test.want || differs != test.differs {
			t.Errorf("%s: got %+v, %q, want %+v, %q", name, got, differs, test.want, test.differs)
		}
		again := Config{}
		if d := again.adopt(c.metadata()); len(d) > 0 || again.Lease != c.Lease || again.MaxCrashes != c.MaxCrashes || again.KeepDead != c.KeepDead {
			t.Errorf("%s: read again: %+v, %v", name, again, d)
		}
	}
}

// Update keeps the metadata of others.
func TestEnsure_Metadata(t *testing.T) {
	c := Config{Name: "q", Replicas: 1}
	c.adopt(nil)
	have := c.stream(jetstream.StreamConfig{})
	have.Metadata["owner"] = "me"
	have.AllowDirect = true // as another version may need
	l := &library{stream: &have}
	q := fakeQueue(t, new(server), Config{})
	q.js, q.config = l, Config{Name: "q", MaxDead: 3000, Update: true}
	if _, err := q.ensureStream(t.Context()); err != nil || l.stream.Metadata["owner"] != "me" || !l.stream.AllowDirect || l.stream.Metadata["retrywhen.maxdead"] != "3000" || q.config.MaxDead != 3000 {
		t.Errorf("got %v, %v", l.stream.Metadata, err)
	}
	q.config = Config{Name: "q"}
	if _, err := q.ensureStream(t.Context()); err != nil || q.config.MaxDead != 3000 || q.config.Lease != 30*time.Second {
		t.Errorf("got %+v, %v", q.config, err)
	}
	q.config = Config{Name: "q", Lease: 5 * time.Minute, Update: true}
	if _, err := q.ensureStream(t.Context()); err == nil || !strings.Contains(err.Error(), "durable: open: the queue's Remember is 2m0s, want at least one Lease (5m0s): set Config.Remember") {
		t.Errorf("got %v", err)
	}
	q.config = Config{Name: "q", Lease: 5 * time.Minute}
	if _, err := q.ensureStream(t.Context()); !errors.Is(err, ErrOtherConfig) || !strings.Contains(err.Error(), "Config.Lease is 30s, want 5m0s") {
		t.Errorf("got %v, want what the queue has", err)
	}
	for number, text := range map[string]string{"2": "it has protocol 2, this process has protocol 1: use the same version", "": "the protocol is none, want 1"} {
		l.stream.Metadata["retrywhen.protocol"] = number
		for _, update := range []bool{false, true} {
			q.config = Config{Name: "q", Update: update}
			_, err := q.ensureStream(t.Context())
			if update && number == "" {
				if err != nil || l.stream.Metadata["retrywhen.protocol"] != "1" {
					t.Errorf("a queue without a protocol is not updated: %v", err)
				}
			} else if !errors.Is(err, ErrOtherConfig) || !strings.Contains(err.Error(), text) {
				t.Errorf("protocol %q, update %t: %v, want %q", number, update, err, text)
			}
		}
	}
	if keys := slices.Sorted(maps.Keys(c.metadata())); strings.Join(keys, " ") != "retrywhen.keepdead retrywhen.lease retrywhen.maxcrashes retrywhen.maxdead retrywhen.remember" {
		t.Errorf("the keys are %v", keys)
	}
}

// A worker takes the lease that the consumer has now.
func TestReadLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{Lease: 20 * time.Second})
		_, fresh := addConsumers(q, s)
		for _, test := range []struct {
			now       time.Duration
			err       error
			want      time.Duration
			did       string
			announced string
		}{
			{20 * time.Second, nil, 20 * time.Second, "info of first", ""},
			{20 * time.Second, nil, 20 * time.Second, "info of first", "30s"},
			{20 * time.Second, nil, 20 * time.Second, "info of first", "0s"},
			{20 * time.Second, nil, 8 * time.Second, "info of first; log: the lease of the queue has changed", "8s"},
			{2 * time.Second, nil, 2 * time.Second, "info of first; log: the lease of the queue has changed", ""},
			{0, nil, 2 * time.Second, "info of first", ""},
			{time.Minute, jetstream.ErrConsumerNotFound, 2 * time.Second, "info of first", ""},
		} {
			fresh.now.Config.AckWait, s.fails = test.now, map[string]error{"info of first": test.err}
			fresh.now.Config.Metadata = map[string]string{"retrywhen.lease": test.announced}
			q.readLease()
			if got := s.took(); q.lease() != test.want || got != test.did {
				t.Errorf("%v: the lease is %v, want %v; it did %q", test.now, q.lease(), test.want, got)
			}
		}
	})
}
