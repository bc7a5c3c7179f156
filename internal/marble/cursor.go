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
	text    []rune
	i       int
	at      time.Duration
	group   time.Duration // the instant of the group
	bracket int           // the column of its "(", 0 outside a group
	filled  bool          // the group is not empty

	// The current character, as next has found it:
	r       rune
	column  int
	instant time.Duration
	err     error // why there is no other one
}

func newCursor(text string) *cursor { return &cursor{text: []rune(text)} }

var progression = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(ms|s|m)(\s|$)`)

// next goes to the next character that is an event, and reports whether there is one. It handles frames, spaces, groups
// and times.
func (c *cursor) next() bool {
	for c.err == nil && c.i < len(c.text) {
		c.r, c.instant, c.column = c.text[c.i], c.at, c.i+1
		switch d, n := c.progress(); {
		case n > 0 && c.bracket > 0:
			c.err = c.errorf("a time inside ( )")
		case n > 0:
			c.i += n
			if c.at += d; c.at > Longest {
				c.err = c.errorf("the diagram lasts longer than %v", Longest)
			}
		case unicode.IsSpace(c.r):
			c.i++
		case c.r == '-' || c.r == '(' || c.r == ')':
			c.i++
			c.err = c.frame()
		default:
			c.i++
			c.at += Frame
			if c.bracket > 0 {
				c.instant, c.filled = c.group, true
			}
			return true
		}
	}
	if c.err == nil && c.bracket > 0 {
		c.column = c.bracket
		c.err = c.errorf("'(' without a ')'")
	}
	return false
}

// frame passes a frame without an event: "-" or a bracket.
func (c *cursor) frame() error {
	switch {
	case c.r == '-' && c.bracket > 0:
		return c.errorf("'-' inside ( ), which is one instant")
	case c.r == '(' && c.bracket > 0:
		return c.errorf("a second '(', while that of position %d is open", c.bracket)
	case c.r == '(':
		c.group, c.bracket, c.filled = c.at, c.column, false
	case c.r == ')' && c.bracket == 0:
		return c.errorf("')' without a '('")
	case c.r == ')' && !c.filled:
		return c.errorf("nothing inside ( )")
	case c.r == ')':
		c.bracket = 0
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

// errorf returns an error that points at the current character.
func (c *cursor) errorf(format string, args ...any) error {
	text := string(c.text)
	return fmt.Errorf("%q, position %d: %s\n    %s\n    %*s", text, c.column, fmt.Sprintf(format, args...), text, c.column, "^")
}
