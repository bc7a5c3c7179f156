package retry

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/words"
)

// Parse reads a policy's text form: the text form of a backoff (backoff.Parse) with any of these words:
//
//	limit=5               Limit
//	within=1m             Within
//	stopat=10s            StopAt
//	attempttimeout=2s     AttemptTimeout
//	resetafter=30s        ResetAfter
//	resetafteritems=1     ResetAfterItems
//	maxretryafter=1h      MaxRetryAfter
//
// as in "exponential base=100ms factor=2 cap=30s jitter=full limit=5 within=1m". Options without a text form, such as
// hooks and clocks, are given as opts, which are applied last. The error wraps a *backoff.ParseError, which has the
// wrong word and its place.
func Parse(text string, opts ...Option) (Policy, error) {
	var own []Option
	rest, seen := text, map[string]bool{}
	for _, field := range words.Split(text) {
		w, ok := findWord(field.Key)
		if !ok {
			continue
		}
		option, err := w.parse(field.Value)
		if seen[w.name] {
			err = fmt.Errorf("a second %s, want one only", w.name)
		}
		if err != nil {
			return Policy{}, &wordError{backoff.ParseError{Text: text, Word: field.Text, Offset: field.Offset, Reason: err.Error()}, ""}
		}
		seen[w.name] = true
		own = append(own, option)
		end := field.Offset + len(field.Text)
		rest = rest[:field.Offset] + strings.Repeat(" ", len(field.Text)) + rest[end:] // the other words keep their places
	}
	b, err := backoff.Parse(rest)
	if wrong, ok := errors.AsType[*backoff.ParseError](err); ok {
		hint := ""
		if strings.HasPrefix(wrong.Reason, "unknown") {
			name, _, _ := strings.Cut(wrong.Word, "=")
			if meant := words.Nearest(strings.ToLower(name), wordNames()); meant != "" {
				hint = fmt.Sprintf("did you mean %s? ", meant)
			}
			hint = fmt.Sprintf(" (%sa policy also takes %s)", hint, words.List(wordNames(), "and"))
		}
		wrong.Text = text // with the policy's own words
		return Policy{}, &wordError{*wrong, hint}
	}
	return New(b, own...).With(opts...), nil
}

// wordError is a *backoff.ParseError in this package's form.
type wordError struct {
	wrong backoff.ParseError
	hint  string
}

func (e *wordError) Error() string {
	return "retry: Parse: " + strings.TrimPrefix(e.wrong.Error(), "backoff: Parse: ") + e.hint
}

func (e *wordError) Unwrap() error { return &e.wrong }

// String returns the policy's text form, which Parse reads: the backoff and the options that have a text form.
func (p Policy) String() string {
	c := p.settings()
	return string(c.appendWords([]byte(c.backoff.String())))
}

// MarshalText returns the text form. It fails if the backoff has none.
func (p Policy) MarshalText() ([]byte, error) { return p.AppendText(nil) }

// AppendText appends the text form to b.
func (p Policy) AppendText(b []byte) ([]byte, error) {
	c := p.settings()
	text, err := c.backoff.MarshalText()
	if err != nil {
		return b, err
	}
	return c.appendWords(append(b, text...)), nil
}

// UnmarshalText sets the backoff and the options that have a text form, as Parse does. An option without a word in text
// is cleared. Options without a text form, such as hooks and clocks, remain. If text is wrong, p is unchanged.
func (p *Policy) UnmarshalText(text []byte) error {
	read, err := Parse(string(text))
	if err != nil {
		return err
	}
	c := *p.settings()
	from := read.settings()
	c.backoff, c.draws = from.backoff, from.draws
	c.limit, c.within, c.stopAt, c.maxRetryAfter = from.limit, from.within, from.stopAt, from.maxRetryAfter
	c.attemptTimeout, c.resetAfter, c.resetAfterItems = from.attemptTimeout, from.resetAfter, from.resetAfterItems
	*p = Policy{&c}.With()
	return nil
}

func (c *config) appendWords(b []byte) []byte {
	for _, w := range optionWords {
		if value, set := w.format(c); set {
			b = append(append(append(append(b, ' '), w.name...), '='), value...)
		}
	}
	return b
}

// word is an option that has a text form.
type word struct {
	name   string
	parse  func(value string) (Option, error) // the error says what is wrong, and what would be right
	format func(c *config) (value string, set bool)
}

var optionWords = []word{
	countWord("limit", 0, func(n int64) Option { return Limit(int(n)) }, func(c *config) int64 { return int64(c.limit) }),
	durationWord("within", 0, Within, func(c *config) time.Duration { return c.within }),
	durationWord("stopat", 0, StopAt, func(c *config) time.Duration { return c.stopAt }),
	durationWord("attempttimeout", 1, AttemptTimeout, func(c *config) time.Duration { return c.attemptTimeout }),
	durationWord("resetafter", 1, ResetAfter, func(c *config) time.Duration { return c.resetAfter }),
	countWord("resetafteritems", 1, ResetAfterItems, func(c *config) int64 { return c.resetAfterItems }),
	durationWord("maxretryafter", 0, MaxRetryAfter, func(c *config) time.Duration { return c.maxRetryAfter }),
}

func findWord(name string) (word, bool) {
	for _, w := range optionWords {
		if w.name == name {
			return w, true
		}
	}
	return word{}, false
}

func wordNames() []string {
	names := make([]string, len(optionWords))
	for i, w := range optionWords {
		names[i] = w.name
	}
	return names
}

func durationWord(name string, least time.Duration, option func(time.Duration) Option, get func(*config) time.Duration) word {
	return word{
		name: name,
		parse: func(value string) (Option, error) {
			d, err := words.ParseDuration(value, fmt.Sprintf("want as in %q", name+"=30s"))
			if err == nil && d < least {
				err = fmt.Errorf("%s is %s, want more than 0", name, value)
			}
			if err != nil {
				return nil, err
			}
			return option(d), nil
		},
		format: func(c *config) (string, bool) { return words.Duration(get(c)), get(c) >= 0 },
	}
}

func countWord(name string, least int64, option func(int64) Option, get func(*config) int64) word {
	return word{
		name: name,
		parse: func(value string) (Option, error) {
			n, err := strconv.ParseInt(value, 10, strconv.IntSize)
			if err != nil || n < least {
				return nil, fmt.Errorf("%s is %q, want a whole number of at least %d", name, value, least)
			}
			return option(n), nil
		},
		format: func(c *config) (string, bool) { return strconv.FormatInt(get(c), 10), get(c) >= 0 },
	}
}
