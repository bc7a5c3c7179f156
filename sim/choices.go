package sim

import (
	"fmt"
	"strings"
)

// choices are the names of a type's constants, from 0.
type choices struct {
	kind  string // the type's name
	names []string
}

// list returns the names as a text.
func (c choices) list() string {
	last := len(c.names) - 1
	return strings.Join(c.names[:last], ", ") + " or " + c.names[last]
}

// text returns the name of constant i.
func (c choices) text(i uint8) string {
	if int(i) < len(c.names) {
		return c.names[i]
	}
	return fmt.Sprintf("%s(%d)", c.kind, i)
}

func (c choices) marshal(i uint8) ([]byte, error) {
	if int(i) >= len(c.names) {
		return nil, fmt.Errorf("sim: %s is no %s, want %s", c.text(i), strings.ToLower(c.kind), c.list())
	}
	return []byte(c.names[i]), nil
}

// unmarshal sets i to the constant with the name. An empty text is the first.
func (c choices) unmarshal(i *uint8, text []byte) error {
	for n, name := range c.names {
		if name == string(text) || len(text) == 0 {
			*i = uint8(n)
			return nil
		}
	}
	return fmt.Errorf("sim: %q is no %s, want %s", text, strings.ToLower(c.kind), c.list())
}

// choice records a constant that has no name.
func (c *checker) choice(field string, i uint8, of choices) {
	if int(i) < len(of.names) {
		return
	}
	numbered := choices{names: make([]string, len(of.names))}
	for n, name := range of.names {
		numbered.names[n] = fmt.Sprintf("%s (%d)", name, n)
	}
	c.fail(field, i, numbered.list())
}
