package marble

import (
	"time"
)

// Subscription is a subscription diagram.
type Subscription struct {
	From, To time.Duration
	Open     bool // there is no "!", so To has no meaning
	Never    bool // there is no "^"
}

// ParseSubscription reads a subscription diagram. If it has a "!" but no "^", From is 0.
func ParseSubscription(text string) (s Subscription, err error) {
	c := &cursor{text: []rune(text)}
	s.Open, s.Never = true, true
	begin := 0
	for {
		r, at, column, ok, err := c.next()
		switch {
		case err != nil || !ok:
			return s, err
		case r == '^' && begin > 0:
			return s, c.errorf(column, "a second '^', after that of position %d: write one diagram for each subscription", begin)
		case r == '^' && !s.Open:
			return s, c.errorf(column, "'!' before '^'")
		case r == '^':
			s.From, s.Never, begin = at, false, column
		case r == '!' && !s.Open:
			return s, c.errorf(column, "a second '!'")
		case r == '!':
			s.To, s.Open = at, false
		default:
			return s, c.errorf(column, "%q has no meaning here: a subscription has - ^ ! ( ) and times such as 10ms", r)
		}
	}
}
