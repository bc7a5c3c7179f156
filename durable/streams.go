package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func (c *Config) streamName() string { return "retrywhen-" + c.Name }

// stream returns the configuration of the queue's stream. It has no limits of size or number, because with message
// schedules a limit would discard the oldest jobs.
func (c *Config) stream() jetstream.StreamConfig {
	storage := jetstream.FileStorage
	if c.InMemory {
		storage = jetstream.MemoryStorage
	}
	return jetstream.StreamConfig{
		Name:              c.streamName(),
		Description:       "the queue " + c.Name,
		Subjects:          []string{c.subjects("*", "*")},
		Retention:         jetstream.WorkQueuePolicy,
		Storage:           storage,
		Replicas:          c.Replicas,
		MaxMsgsPerSubject: 1,
		AllowMsgTTL:       true,
		AllowMsgSchedules: true,
		AllowRollup:       true,
		Metadata:          c.metadata(),
	}
}

// consumer returns the configuration of the consumer that all workers share for the jobs of one stage. Due retries have
// a separate consumer, so that they do not wait behind fresh jobs.
func (c *Config) consumer(s stage) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       string(s),
		Description:   "workers of the queue " + c.Name,
		FilterSubject: c.subjects("*", string(s)),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       c.Lease,
		MaxDeliver:    -1,
		MaxAckPending: -1,
		MaxWaiting:    maxWaiting,
	}
}

// maxWaiting is how many requests for jobs may wait at the server. Each Work and each Jobs needs two.
const maxWaiting = 1 << 16

// counter returns the configuration of a consumer that delivers nothing. The server counts the messages of the stage
// for it.
func (c *Config) counter(s stage) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       "count-" + string(s),
		Description:   "counts the messages of the queue " + c.Name + " that are " + string(s),
		FilterSubject: c.subjects("*", string(s)),
		AckPolicy:     jetstream.AckExplicitPolicy,
		MemoryStorage: true,
	}
}

// ensureStream creates the stream, or checks the configuration of the existing one and updates it if Config.Update is
// set.
func (b *backend) ensureStream(ctx context.Context) (jetstream.Stream, error) {
	asked, name := b.config, b.config.streamName()
	what := "open: stream " + name
	s, err := b.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		b.config.adopt(nil)
		if err := b.config.checkSettings(); err != nil {
			return nil, err
		}
		made := b.config.stream()
		orDefault(&made.Replicas, b.replicas())
		s, err = b.js.CreateStream(ctx, made)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			s, err = b.js.Stream(ctx, name)
		}
	}
	if err != nil {
		return nil, explain(what, err)
	}
	have := s.CachedInfo().Config
	b.config = asked
	differences := b.config.adopt(have.Metadata)
	if err := b.config.checkSettings(); err != nil {
		return nil, err
	}
	want := b.config.stream()
	orDefault(&want.Replicas, have.Replicas)
	for key, value := range have.Metadata {
		if _, ours := want.Metadata[key]; !ours {
			want.Metadata[key] = value
		}
	}
	differences = append(differences, compareStreams(have, want)...)
	if len(differences) == 0 {
		return s, nil
	}
	if !b.config.Update {
		return nil, otherConfig(what, differences)
	}
	if err := b.announceLease(ctx, s); err != nil {
		return nil, err
	}
	if s, err = b.js.UpdateStream(ctx, want); err != nil {
		return nil, otherConfig(what, append(differences, "and the server cannot change it: "+err.Error()))
	}
	return s, nil
}

