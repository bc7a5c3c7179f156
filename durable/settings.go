package durable

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// setting is a setting that belongs to the queue, not to a process: the queue's stream has it in its metadata. Its
// value is a number, of nanoseconds if it is a time.
type setting struct {
	name     string // of Config's field
	get      func() int64
	set      func(int64)
	text     func(int64) string
	read     func(string) (int64, error)
	standard func() int64 // the default
}

// settings returns the queue's settings, as fields of c.
func (c *Config) settings() []setting {
	return []setting{
		timeSetting("Lease", &c.Lease, func() time.Duration { return 30 * time.Second }),
		timeSetting("Remember", &c.Remember, func() time.Duration { return 4 * c.Lease }),
		timeSetting("KeepDead", &c.KeepDead, func() time.Duration { return 0 }),
		countSetting("MaxDead", &c.MaxDead, 100_000),
		countSetting("MaxCrashes", &c.MaxCrashes, 5),
	}
}

func timeSetting(name string, field *time.Duration, standard func() time.Duration) setting {
	return setting{name, func() int64 { return int64(*field) }, func(v int64) { *field = time.Duration(v) },
		func(v int64) string { return time.Duration(v).String() },
		func(s string) (int64, error) { d, err := time.ParseDuration(s); return int64(d), err },
		func() int64 { return int64(standard()) }}
}

func countSetting(name string, field *int, standard int64) setting {
	return setting{name, func() int64 { return int64(*field) }, func(v int64) { *field = int(v) },
		func(v int64) string { return strconv.FormatInt(v, 10) },
		func(s string) (int64, error) { return strconv.ParseInt(s, 10, 32) },
		func() int64 { return standard }}
}

// key returns the key of the setting in the metadata.
func (s setting) key() string { return "retrywhen." + strings.ToLower(s.name) }

// adopt fills the settings that c leaves open with what the queue has, by the metadata of its stream, else with their
// defaults. It returns where c differs.
func (c *Config) adopt(metadata map[string]string) (d differences) {
	for _, s := range c.settings() {
		have := s.standard()
		if v, err := s.read(metadata[s.key()]); err == nil && v > 0 {
			have = v
		}
		if s.get() == 0 {
			s.set(have)
		}
		d.add("Config."+s.name, s.text(have), s.text(s.get()))
	}
	return d
}

// protocol is the number of the protocol, which the stream has in its metadata: a change that workers of the version before
// do not understand raises it.
const protocol, protocolKey = "1", "retrywhen.protocol"

// metadata returns the settings and the protocol as metadata of the stream.
func (c *Config) metadata() map[string]string {
	m := map[string]string{protocolKey: protocol}
	for _, s := range c.settings() {
		m[s.key()] = s.text(s.get())
	}
	return m
}

// checkSettings returns an error if the settings do not go together. asked is the Config before adopt.
func (c *Config) checkSettings(asked Config) error {
	if c.Remember >= c.Lease {
		return nil
	}
	remember := "Config.Remember"
	if asked.Remember == 0 {
		remember = "the queue's Remember"
	}
	return fmt.Errorf("durable: open: %s is %v, want at least one Lease (%v): set Config.Remember", remember, c.Remember, c.Lease)
}
