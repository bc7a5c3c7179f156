package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// These tests check each behaviour of the server on which the queue relies, without the queue.

func streamOfFacts(t *testing.T, change func(*jetstream.StreamConfig)) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	js, err := jetstream.New(connect(t, start(t)))
	must(t, err)
	config := jetstream.StreamConfig{Name: "f", Subjects: []string{"f.>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1,
		AllowMsgSchedules: true, AllowRollup: true, AllowMsgTTL: true}
	if change != nil {
		change(&config)
	}
	s, err := js.CreateStream(t.Context(), config)
	must(t, err)
	return js, s
}

func message(subject, data string, header ...string) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Data = []byte(data)
	for i := 0; i < len(header); i += 2 {
		m.Header[header[i]] = []string{header[i+1]}
	}
	return m
}

func publish(t *testing.T, js jetstream.JetStream, m *nats.Msg) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // on a busy machine
	defer cancel()
	_, err := js.PublishMsg(ctx, m)
	must(t, err)
}

func at(t time.Time) string { return "@at " + t.UTC().Format(time.RFC3339Nano) }

func TestFactASchedule(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	due := time.Now().Add(700 * time.Millisecond)
	_, err := js.PublishMsg(t.Context(), message("f.later.x", "data", "Nats-Schedule", at(due), "Nats-Schedule-Target", "f.run.x",
		"Mine", "kept", "Nats-Msg-Id", "id", "Nats-Expected-Last-Subject-Sequence", "0", "Nats-Expected-Last-Subject-Sequence-Subject", "f.run.x"))
	must(t, err)
	var m *jetstream.RawStreamMsg
	eventually(t, "it is published", func() bool { m, err = s.GetLastMsgForSubject(t.Context(), "f.run.x"); return err == nil })
	if m.Time.Before(due) {
		t.Errorf("the message was published %v early", due.Sub(m.Time))
	}
	if string(m.Data) != "data" || m.Header.Get("Mine") != "kept" || m.Header.Get("Nats-Msg-Id") != "" || m.Header.Get("Nats-Schedule") != "" {
		t.Errorf("got %q with %v", m.Data, m.Header)
	}
	eventually(t, "the schedule itself is gone", func() bool {
		_, err := s.GetLastMsgForSubject(t.Context(), "f.later.x")
		return errors.Is(err, jetstream.ErrMsgNotFound)
	})
}

func TestFactThereIsOneScheduleOfASubject(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	for i := range 3 {
		_, err := js.PublishMsg(t.Context(), message("f.later.x", strconv.Itoa(i), "Nats-Schedule", at(time.Now().Add(300*time.Millisecond)),
			"Nats-Schedule-Target", "f.run.x"))
		must(t, err)
	}
	var m *jetstream.RawStreamMsg
	var err error
	eventually(t, "one is published", func() bool { m, err = s.GetLastMsgForSubject(t.Context(), "f.run.x"); return err == nil })
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil || string(m.Data) != "2" || info.State.Subjects["f.run.x"] != 1 {
		t.Errorf("got %q, %v, %v", m.Data, info.State.Subjects, err)
	}
}

func TestFactTheClientCutsSchedulesToSeconds(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	due := time.Now().Add(time.Hour).Truncate(time.Second).Add(987654321)
	_, err := js.Publish(t.Context(), "f.later.x", nil, jetstream.WithScheduleAt(due), jetstream.WithScheduleTarget("f.run.x"))
	must(t, err)
	m, err := s.GetLastMsgForSubject(t.Context(), "f.later.x")
	must(t, err)
	if got := m.Header.Get("Nats-Schedule"); got == at(due) {
		t.Errorf("got %s: the client no longer cuts the time, use its option", got)
	}
}

// expecting returns a message that is refused unless last is the sequence of the last message of the subjects.
func expecting(subject string, last uint64, of string, header ...string) *nats.Msg {
	return message(subject, "", append(header, "Nats-Expected-Last-Subject-Sequence", fmt.Sprint(last), "Nats-Expected-Last-Subject-Sequence-Subject", of)...)
}

