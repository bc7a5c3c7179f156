package marble

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
	"unicode"
)

// cursor reads the characters of a diagram and keeps the time.
type cursor struct {
	text   []rune
	i      int
	at     time.Duration
	group  time.Duration // the instant of the group
	opened int           // the column of its "(", 0 outside a group
	filled bool          // the group is not empty
}

var progression = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(ms|s|m)(\s|$)`)

// next returns the next character that is an event, with its instant; ok is false at the end. It handles frames,
// spaces, groups and times.
func (c *cursor) next() (r rune, at time.Duration, column int, ok bool, err error) {
	for c.i < len(c.text) {
		r, column = c.text[c.i], c.i+1
		switch {
		case unicode.IsSpace(r):
			c.i++
			continue
		case unicode.IsDigit(r):
			if d, n, ok := c.progress(); ok {
				if c.opened > 0 {
					return 0, 0, 0, false, c.errorf(column, "a time inside ( )")
				}
				if c.at += d; c.at > Longest {
					return 0, 0, 0, false, c.errorf(column, "the diagram lasts longer than %v", Longest)
				}
				c.i += n
				continue
			}
		}
		c.i++
		now := c.at
		c.at += Frame
		switch r {
		case '-':
			if c.opened > 0 {
				return 0, 0, 0, false, c.errorf(column, "'-' inside ( ), which is one instant")
			}
		case '(':
			if c.opened > 0 {
				return 0, 0, 0, false, c.errorf(column, "a second '(', while that of position %d is open", c.opened)
			}
			c.group, c.opened, c.filled = now, column, false
		case ')':
			if c.opened == 0 {
				return 0, 0, 0, false, c.errorf(column, "')' without a '('")
			}
			if !c.filled {
				return 0, 0, 0, false, c.errorf(column, "nothing inside ( )")
			}
			c.opened = 0
		default:
			c.filled = true
			if c.opened > 0 {
				now = c.group
			}
			return r, now, column, true, nil
		}
	}
	if c.opened > 0 {
		return 0, 0, 0, false, c.errorf(c.opened, "'(' without a ')'")
	}
	return 0, 0, 0, false, nil
}

// progress returns the time written at the cursor, and the number of its characters, without the space after it.
func (c *cursor) progress() (time.Duration, int, bool) {
	if c.i > 0 && !unicode.IsSpace(c.text[c.i-1]) {
		return 0, 0, false
	}
	m := progression.FindStringSubmatch(string(c.text[c.i:]))
	if m == nil {
		return 0, 0, false
	}
	x, _ := strconv.ParseFloat(m[1], 64)
	unit := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute}[m[2]]
	d := x * float64(unit)
	return time.Duration(min(d+0.5, 2*float64(Longest))), len(m[1]) + len(m[2]), true
}

// errorf returns an error that points at a column.
func (c *cursor) errorf(column int, format string, args ...any) error {
	return fmt.Errorf("%q, position %d: %s\n    %s\n    %*s", string(c.text), column, fmt.Sprintf(format, args...), string(c.text), column, "^")
}
