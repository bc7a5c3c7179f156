package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What the queue relies on the server for, each by itself and without the queue.

func streamOfFacts(t *testing.T, change func(*jetstream.StreamConfig)) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	nc, err := start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	config := jetstream.StreamConfig{Name: "f", Subjects: []string{"f.>"}, Retention: jetstream.WorkQueuePolicy, AllowMsgSchedules: true, AllowRollup: true}
	if change != nil {
		change(&config)
	}
	s, err := js.CreateStream(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
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

func at(t time.Time) string { return "@at " + t.UTC().Format(time.RFC3339Nano) }

func TestFactASchedule(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	due := time.Now().Add(700 * time.Millisecond)
	_, err := js.PublishMsg(t.Context(), message("f.later.x", "data", "Nats-Schedule", at(due), "Nats-Schedule-Target", "f.run.x",
		"Mine", "kept", "Nats-Msg-Id", "id", "Nats-Expected-Last-Subject-Sequence", "0", "Nats-Expected-Last-Subject-Sequence-Subject", "f.run.x"))
	if err != nil {
		t.Fatal(err)
	}
	var m *jetstream.RawStreamMsg
	eventually(t, "it is published", func() bool { m, err = s.GetLastMsgForSubject(t.Context(), "f.run.x"); return err == nil })
	if m.Time.Before(due) {
		t.Errorf("it was published %v early: nanoseconds count", due.Sub(m.Time))
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
		if _, err := js.PublishMsg(t.Context(), message("f.later.x", strconv.Itoa(i), "Nats-Schedule", at(time.Now().Add(300*time.Millisecond)),
			"Nats-Schedule-Target", "f.run.x")); err != nil {
			t.Fatal(err)
		}
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
	if _, err := js.Publish(t.Context(), "f.later.x", nil, jetstream.WithScheduleAt(due), jetstream.WithScheduleTarget("f.run.x")); err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(t.Context(), "f.later.x")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Header.Get("Nats-Schedule"); got == at(due) {
		t.Errorf("got %s: the client's own option would do now", got)
	}
}

func TestFactAPublicationIsRefusedByTheSequenceOfAnotherSubject(t *testing.T) {
	t.Parallel()
	js, _ := streamOfFacts(t, nil)
	publish := func(subject string, expected uint64) (*jetstream.PubAck, error) {
		return js.PublishMsg(t.Context(), message(subject, "", "Nats-Expected-Last-Subject-Sequence", fmt.Sprint(expected),
			"Nats-Expected-Last-Subject-Sequence-Subject", "f.run.x"))
	}
	if _, err := publish("f.later.x", 0); err != nil {
		t.Errorf("0 where there is none: %v", err)
	}
	ack, err := js.Publish(t.Context(), "f.run.x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := publish("f.later.x", ack.Sequence); err != nil {
		t.Errorf("the right sequence: %v", err)
	}
	for _, wrong := range []uint64{0, ack.Sequence + 1} {
		_, err := publish("f.later.x", wrong)
		if e, ok := errors.AsType[*jetstream.APIError](err); !ok || e.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence {
			t.Errorf("a wrong sequence: %v", err)
		}
	}
}

func TestFactAnIDIsStoredOnce(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	for i := range 3 {
		ack, err := js.PublishMsg(t.Context(), message("f.run."+strconv.Itoa(i), "", "Nats-Msg-Id", "id"))
		if err != nil || ack.Duplicate != (i > 0) {
			t.Errorf("publication %d: %+v, %v", i, ack, err)
		}
	}
	if info, err := s.Info(t.Context()); err != nil || info.State.Msgs != 1 {
		t.Errorf("got %v, %v", info.State.Msgs, err)
	}
}

func TestFactDeliveriesAreCountedNotAttempts(t *testing.T) {
	t.Parallel()
	js, s := streamOfFacts(t, nil)
	c, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "f.run.x", nil); err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); n <= 3; n++ {
		m, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
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

func TestFactACounterAnswersWithItsValue(t *testing.T) {
	t.Parallel()
	js, _ := streamOfFacts(t, func(c *jetstream.StreamConfig) {
		c.Retention, c.AllowMsgSchedules, c.AllowRollup, c.AllowMsgCounter, c.MaxMsgsPerSubject = jetstream.LimitsPolicy, false, false, true, 1
	})
	for i, want := range []string{"5", "12", "9"} {
		ack, err := js.PublishMsg(t.Context(), message("f.counter", "", "Nats-Incr", []string{"+5", "+7", "-3"}[i]))
		if err != nil || ack.Value != want {
			t.Errorf("got %+v, %v, want %s", ack, err, want)
		}
	}
}

// Over the restarts of a server Consume goes on, and every message comes.
func TestFactConsumeGoesOnAfterRestarts(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	server := spawn(t, "server", dir, port)
	nc, err := nats.Connect("nats://127.0.0.1:"+port, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "f", Subjects: []string{"f.>"}, Retention: jetstream.WorkQueuePolicy})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "w", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