func isRefused(err error) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// The condition of each step in a job's life: the last sequence of all subjects of the job.
func TestFactAPublicationIsRefusedByTheLastSequenceOfManySubjects(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	first, err := js.PublishMsg(t.Context(), expecting("f.x.first", 0, "f.x.*"))
	if err != nil {
		t.Fatalf("0 where there is none: %v", err)
	}
	later, err := js.PublishMsg(t.Context(), expecting("f.x.later", first.Sequence, "f.x.*"))
	if err != nil {
		t.Fatalf("the right sequence: %v", err)
	}
	for _, wrong := range []uint64{0, first.Sequence, later.Sequence + 1} {
		if _, err := js.PublishMsg(t.Context(), expecting("f.x.dead", wrong, "f.x.*")); !isRefused(err) {
			t.Errorf("%d, while %d is the last: %v", wrong, later.Sequence, err)
		}
	}
	// Removed messages do not count, so sequence 0 is also true of a job that was removed.
	for _, seq := range []uint64{first.Sequence, later.Sequence} {
		must(t, s.DeleteMsg(t.Context(), seq))
	}
	if _, err := js.PublishMsg(t.Context(), expecting("f.x.dead", first.Sequence, "f.x.*")); !isRefused(err) {
		t.Errorf("the sequence of what was removed: %v", err)
	}
	if _, err := js.PublishMsg(t.Context(), expecting("f.x.first", 0, "f.x.*")); err != nil {
		t.Errorf("0 after all was removed: %v", err)
	}
}

// A message can have its own time to live, in a stream whose messages otherwise stay until they are acknowledged.
func TestFactAMarkExpires(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	publish(t, js, message("f.x.mark", "", "Nats-TTL", "1s"))
	publish(t, js, message("f.y.mark", "", "Nats-TTL", "1h"))
	eventually(t, "it is gone", func() bool {
		_, err := s.GetLastMsgForSubject(t.Context(), "f.x.mark")
		return errors.Is(err, jetstream.ErrMsgNotFound)
	})
	if _, err := s.GetLastMsgForSubject(t.Context(), "f.y.mark"); err != nil {
		t.Errorf("the other: %v", err)
	}
}

// With one message per subject, a fired schedule replaces the message that was retried, if that still exists.
func TestFactAMessageTakesThePlaceOfTheOneBefore(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	c, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second, FilterSubject: "f.*.again"})
	must(t, err)
	publish(t, js, &nats.Msg{Subject: "f.x.again", Data: []byte("old")})
	old, err := c.Next()
	must(t, err)
	publish(t, js, message("f.x.later", "new", "Nats-Schedule", at(time.Now().Add(100*time.Millisecond)), "Nats-Schedule-Target", "f.x.again"))
	next, err := c.Next()
	if err != nil || string(next.Data()) != "new" {
		t.Fatalf("got %v, %v", next, err)
	}
	if err := old.DoubleAck(t.Context()); err != nil {
		t.Errorf("acknowledging the old one: %v", err)
	}
	if m, err := s.GetLastMsgForSubject(t.Context(), "f.x.*"); err != nil || string(m.Data) != "new" {
		t.Errorf("got %v, %v, want the new message", m, err)
	}
	must(t, next.DoubleAck(t.Context()))
	if info, err := s.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("%d messages are left, %v", info.State.Msgs, err)
	}
}

// A consumer that delivers nothing counts the messages that match its filter.
func TestFactAConsumerCounts(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	config := jetstream.ConsumerConfig{Durable: "count", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "f.*.dead", MemoryStorage: true, Replicas: 1}
	counts := func(want uint64) {
		t.Helper()
		eventually(t, fmt.Sprintf("the consumer counts %d", want), func() bool { // a moment after the publication
			c, err := s.CreateOrUpdateConsumer(t.Context(), config)
			return err == nil && c.CachedInfo().NumPending == want
		})
	}
	for n := range uint64(5) {
		counts(n)
		for _, stage := range []string{"dead", "first"} {
			publish(t, js, &nats.Msg{Subject: fmt.Sprintf("f.%d.%s", n, stage)})
		}
	}
	counts(5)
	must(t, s.DeleteMsg(t.Context(), 1))
	counts(4)
}

