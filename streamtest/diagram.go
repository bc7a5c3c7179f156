package streamtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// frame is the time that one character of a diagram stands for.
const frame = time.Millisecond

// longest is as long as a diagram may last: a hundred years.
const longest = 100 * 365 * 24 * time.Hour

// kind is what a mark of a diagram stands for.
type kind uint8

const (
	value kind = iota
	ended
	failed
)

// mark is one event of a diagram.
type mark struct {
	at     time.Duration
	kind   kind
	letter string // of a value
	column int    // of the diagram, from 1
}

// diagram is a parsed marble diagram.
type diagram struct {
	text  string
	marks []mark
	spans time.Duration // the time that the whole diagram stands for, from the instant 0
}

// over reports whether the diagram has an end or an error.
func (d diagram) over() bool {
	return len(d.marks) > 0 && d.marks[len(d.marks)-1].kind != value
}

// subscription is a parsed subscription diagram.
type subscription struct {
	from, to time.Duration
	open     bool // no "!": to means nothing
	never    bool // no "^": there is none
}

// syntax is what an unknown character is answered with.
const syntax = "a diagram is made of - (a frame of 1ms), letters and digits (values), ( ) around what comes at one instant, | (the end), # (an error), ^ and ! (subscribe, unsubscribe), and times such as 10ms, 1.5s or 2m with spaces around them"

// cursor goes through the characters of a diagram and keeps the time.
type cursor struct {
	text   []rune
	i      int
	at     time.Duration
	group  time.Duration // the instant of the group
	opened int           // the column of its "(", 0 outside
	filled bool          // the group holds something
}

var progression = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(ms|s|m)(\s|$)`)

// next returns the next character that is an event, with its instant; ok is false at the end. Frames, spaces, groups
// and times are dealt with here.
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
				if c.at += d; c.at > longest {
					return 0, 0, 0, false, c.errorf(column, "the diagram lasts longer than %v", longest)
				}
				c.i += n
				continue
			}
		}
		c.i++
		now := c.at
		c.at += frame
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

// progress returns the time that stands at the cursor, and how many characters it takes, without the space after it.
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
	return time.Duration(min(d+0.5, 2*float64(longest))), len(m[1]) + len(m[2]), true
}

// errorf says what is wrong at a column, and points at it.
func (c *cursor) errorf(column int, format string, args ...any) error {
	return fmt.Errorf("%q, position %d: %s\n    %s\n    %*s", string(c.text), column, fmt.Sprintf(format, args...), string(c.text), column, "^")
}

// parse reads a diagram of values. In one of a hot source the instant 0 is at the "^", if there is one.
func parse(text string, hot bool) (diagram, error) {
	c := &cursor{text: []rune(text)}
	d := diagram{text: text}
	var zero time.Duration
	zeroed := 0
	for {
		r, at, column, ok, err := c.next()
		if err != nil {
			return d, err
		}
		if !ok {
			break
		}
		if d.over() && r != '^' {
			return d, c.errorf(column, "%q comes after the end at position %d", r, d.marks[len(d.marks)-1].column)
		}
		m := mark{at: at, column: column}
		switch {
		case r == '|':
			m.kind = ended
		case r == '#':
			m.kind = failed
		case r == '^' && !hot:
			return d, c.errorf(column, "'^' is for the diagrams of hot sources and of subscriptions")
		case r == '^' && zeroed > 0:
			return d, c.errorf(column, "a second '^', after that of position %d", zeroed)
		case r == '^':
			zero, zeroed = at, column
			continue
		case r == '!':
			return d, c.errorf(column, "'!' is for the diagrams of subscriptions")
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			m.letter = string(r)
		default:
			return d, c.errorf(column, "%q means nothing: %s", r, syntax)
		}
		d.marks = append(d.marks, m)
	}
	d.spans = c.at - zero
	for i := range d.marks {
		d.marks[i].at -= zero
	}
	return d, nil
}

// parseSubscription reads a subscription diagram.
func parseSubscription(text string) (subscription, error) {
	s, from, err := parseDuring(text)
	if err == nil && from == 0 && !s.open {
		err = fmt.Errorf("%q: there is no '^', which marks the subscription", text)
	}
	s.never = from == 0
	return s, err
}

// parseDuring reads a subscription diagram that need not have a "^", for which the instant 0 stands; from is the column
// of the "^".
func parseDuring(text string) (s subscription, from int, err error) {
	c := &cursor{text: []rune(text)}
	s.open = true
	for {
		r, at, column, ok, err := c.next()
		switch {
		case err != nil || !ok:
			return s, from, err
		case r == '^' && from > 0:
			return s, from, c.errorf(column, "a second '^', after that of position %d: write one diagram for each subscription", from)
		case r == '^' && !s.open:
			return s, from, c.errorf(column, "'!' before '^'")
		case r == '^':
			s.from, from = at, column
		case r == '!' && !s.open:
			return s, from, c.errorf(column, "a second '!'")
		case r == '!':
			s.to, s.open = at, false
		default:
			return s, from, c.errorf(column, "%q means nothing here: a subscription has - ^ ! ( ) and times such as 10ms", r)
		}
	}
}

// lines returns the diagrams of a text, one a line. Empty lines do not count.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	if all == nil {
		all = []string{""}
	}
	return all
}
