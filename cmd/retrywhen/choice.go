package main

import (
	"slices"
	"strconv"
	"strings"
)

// choice is the value of a flag that is one of several words.
type choice struct {
	kind string // of the value, in the help
	of   []string
	text string
}

func (c *choice) Type() string   { return c.kind }
func (c *choice) wants() string  { return strings.Join(c.of, " or ") }
func (c *choice) String() string { return c.text }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return strconv.ErrSyntax
	}
	c.text = text
	return nil
}