// announceLease tells the workers that the lease will be shorter, and returns when all have read that and extend their
// leases often enough. They read it four times per lease.
func (b *backend) announceLease(ctx context.Context, s jetstream.Stream) error {
	c, err := s.Consumer(ctx, string(first))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	if err != nil {
		return explain("open: consumer "+string(first), err)
	}
	next := c.CachedInfo().Config
	if next.AckWait <= b.config.Lease {
		return nil
	}
	what := fmt.Sprintf("open: shorten Config.Lease from %v to %v", next.AckWait, b.config.Lease)
	wait := next.AckWait/4 + time.Second // for the answers
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return fmt.Errorf("durable: %s: that takes %v, want a ctx with a later deadline", what, wait)
	}
	next.Metadata = b.config.metadata()
	if _, err := s.UpdateConsumer(ctx, next); err != nil {
		return explain(what, err)
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return explain(what, context.Cause(ctx))
	}
}

// announced returns the lease of a consumer's workers: that of its metadata if it will be shortened.
func announced(c jetstream.ConsumerConfig) time.Duration {
	if d, err := time.ParseDuration(c.Metadata["retrywhen.lease"]); err == nil && d > 0 {
		return min(d, c.AckWait)
	}
	return c.AckWait
}

// replicas returns the default number of replicas of a new queue.
func (b *backend) replicas() int {
	if b.nc.ConnectedClusterName() != "" {
		return 3
	}
	return 1
}

// ensureConsumer does the same for the consumer of a stage.
func (b *backend) ensureConsumer(ctx context.Context, st stage) (jetstream.Consumer, error) {
	want := b.config.consumer(st)
	what := "open: consumer " + want.Durable
	c, err := b.jobs.Consumer(ctx, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = b.jobs.CreateConsumer(ctx, want)
		if errors.Is(err, jetstream.ErrConsumerExists) {
			c, err = b.jobs.Consumer(ctx, want.Durable)
		}
	}
	if err != nil {
		return nil, explain(what, err)
	}
	have := c.CachedInfo().Config
	var d differences
	d.add("AckWait (Config.Lease)", have.AckWait, want.AckWait)
	d.add("filter", have.FilterSubject, want.FilterSubject)
	d.add("MaxDeliver", have.MaxDeliver, want.MaxDeliver)
	d.add("MaxAckPending", have.MaxAckPending, want.MaxAckPending)
	d.add("acknowledgement", have.AckPolicy, want.AckPolicy)
	d.add("length of BackOff", len(have.BackOff), 0)
	if len(d) == 0 {
		return c, nil
	}
	if !b.config.Update {
		return nil, otherConfig(what, d)
	}
	if c, err = b.jobs.UpdateConsumer(ctx, want); err != nil {
		return nil, otherConfig(what, append(d, "and the server cannot change it: "+err.Error()))
	}
	return c, nil
}

func compareStreams(have, want jetstream.StreamConfig) differences {
	var d differences
	slices.Sort(have.Subjects)
	d.add("subjects", have.Subjects, want.Subjects)
	d.add("retention", have.Retention, want.Retention)
	d.add("storage", have.Storage, want.Storage)
	d.add("replicas (Config.Replicas)", have.Replicas, want.Replicas)
	d.add("messages a subject", have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	d.add("message schedules", have.AllowMsgSchedules, want.AllowMsgSchedules)
	d.add("message TTLs", have.AllowMsgTTL, want.AllowMsgTTL)
	d.add("rollups", have.AllowRollup, want.AllowRollup)
	// A limit would lose jobs.
	d.add("maximal age", have.MaxAge, want.MaxAge)
	d.add("maximal messages", max(have.MaxMsgs, 0), 0)
	d.add("maximal bytes", max(have.MaxBytes, 0), 0)
	return d
}

// differences are the settings in which an existing stream or consumer differs.
type differences []string

func (d *differences) add(what string, have, want any) {
	if h, w := fmt.Sprint(have), fmt.Sprint(want); h != w {
		*d = append(*d, fmt.Sprintf("%s is %s, want %s", what, h, w))
	}
}

func otherConfig(what string, d differences) error {
	return &failure{what, ErrOtherConfig, errors.New(strings.Join(d, "; ")),
		"choose another Config.Name, use the same settings, or set Config.Update to change the queue"}
}
