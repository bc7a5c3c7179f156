package retry

import (
	"errors"
	"fmt"
	"slices"
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
//	budget=10,1,0.1       WithBudget(NewBudget(10, 1, 0.1)); a fourth number is Refill's
//
// as in "exponential base=100ms factor=2 cap=30s jitter=full limit=5 within=1m". A budget belongs to the policy that is
// returned, and to its copies: to share one among several policies, give WithBudget instead. Options without a text
// form, such as hooks and clocks, are given as opts, which are applied last. The error wraps a *backoff.ParseError,
// which has the wrong word and its place.
func Parse(text string, opts ...Option) (Policy, error) {
	c := *zero
	rest, seen := text, map[string]bool{}
	for _, field := range words.Split(text) {
		i := slices.IndexFunc(optionWords, func(w word) bool { return w.name == field.Key })
		if i < 0 {
			continue
		}
		err := optionWords[i].read(&c, field.Value)
		if seen[field.Key] {
			err = fmt.Errorf("a second %s, want one only", field.Key)
		}
		if err != nil {
			return Policy{}, &parseError{&backoff.ParseError{Text: text, Word: field.Text, Offset: field.Offset, Reason: err.Error()}}
		}
		seen[field.Key] = true
		end := field.Offset + len(field.Text)
		rest = rest[:field.Offset] + strings.Repeat(" ", len(field.Text)) + rest[end:] // the other words keep their places
	}
	b, err := backoff.Parse(rest)
	if wrong, ok := errors.AsType[*backoff.ParseError](err); ok {
		wrong.Text = text // with the policy's own words
		if wrong.Names != nil {
			var own []string
			for _, w := range optionWords {
				own = append(own, w.name)
			}
			wrong.Names = slices.Concat(wrong.Names, own)
			wrong.Reason += " (a policy also takes " + words.List(own, "and") + ")"
		}
		return Policy{}, &parseError{wrong}
	}
	return Policy{&c}.With(WithBackoff(b)).With(opts...), nil
}

// parseError is a *backoff.ParseError in this package's form.
type parseError struct{ wrong *backoff.ParseError }

func (e *parseError) Error() string {
	return "retry: " + strings.TrimPrefix(e.wrong.Error(), "backoff: ")
}
func (e *parseError) Unwrap() error { return e.wrong }

// Words returns the words of the policy's text form: those of its backoff, then the options that have a text form.
func (p Policy) Words() []backoff.Word {
	c := p.settings()
	all := c.backoff.Words()
	for _, w := range optionWords {
		if value := w.write(c); value != "" {
			all = append(all, backoff.Word{Name: w.name, Value: value})
		}
	}
	return all
}

// String returns the policy's text form, which Parse reads: the backoff and the options that have a text form.
func (p Policy) String() string {
	var text []string
	for _, w := range p.Words() {
		text = append(text, w.String())
	}
	return strings.Join(text, " ")
}

// MarshalText returns the text form. It fails if the backoff has none.
func (p Policy) MarshalText() ([]byte, error) { return p.AppendText(nil) }

// AppendText appends the text form to b.
func (p Policy) AppendText(b []byte) ([]byte, error) {
	if _, err := p.Backoff().MarshalText(); err != nil {
		return b, err
	}
	return append(b, p.String()...), nil
}

// UnmarshalText sets the backoff and the options that have a text form, as Parse does. An option without a word in text
// is cleared, except for a budget: it remains, as do options without a text form, such as hooks and clocks. A budget
// with the settings in text remains the same one. If text is wrong, p is unchanged.
func (p *Policy) UnmarshalText(text []byte) error {
	read, err := Parse(string(text))
	if err != nil {
		return err
	}
	c := *p.settings()
	for _, w := range optionWords {
		w.set(&c, read.config)
	}
	*p = Policy{&c}.With(WithBackoff(read.Backoff()))
	return nil
}

// word is an option that has a text form.
type word struct {
	name  string
	read  func(c *config, value string) error // the error says what is wrong, and what would be right
	write func(c *config) string              // "" if the option is not set
	set   func(c, from *config)
}

var optionWords = []word{
	countWord("limit", 0, func(c *config) *int { return &c.limit }),
	durationWord("within", 0, func(c *config) *time.Duration { return &c.within }),
	durationWord("stopat", 0, func(c *config) *time.Duration { return &c.stopAt }),
	durationWord("attempttimeout", 1, func(c *config) *time.Duration { return &c.attemptTimeout }),
	durationWord("resetafter", 1, func(c *config) *time.Duration { return &c.resetAfter }),
	countWord("resetafteritems", 1, func(c *config) *int64 { return &c.resetAfterItems }),
	durationWord("maxretryafter", 0, func(c *config) *time.Duration { return &c.maxRetryAfter }),
	{"budget", readBudget, writeBudget, setBudget},
}

func durationWord(name string, least time.Duration, field func(*config) *time.Duration) word {
	return optionWord(name, field, words.Duration, func(value string) (time.Duration, error) {
		d, err := words.ParseDuration(value, fmt.Sprintf("want as in %q", name+"=30s"))
		if err == nil && d < least {
			err = fmt.Errorf("%s is %s, want more than 0", name, value)
		}
		return d, err
	})
}

func countWord[N int | int64](name string, least N, field func(*config) *N) word {
	return optionWord(name, field, func(n N) string { return strconv.FormatInt(int64(n), 10) }, func(value string) (N, error) {
		n, err := strconv.ParseInt(value, 10, strconv.IntSize)
		if err != nil || N(n) < least {
			err = fmt.Errorf("%s is %q, want a whole number of at least %d", name, value, least)
		}
		return N(n), err
	})
}

// optionWord is the word of a number that is negative if it is not set.
func optionWord[N int | int64 | time.Duration](name string, field func(*config) *N, format func(N) string, parse func(string) (N, error)) word {
	return word{
		name,
		func(c *config, value string) (err error) { *field(c), err = parse(value); return err },
		func(c *config) string {
			if n := *field(c); n >= 0 {
				return format(n)
			}
			return ""
		},
		func(c, from *config) { *field(c) = *field(from) },
	}
}

func readBudget(c *config, value string) error {
	const want = `want as in "budget=10,1,0.1": capacity, cost, refund, and optionally the tokens that flow in each second`
	var x [4]float64
	parts := strings.Split(value, ",")
	if n := len(parts); n != 3 && n != 4 {
		return fmt.Errorf("%q is not a budget, %s", value, want)
	}
	for i, name := range []string{"capacity", "cost", "refund", "refill"}[:len(parts)] {
		var err error
		if x[i], err = words.ParseNumber(name, parts[i], want); err != nil {
			return err
		}
	}
	if why := budgetWrong(x[0], x[1]); why != "" {
		return errors.New(why)
	}
	c.budget = NewBudget(x[0], x[1], x[2]).Refill(x[3])
	return nil
}

func writeBudget(c *config) string {
	if c.budget == nil {
		return ""
	}
	return c.budget.text()
}

func setBudget(c, from *config) {
	if writeBudget(from) != "" && writeBudget(from) != writeBudget(c) {
		c.budget = from.budget
	}
}
