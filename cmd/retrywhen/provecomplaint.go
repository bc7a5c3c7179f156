package main

import (
	"regexp"
	"strings"
)

// complaint is what a command's stderr says of its failure: the first line that speaks of an error, else the last three.
type complaint struct {
	named string   // the first line that speaks of an error
	plain bool     // it is not indented, as lines of code in a trace are
	last  []string // three at most
}

var speaksOfAnError = regexp.MustCompile(`(?i)error|exception|panic|fatal`)

// hear takes a line.
func (c *complaint) hear(line string) {
	c.last = append(c.last, strings.TrimSpace(line))
	if len(c.last) > 3 {
		c.last = c.last[1:]
	}
	if plain := strings.TrimLeft(line, " \t") == line; speaksOfAnError.MatchString(line) && (c.named == "" || plain && !c.plain) {
		c.named, c.plain = strings.TrimSpace(line), plain
	}
}

func (c *complaint) text() string {
	if c.named != "" {
		return c.named
	}
	return strings.Join(c.last, "; ")
}
