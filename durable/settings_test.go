package durable

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

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
	if keys := slices.Sorted(maps.Keys(c.metadata())); strings.Join(keys, " ") != "retrywhen.keepdead retrywhen.lease retrywhen.maxcrashes retrywhen.maxdead retrywhen.protocol retrywhen.remember" {
		t.Errorf("the keys are %v", keys)
	}
}

// A worker takes the lease that the consumer has now.
func TestReadLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		q := fakeQueue(t, s, Config{Lease: 20 * time.Second})
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