func TestFactDeliveriesAreCountedNotAttempts(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	c, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1})
	must(t, err)
	publish(t, js, &nats.Msg{Subject: "f.run.x"})
	for n := uint64(1); n <= 3; n++ {
		m, err := c.Next()
		must(t, err)
		if meta, err := m.Metadata(); err != nil || meta.NumDelivered != n || meta.Sequence.Stream != 1 {
			t.Errorf("got %+v, %v", meta, err)
		}
		if n < 3 {
			m.Nak() // handed back, not attempted
		} else if err := m.DoubleAck(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if info, err := s.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("an acknowledged message is still there: %v, %v", info.State.Msgs, err)
	}
}

// A stream was deleted, and one of its name was created. What a worker of the old one sends about its message ends
// nothing in the new one if the consumer has another name, and the message another sequence. With the same name and
// sequence it does, so a queue needs a number.
func TestFactAnAcknowledgementForADeletedStreamEndsNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		consumer string
		first    uint64
		left     uint64
	}{
		"another consumer":                 {"w-2", 1, 1},
		"another sequence":                 {"w", 42, 1},
		"another consumer and sequence":    {"w-2", 42, 1},
		"the same consumer, same sequence": {"w", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			js, s := streamOfFacts(t, nil)
			// deliver stores a message, and delivers it to a consumer.
			deliver := func(s jetstream.Stream, name string) (jetstream.Consumer, jetstream.Msg) {
				t.Helper()
				c, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour})
				must(t, err)
				publish(t, js, &nats.Msg{Subject: "f.x.first"})
				m, err := c.Next()
				must(t, err)
				return c, m
			}
			_, old := deliver(s, "w")
			must(t, js.DeleteStream(t.Context(), "f"))
			config := s.CachedInfo().Config
			config.FirstSeq = test.first
			s, err := js.CreateStream(t.Context(), config)
			must(t, err)
			c, m := deliver(s, test.consumer)
			if meta, err := m.Metadata(); err != nil || meta.Sequence.Stream != test.first {
				t.Errorf("got %+v, %v, want the first sequence %d", meta, err, test.first)
			}
			_, err = js.PublishMsg(t.Context(), expecting("f.x.mark", 1, "f.x.*"))
			if test.first == 42 && !isRefused(err) || test.first == 1 && err != nil {
				t.Errorf("a step from the old message: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			old.InProgress()
			old.DoubleAck(ctx)
			i, err := c.Info(t.Context())
			if err != nil || i.NumAckPending != int(test.left) {
				t.Errorf("%d deliveries are pending, %v, want %d", i.NumAckPending, err, test.left)
			}
			_, err = s.GetMsg(t.Context(), test.first)
			if gone := errors.Is(err, jetstream.ErrMsgNotFound); gone != (test.left == 0) {
				t.Errorf("the message: %v", err)
			}
		})
	}
}

// A stream keeps its first sequence when the server starts again, with and without messages.
func TestFactAStreamKeepsItsFirstSequence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range uint64(3) {
		srv, err := embedded.Start(dir)
		must(t, err)
		nc := connect(t, srv)
		js, err := jetstream.New(nc)
		must(t, err)
		if n == 0 {
			_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "f", Subjects: []string{"f.>"}, FirstSeq: 1 << 52})
			must(t, err)
		} else if ack, err := js.Publish(t.Context(), "f.x", nil); err != nil || ack.Sequence != 1<<52+n-1 {
			t.Errorf("start %d: %+v, %v", n, ack, err)
		}
		nc.Close()
		srv.Close()
	}
}

