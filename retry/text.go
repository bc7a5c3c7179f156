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
// hooks and clocks, are given as opts, which are applied last. The error quotes the wrong word and says what is
// allowed.
func Parse(text string, opts ...Option) (Policy, error) {
	var own []Option
	rest, seen := text, map[string]bool{}
	for _, field := range words.Split(text) {
		w, ok := findWord(field.Key)
		if !ok {
			continue
		}
		if seen[w.name] {
			return Policy{}, fmt.Errorf("retry: Parse: %q: %s is given twice, want it once", field.Text, w.name)
		}
		seen[w.name] = true
		option, want := w.parse(field.Value)
		if option == nil {
			return Policy{}, fmt.Errorf("retry: Parse: %q: want %s=%s", field.Text, w.name, want)
		}
		own = append(own, option)
		end := field.Offset + len(field.Text)
		rest = rest[:field.Offset] + strings.Repeat(" ", len(field.Text)) + rest[end:] // the other words keep their places
	}
	b, err := backoff.Parse(rest)
	if err != nil {
		hint := ""
		if wrong, ok := errors.AsType[*backoff.ParseError](err); ok {
			wrong.Text = text // the whole text, with the policy's own words
			name, _, _ := strings.Cut(wrong.Word, "=")
			if meant := words.Nearest(strings.ToLower(name), wordNames()); meant != "" {
				hint = fmt.Sprintf("did you mean %s? ", meant)
			}
		}
		why := strings.TrimPrefix(err.Error(), "backoff: Parse: ")
		return Policy{}, &wordError{fmt.Sprintf("retry: Parse: %s (%sa policy's own words are %s)", why, hint, strings.Join(wordNames(), ", ")), err}
	}
	return New(b, own...).With(opts...), nil
}

// wordError is an error of backoff.Parse in this package's form.
type wordError struct {
	text string
	err  error
}

func (e *wordError) Error() string { return e.text }
func (e *wordError) Unwrap() error { return e.err }

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
	parse  func(value string) (option Option, want string) // a nil option: the value is wrong
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
	want := "a duration of 0 or more, like 30s"
	if least > 0 {
		want = "a duration of more than 0, like 30s"
	}
	return word{
		name: name,
		parse: func(value string) (Option, string) {
			d, err := time.ParseDuration(value)
			if err != nil || d < least {
				return nil, want
			}
			return option(d), ""
		},
		format: func(c *config) (string, bool) { return words.Duration(get(c)), get(c) >= 0 },
	}
}

func countWord(name string, least int64, option func(int64) Option, get func(*config) int64) word {
	return word{
		name: name,
		parse: func(value string) (Option, string) {
			n, err := strconv.ParseInt(value, 10, strconv.IntSize)
			if err != nil || n < least {
				return nil, fmt.Sprintf("a whole number of %d or more", least)
			}
			return option(n), ""
		},
		format: func(c *config) (string, bool) { return strconv.FormatInt(get(c), 10), get(c) >= 0 },
	}
}
