package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/retry"
)

// stream returns the configuration of the queue's stream, whose present one is s. It keeps what it does not know, which
// may be another version's. It has no limits of size or number, because with message schedules a limit would discard
// the oldest jobs.
func (c *Config) stream(s jetstream.StreamConfig) jetstream.StreamConfig {
	s.Name, s.Description, s.Subjects = c.streamName(), "the queue "+c.Name, []string{c.subjects("*", "*")}
	s.Retention, s.Storage, s.Replicas = jetstream.WorkQueuePolicy, jetstream.FileStorage, cmp.Or(c.Replicas, s.Replicas)
	if c.InMemory {
		s.Storage = jetstream.MemoryStorage
	}
	s.MaxMsgsPerSubject, s.MaxAge, s.MaxMsgs, s.MaxBytes = 1, 0, 0, 0
	s.AllowMsgTTL, s.AllowMsgSchedules, s.AllowRollup = true, true, true
	s.Metadata = merge(s.Metadata, c.metadata())
	s.Metadata[protocolKey] = cmp.Or(s.Metadata[protocolKey], "1")
	return s
}

func merge(have, more map[string]string) map[string]string {
	all := make(map[string]string)
	maps.Copy(all, have)
	maps.Copy(all, more)
	return all
}

// consumer returns the configuration of the consumer that all workers share for the jobs of one stage, whose present
// one is have. Due retries have a separate consumer, so that they do not wait behind fresh jobs.
func (c *Config) consumer(s stage, have jetstream.ConsumerConfig) jetstream.ConsumerConfig {
	have.Description, have.FilterSubject = "workers of the queue "+c.Name, c.subjects("*", string(s))
	have.AckPolicy, have.AckWait, have.MaxDeliver = jetstream.AckExplicitPolicy, c.Lease, -1
	have.MaxAckPending, have.MaxWaiting, have.BackOff = -1, maxWaiting, nil
	have.Metadata, have.InactiveThreshold = maps.Clone(have.Metadata), 0
	delete(have.Metadata, leaseKey) // see announceLease
	return have
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
	for errors.Is(err, jetstream.ErrStreamNotFound) {
		b.config.adopt(nil)
		if err := b.config.checkSettings(asked); err != nil {
			return nil, err
		}
		number := 1 + rand.Uint64N(1<<52)
		made := b.config.stream(jetstream.StreamConfig{FirstSeq: number,
			Metadata: map[string]string{numberKey: strconv.FormatUint(number, 10), protocolKey: "2"}})
		made.Replicas = cmp.Or(made.Replicas, b.replicas())
		// nats-server 2.15.2 may fail to make the store of a stream that was deleted just before.
		s, err = retry.Do(ctx, storePolicy.With(retry.Limit(4)), func(ctx context.Context) (jetstream.Stream, error) { return b.js.CreateStream(ctx, made) })
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster, but a cluster may not show its stream yet
			s, err = b.js.Stream(ctx, name)
		}
	}
	if err != nil {
		return nil, explain(what, err)
	}
	have := s.CachedInfo().Config
	b.config, b.number = asked, "-"+have.Metadata[numberKey]
	p, mine := have.Metadata[protocolKey], "2"
	if b.number == "-" {
		b.number, mine = "", "1"
	}
	if p != mine && p != "" {
		return nil, &failure{what, ErrOtherConfig, fmt.Errorf("it has protocol %s, this process has protocol %s", p, mine),
			"use the same version of this package in all processes, or choose another Config.Name"}
	}
	differences := b.config.adopt(have.Metadata)
	differences.add("the protocol", cmp.Or(p, "none"), mine)
	want := b.config.stream(have)
	differences = append(differences, compareStreams(have, want)...)
	if len(differences) > 0 && !b.config.Update {
		return nil, otherConfig(what, differences)
	}
	if len(differences) == 0 {
		return s, nil
	}
	if err := b.config.checkSettings(asked); err != nil {
		return nil, err
	}
	if err := b.announceLease(ctx, s); err != nil {
		return nil, err
	}
	if s, err = b.js.UpdateStream(ctx, want); err != nil {
		return nil, unchanged(what, differences, err)
	}
	return s, nil
}

// leaseKey is the key of the lease in the metadata.
const leaseKey = "retrywhen.lease"

// announceLease tells the workers that the lease will be shorter, and returns when all have read that and extend their
// leases often enough. They read it four times per lease.
func (b *backend) announceLease(ctx context.Context, s jetstream.Stream) error {
	c, err := s.Consumer(ctx, string(first)+b.number)
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
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return fmt.Errorf("durable: %s: that takes %v, want a ctx with a later deadline", what, wait)
	}
	next.Metadata = merge(next.Metadata, map[string]string{leaseKey: b.config.Lease.String()})
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
	if d, err := time.ParseDuration(c.Metadata[leaseKey]); err == nil && d > 0 {
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

// trial is how long a new consumer exists before it is known to be one of the present stream. One that was made for a
// stream that was deleted meanwhile would bar the consumers of the next stream. It is as long as Open waits by default:
// if a slow server kept the consumer for less, it could delete it while, or after, Open changes it to one that stays.
const trial = 15 * time.Second

// ensureConsumer does the same for the consumer of a stage.
func (b *backend) ensureConsumer(ctx context.Context, st stage) (jetstream.Consumer, error) {
	what := "open: consumer " + string(st)
	name := string(st) + b.number
	c, err := b.jobs.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		made := b.config.consumer(st, jetstream.ConsumerConfig{Durable: name})
		made.InactiveThreshold = trial
		c, err = b.jobs.CreateConsumer(ctx, made)
		if errors.Is(err, jetstream.ErrConsumerExists) {
			c, err = b.jobs.Consumer(ctx, name)
		}
	}
	if err != nil {
		return nil, explain(what, err)
	}
	have := c.CachedInfo().Config
	want := b.config.consumer(st, have)
	var d differences
	d.add("AckWait (Config.Lease)", have.AckWait, want.AckWait)
	d.add("filter", have.FilterSubject, want.FilterSubject)
	d.add("MaxDeliver", have.MaxDeliver, want.MaxDeliver)
	d.add("MaxAckPending", have.MaxAckPending, want.MaxAckPending)
	d.add("acknowledgement", have.AckPolicy, want.AckPolicy)
	d.add("length of BackOff", len(have.BackOff), 0)
	switch {
	case len(d) > 0 && !b.config.Update:
		return nil, otherConfig(what, d)
	case have.InactiveThreshold > 0:
		s, err := b.js.Stream(ctx, b.config.streamName())
		if err == nil && s.CachedInfo().Config.Metadata[numberKey] != b.jobs.CachedInfo().Config.Metadata[numberKey] {
			err = jetstream.ErrStreamNotFound
		}
		if err != nil {
			return nil, explain(what, err)
		}
	case len(d) == 0:
		return c, nil
	}
	if c, err = b.jobs.UpdateConsumer(ctx, want); err != nil {
		return nil, unchanged(what, d, err)
	}
	return c, nil
}

// unchanged returns the error of a change that has failed with err.
func unchanged(what string, d differences, err error) error {
	if means(err, ErrUnreachable) || means(err, ErrGone) {
		return explain(what, err)
	}
	return otherConfig(what, append(d, "and the server cannot change it: "+err.Error()))
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