// Consume continues across restarts of the server, and every message comes.
func TestFactConsumeGoesOnAfterRestarts(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	nc := connect(t, "nats://127.0.0.1:"+port)
	js, err := jetstream.New(nc)
	must(t, err)
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "f", Subjects: []string{"f.>"}, Retention: jetstream.WorkQueuePolicy})
	must(t, err)
	c, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second})
	must(t, err)
	var mu sync.Mutex
	seen, again := make(map[string]bool), 0
	consuming, err := c.Consume(func(m jetstream.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if meta, err := m.Metadata(); err == nil && meta.NumDelivered > 1 {
			again++
		}
		seen[string(m.Data())] = true
		m.Ack()
	})
	must(t, err)
	defer consuming.Stop()
	const n = 3000
	for i := range n {
		if i%1000 == 500 {
			server.stop()
			server = spawn(t, "server", dir, port)
		}
		eventually(t, "it is published", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := js.Publish(ctx, "f.x", []byte(strconv.Itoa(i)), jetstream.WithMsgID(strconv.Itoa(i)))
			return err == nil
		})
	}
	eventually(t, "all have come", func() bool { mu.Lock(); defer mu.Unlock(); return len(seen) == n })
	t.Logf("%d came again", again)
}

// A server that is killed comes back with a state of the consumer that is older than the stream's. The delivery of a
// message that is gone must not stay pending. Servers up to 2.12.5 keep it.
func TestFactAPendingDeliveryEndsWithItsMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "jetstream", "$G", "streams", "f", "obs", "c", "o.dat")
	// run starts the server and closes it after f.
	run := func(f func(js jetstream.JetStream, c jetstream.Consumer)) {
		t.Helper()
		srv, err := embedded.Start(dir)
		must(t, err)
		defer srv.Close()
		nc := connect(t, srv)
		defer nc.Close()
		js, err := jetstream.New(nc)
		must(t, err)
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "f", Subjects: []string{"f.>"}, Retention: jetstream.WorkQueuePolicy})
		must(t, err)
		c, err := js.CreateOrUpdateConsumer(t.Context(), "f", jetstream.ConsumerConfig{Durable: "c", FilterSubject: "f.job.*",
			AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second, MaxDeliver: -1, MaxAckPending: -1})
		must(t, err)
		f(js, c)
	}
	var before []byte
	run(func(js jetstream.JetStream, c jetstream.Consumer) {
		for _, subject := range []string{"f.stays", "f.job.x", "f.job.y", "f.job.z"} {
			publish(t, js, &nats.Msg{Subject: subject})
		}
		for range 3 {
			_, err := c.Next()
			must(t, err)
		}
	})
	before, err := os.ReadFile(state)
	must(t, err)
	run(func(js jetstream.JetStream, c jetstream.Consumer) {
		s, err := js.Stream(t.Context(), "f")
		must(t, err)
		must(t, s.DeleteMsg(t.Context(), 3))
	})
	must(t, os.WriteFile(state, before, 0o600))
	run(func(_ jetstream.JetStream, c jetstream.Consumer) {
		if i, err := c.Info(t.Context()); err != nil || i.NumAckPending != 3 {
			t.Fatalf("after the start: %+v, %v, want 3 pending", i, err)
		}
		for range 2 {
			m, err := c.Next(jetstream.FetchMaxWait(time.Minute))
			must(t, err)
			must(t, m.DoubleAck(t.Context()))
		}
		eventually(t, "nothing is pending", func() bool {
			c.Next(jetstream.FetchMaxWait(100 * time.Millisecond)) // only a request makes the server look
			i, err := c.Info(t.Context())
			return err == nil && i.NumAckPending == 0
		})
	})
}

// copied returns a copy of a folder, which a server may use. The consumers' states are copied first: no disk has the
// acknowledgement of a job, and not the message that was stored before it. Such a job would never be delivered.
func copied(t *testing.T, dir string) string {
	t.Helper()
	for {
		copied, states := t.TempDir(), t.TempDir()
		all, err := filepath.Glob(dir + "/jetstream/*/streams/*/obs")
		for i, from := range all {
			err = errors.Join(err, os.CopyFS(filepath.Join(states, strconv.Itoa(i)), os.DirFS(from)))
		}
		err = errors.Join(err, os.CopyFS(copied, os.DirFS(dir)))
		for i, from := range all {
			to := copied + strings.TrimPrefix(from, dir)
			err = errors.Join(err, os.RemoveAll(to), os.Rename(filepath.Join(states, strconv.Itoa(i)), to))
		}
		if err == nil {
			return copied
		}
		if !errors.Is(err, fs.ErrNotExist) { // else the server has removed a file meanwhile
			t.Fatal(err)
		}
	}
}

