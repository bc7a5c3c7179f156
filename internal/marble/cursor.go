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
	for err == nil && c.i < len(c.text) {
		r, at, column = c.text[c.i], c.at, c.i+1
		switch d, n := c.progress(); {
		case n > 0 && c.opened > 0:
			err = c.errorf(column, "a time inside ( )")
		case n > 0:
			c.i += n
			if c.at += d; c.at > Longest {
				err = c.errorf(column, "the diagram lasts longer than %v", Longest)
			}
		case unicode.IsSpace(r):
			c.i++
		case r == '-' || r == '(' || r == ')':
			c.i++
			err = c.frame(r, column)
		default:
			c.i++
			c.at += Frame
			if c.opened > 0 {
				at, c.filled = c.group, true
			}
			return r, at, column, true, nil
		}
	}
	if err == nil && c.opened > 0 {
		err = c.errorf(c.opened, "'(' without a ')'")
	}
	return 0, 0, 0, false, err
}

// frame passes a frame without an event: "-" or a bracket.
func (c *cursor) frame(r rune, column int) error {
	switch {
	case r == '-' && c.opened > 0:
		return c.errorf(column, "'-' inside ( ), which is one instant")
	case r == '(' && c.opened > 0:
		return c.errorf(column, "a second '(', while that of position %d is open", c.opened)
	case r == '(':
		c.group, c.opened, c.filled = c.at, column, false
	case r == ')' && c.opened == 0:
		return c.errorf(column, "')' without a '('")
	case r == ')' && !c.filled:
		return c.errorf(column, "nothing inside ( )")
	case r == ')':
		c.opened = 0
	}
	c.at += Frame
	return nil
}

// progress returns the time written at the cursor, and the number of its characters, without the space after it; 0 if
// there is none.
func (c *cursor) progress() (d time.Duration, n int) {
	if c.i > 0 && !unicode.IsSpace(c.text[c.i-1]) || !unicode.IsDigit(c.text[c.i]) {
		return 0, 0
	}
	m := progression.FindStringSubmatch(string(c.text[c.i:]))
	if m == nil {
		return 0, 0
	}
	x, _ := strconv.ParseFloat(m[1], 64)
	unit := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute}[m[2]]
	return time.Duration(min(x*float64(unit)+0.5, 2*float64(Longest))), len(m[1]) + len(m[2])
}

// errorf returns an error that points at a column.
func (c *cursor) errorf(column int, format string, args ...any) error {
	return fmt.Errorf("%q, position %d: %s\n    %s\n    %*s", string(c.text), column, fmt.Sprintf(format, args...), string(c.text), column, "^")
}
