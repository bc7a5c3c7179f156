package durable

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// setting is a setting that belongs to the queue, not to a process: the queue's stream has it in its metadata.
type setting struct {
	name     string // of Config's field
	field    any    // *time.Duration or *int
	standard any    // the default
}

// settings returns the queue's settings, as fields of c.
func (c *Config) settings() []setting {
	return []setting{
		{"Lease", &c.Lease, 30 * time.Second},
		{"Remember", &c.Remember, 4 * c.Lease},
		{"KeepDead", &c.KeepDead, time.Duration(0)},
		{"MaxDead", &c.MaxDead, 100_000},
		{"MaxCrashes", &c.MaxCrashes, 5},
	}
}

// key returns the key of the setting in the metadata.
func (s setting) key() string { return "retrywhen." + strings.ToLower(s.name) }

// text returns the present value.
func (s setting) text() string { return fmt.Sprint(reflect.ValueOf(s.field).Elem()) }

// adopt fills the settings that c leaves open with what the queue has, by the metadata of its stream, else with their
// defaults. It returns where c differs.
func (c *Config) adopt(metadata map[string]string) (d differences) {
	for i := range c.settings() {
		s, have := c.settings()[i], "" // the default of Remember needs the lease
		switch field := s.field.(type) {
		case *time.Duration:
			have = adopt(field, s.standard.(time.Duration), metadata[s.key()], time.ParseDuration)
		case *int:
			have = adopt(field, s.standard.(int), metadata[s.key()], strconv.Atoi)
		}
		d.add("Config."+s.name, have, s.text())
	}
	return d
}

// adopt fills a field that is zero, and returns what the queue has.
func adopt[T time.Duration | int](field *T, standard T, text string, read func(string) (T, error)) string {
	have, err := read(text)
	if err != nil || have <= 0 {
		have = standard
	}
	*field = cmp.Or(*field, have)
	return fmt.Sprint(have)
}

// numberKey is the key of the stream's number in the metadata: a random one, which no other stream of the same name has.
// The consumers have it in their names, and the first message as its sequence. So nothing that a worker of a deleted
// stream sends, an acknowledgement or a step, has an effect on the next stream of that name.
const numberKey = "retrywhen.number"

// protocolKey is the key of the protocol's number in the metadata. A change that workers of the version before do not
// understand raises it. A stream that was made with protocol 1 keeps it: it has no number.
const protocolKey = "retrywhen.protocol"

// metadata returns the settings as metadata of the stream.
func (c *Config) metadata() map[string]string {
	m := make(map[string]string)
	for _, s := range c.settings() {
		m[s.key()] = s.text()
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