// killed returns a server with what is stored in the folder of a running server at this moment, as after a kill -9.
func killed(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	srv, err := embedded.Start(copied(t, dir))
	must(t, err)
	t.Cleanup(func() { srv.Close() })
	return srv
}

// made is a queue in which jobs are brought into their states.
type made struct {
	*testing.T
	nc   *nats.Conn
	q    *durable.Queue
	id   string
	span *span
}

// span is the lease of a queue, a sixth of its waits. On a machine that takes longer for the steps, leases run out
// meanwhile, and waits end.
type span struct {
	began  time.Time
	lease  time.Duration
	isOver bool // another job came after the lease
}

// wait is how long a job waits.
func (s *span) wait() time.Duration { return 6 * s.lease }

func (m made) check(err error) {
	m.Helper()
	if err != nil {
		m.Errorf("%s: %v", m.id, err)
	}
}

func puts(m made)    { put(m, m.q, "data", durable.PutID(m.id)) }
func cancels(m made) { m.check(m.q.Cancel(m.Context(), m.id)) }
func revives(m made) { m.check(m.q.Revive(m.Context(), m.id)) }
func forgets(m made) { m.check(m.q.Forget(m.Context(), m.id)) }
func dies(m made)    { takes(durable.StateDead, retry.Permanent(errors.New("never")))(m) }
func becomesDue(m made) {
	putsAt(time.Millisecond)(m)
	eventually(m, m.id+" is due", stateIs(m.T, m.q, m.id, durable.StateReady))
}

func waits(m made) { putsAt(m.span.wait())(m) }

func putsAt(after time.Duration) func(made) {
	return func(m made) {
		_, err := m.q.PutAt(m.Context(), time.Now().Add(after), []byte("data"), durable.PutID(m.id))
		m.check(err)
	}
}

// takes makes an attempt at the job, which is the only one that is ready, and waits until it has the state.
func takes(want durable.JobState, result error) func(made) {
	return func(m made) {
		for job, err := range m.q.Jobs().Take(1).All(m.Context()) {
			if m.span.isOver = err == nil && job.ID != m.id && time.Since(m.span.began) > m.span.lease; m.span.isOver {
				return
			}
			if err != nil || job.ID != m.id {
				m.Fatalf("got %+v, %v, want the job %s", job, err, m.id)
			}
			m.check(job.Fail(result))
		}
		is := stateIs(m.T, m.q, m.id, want)
		eventually(m, m.id+" is "+string(want), func() bool {
			m.span.isOver = time.Since(m.span.began) > m.span.wait()
			return is() || m.span.isOver
		})
	}
}

// begins begins an attempt and does not end it.
func begins(m made) {
	for _, err := range m.q.Jobs().Take(1).All(m.Context()) {
		m.check(err)
	}
}

// isHandedBack lets another process get the job, and stop.
func isHandedBack(m made) {
	other := made{m.T, m.nc, open(m, m.nc, durable.Config{}), m.id, m.span}
	begins(other)
	m.check(other.q.Close())
}

