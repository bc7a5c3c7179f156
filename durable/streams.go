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

// consumerName is that of the one consumer that all workers of a queue share.
const consumerName = "workers"

// The names of the queue's streams. No Name has a +, so no queue's stream is another's.
func (c *Config) jobsName() string { return "retrywhen-" + c.Name }
func (c *Config) deadName() string { return c.jobsName() + "+dead" }

func (c *Config) storage() jetstream.StorageType {
	if c.InMemory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// jobsStream is the stream of the jobs. It has no limits: with message schedules a limit discards the oldest jobs,
// which would lose them.
func (c *Config) jobsStream(schedules bool) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              c.jobsName(),
		Description:       "jobs of the queue " + c.Name,
		Subjects:          []string{"retrywhen." + c.Name + ".run.>", "retrywhen." + c.Name + ".later.>"},
		Retention:         jetstream.WorkQueuePolicy,
		Storage:           c.storage(),
		Replicas:          c.Replicas,
		Duplicates:        c.Duplicates,
		AllowMsgSchedules: schedules,
		AllowRollup:       schedules,
	}
}

// deadStream is the stream of the dead letters, one for each job.
func (c *Config) deadStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              c.deadName(),
		Description:       "dead letters of the queue " + c.Name,
		Subjects:          []string{"retrywhen." + c.Name + ".dead.>"},
		Storage:           c.storage(),
		Replicas:          c.Replicas,
		MaxAge:            c.KeepDead,
		MaxMsgsPerSubject: 1,
		Duplicates:        min(c.Duplicates, orElse(c.KeepDead, c.Duplicates)),
	}
}

func (c *Config) consumer() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       consumerName,
		Description:   "workers of the queue " + c.Name,
		FilterSubject: "retrywhen." + c.Name + ".run.>",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       c.Lease,
		MaxDeliver:    -1,
		MaxAckPending: -1,
	}
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// ensureStream makes the stream, or finds it as it should be.
func ensureStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, update bool) (jetstream.Stream, error) {
	what := "open: stream " + want.Name
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
			s, err = js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return nil, explain(what, err)
	}
	differences := compareStreams(s.CachedInfo().Config, want)
	if len(differences) == 0 {
		return s, nil
	}
	if !update {
		return nil, otherConfig(what, differences)
	}
	if s, err = js.UpdateStream(ctx, want); err != nil {
		return nil, otherConfig(what, append(differences, "and the server cannot change it: "+err.Error()))
	}
	return s, nil
}

// ensureConsumer makes the consumer, or finds it as it should be.
func ensureConsumer(ctx context.Context, s jetstream.Stream, want jetstream.ConsumerConfig, update bool) (jetstream.Consumer, error) {
	what := "open: consumer " + want.Durable
	c, err := s.Consumer(ctx, want.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = s.CreateConsumer(ctx, want)
		if errors.Is(err, jetstream.ErrConsumerExists) {
			c, err = s.Consumer(ctx, want.Durable)
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
	if !update {
		return nil, otherConfig(what, d)
	}
	if c, err = s.UpdateConsumer(ctx, want); err != nil {
		return nil, otherConfig(what, append(d, "and the server cannot change it: "+err.Error()))
	}
	return c, nil
}

func compareStreams(have, want jetstream.StreamConfig) differences {
	var d differences
	slices.Sort(have.Subjects)
	slices.Sort(want.Subjects)
	d.add("subjects", have.Subjects, want.Subjects)
	d.add("retention", have.Retention, want.Retention)
	d.add("storage", have.Storage, want.Storage)
	d.add("replicas (Config.Replicas)", have.Replicas, want.Replicas)
	d.add("duplicates window (Config.Duplicates)", have.Duplicates, want.Duplicates)
	d.add("maximal age (Config.KeepDead)", have.MaxAge, want.MaxAge)
	d.add("messages a subject", max(have.MaxMsgsPerSubject, 0), want.MaxMsgsPerSubject)
	d.add("message schedules (Config.NoSchedules)", have.AllowMsgSchedules, want.AllowMsgSchedules)
	// What limits a stream loses jobs.
	d.add("maximal messages", max(have.MaxMsgs, 0), 0)
	d.add("maximal bytes", max(have.MaxBytes, 0), 0)
	return d
}

// differences say in what a stream or consumer is not as it should be.
type differences []string

func (d *differences) add(what string, have, want any) {
	if h, w := fmt.Sprint(have), fmt.Sprint(want); h != w {
		*d = append(*d, fmt.Sprintf("%s is %s, want %s", what, h, w))
	}
}

func otherConfig(what string, d differences) error {
	return &failure{what, ErrOtherConfig, errors.New(strings.Join(d, "; ")),
		"take another Name, the same settings, or Config.Update to change it"}
}