// The server is killed when jobs are in each of their states, and again when the marks of those that have ended have
// expired. What waits is attempted once, and nothing else is. The server writes nothing about a message that another
// one has replaced, so the replaced message comes back if the other one was removed.
func TestFactTheServerIsKilledAfterEachStep(t *testing.T) {
	t.Parallel()
	fails := takes(durable.StateLater, errors.New("no"))
	isDone := takes(durable.StateDone, nil)
	rows := []struct {
		id       string
		steps    []func(made)
		attempts int // after the kill
		dead     bool
	}{
		{id: "put at", steps: []func(made){waits}, attempts: 1},
		{id: "put at, cancelled", steps: []func(made){waits, cancels}},
		{id: "put, cancelled", steps: []func(made){puts, cancels}},
		{id: "failed", steps: []func(made){puts, fails}, attempts: 1},
		{id: "failed, cancelled", steps: []func(made){puts, fails, cancels}},
		{id: "failed after its time", steps: []func(made){becomesDue, fails}, attempts: 1},
		{id: "failed after its time, cancelled", steps: []func(made){becomesDue, fails, cancels}},
		{id: "done", steps: []func(made){puts, isDone}},
		{id: "claimed, done", steps: []func(made){puts, isHandedBack, isDone}},
		{id: "done after its time", steps: []func(made){becomesDue, isDone}},
		{id: "dead", steps: []func(made){puts, dies}, dead: true},
		{id: "dead after its time", steps: []func(made){becomesDue, dies}, dead: true},
		{id: "forgotten", steps: []func(made){puts, dies, forgets}},
		{id: "revived, done", steps: []func(made){puts, dies, revives, isDone}},
		{id: "revived, failed", steps: []func(made){puts, dies, revives, fails}, attempts: 1},
		{id: "revived, dead again", steps: []func(made){puts, dies, revives, dies}, dead: true},
		{id: "revived, dead again, forgotten", steps: []func(made){puts, dies, revives, dies, forgets}},
		{id: "revived, cancelled", steps: []func(made){puts, dies, revives, cancels}},
		{id: "due, cancelled", steps: []func(made){becomesDue, cancels}},
		{id: "attempted, cancelled", steps: []func(made){puts, begins, cancels}},
		{id: "claimed, cancelled", steps: []func(made){puts, isHandedBack, begins, cancels}},
		{id: "claimed after its time, cancelled", steps: []func(made){becomesDue, isHandedBack, begins, cancels}},
		{id: "attempted", steps: []func(made){puts, begins}, attempts: 1},
		{id: "claimed", steps: []func(made){puts, isHandedBack, begins}, attempts: 1},
		{id: "revived", steps: []func(made){puts, dies, revives, begins}, attempts: 1},
		{id: "due", steps: []func(made){becomesDue}, attempts: 1}, // these stay ready, so no other is taken after them
		{id: "put", steps: []func(made){puts}, attempts: 1},
	}
	for name, expire := range map[string]bool{"after the step": false, "after the time to live": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var srv *embedded.Server
			var config durable.Config
			var dir string
			for lease := time.Second; ; lease *= 4 {
				dir = t.TempDir()
				var err error
				srv, err = embedded.Start(dir)
				must(t, err)
				t.Cleanup(func() { srv.Close() })
				span := &span{began: time.Now(), lease: lease}
				config = durable.Config{Lease: lease, Remember: time.Hour, Policy: retry.New(backoff.Constant(span.wait()).Jitter(jitter.None))}
				if expire {
					config.Remember = lease
				}
				nc := connect(t, srv)
				q := open(t, nc, config)
				for _, r := range rows {
					for _, step := range r.steps {
						if !span.isOver {
							step(made{t, nc, q, r.id, span})
						}
					}
				}
				if span.isOver {
					t.Logf("the steps took longer than a lease of %v", lease)
					q.Close()
					nc.Close()
					srv.Close()
					continue
				}
				for _, r := range rows {
					if r.attempts == 0 && !r.dead && expire {
						eventually(t, r.id+" is not known", func() bool { _, err := q.Get(t.Context(), r.id); return errors.Is(err, durable.ErrNotFound) })
					}
				}
				break
			}
			after := open(t, killed(t, dir), config)
			var attempts tally
			work(t, after, 4, attempts.handle)
			untilEmpty(t, after)
			dead := deadIDs(t, after)
			for _, r := range rows {
				if _, is := dead[r.id]; attempts.of(r.id) != r.attempts || is != r.dead {
					t.Errorf("%s: %d attempts, want %d; a dead letter: %t, want %t", r.id, attempts.of(r.id), r.attempts, is, r.dead)
				}
			}
		})
	}
}
