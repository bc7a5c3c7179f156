package retry

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/words"
)

// Parse reads a policy's text form: the text form of a backoff (backoff.Parse) with any of the words of Words that are
// options: limit, within, stopat, attempttimeout, resetafter, resetafteritems, maxretryafter and budget (capacity,
// cost, refund, and optionally the number of Refill), as in "exponential base=100ms factor=2 cap=30s jitter=full
// limit=5 within=1m". A budget belongs to the policy that is returned, and to its copies: to share one among several
// policies, give WithBudget instead. Options without a text form, such as hooks and clocks, are given as opts, which
// are applied last. The error wraps a *backoff.ParseError, which has the wrong word and its place.
func Parse(text string, opts ...Option) (Policy, error) {
	p, err := parse(empty, text)
	if err != nil {
		return Policy{}, err
	}
	return p.With(opts...), nil
}

// parse returns the policy with the settings c and those of the text.
func parse(c config, text string) (Policy, error) {
	rest := bytes.Repeat([]byte(" "), len(text)) // the words of the backoff, at their places
	w, err := words.Read(&c, words.Split(text), notations, func(w words.Word) error {
		copy(rest[w.Offset:], w.Text)
		return nil
	})
	if err != nil {
		return Policy{}, &parseError{&backoff.ParseError{Text: text, Word: w.Text, Offset: w.Offset, Reason: err.Error()}}
	}
	b, err := backoff.Parse(string(rest))
	if wrong, ok := errors.AsType[*backoff.ParseError](err); ok {
		wrong.Text = text // with the policy's own words
		if wrong.Names != nil {
			own := words.Names(notations)
			wrong.Names = slices.Concat(wrong.Names, own)
			wrong.Reason += " (a policy also takes " + words.List(own, "and") + ")"
		}
		return Policy{}, &parseError{wrong}
	}
	return Policy{&c}.With(WithBackoff(b)), nil
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
	all := c.Backoff.Words()
	for _, n := range notations {
		if value, set := n.Format(c); set {
			all = append(all, backoff.Word{Name: n.Name, Value: value})
		}
	}
	return all
}

// String returns the policy's text form: the backoff and the options that have one. Parse reads it, unless the backoff
// has none.
func (p Policy) String() string { return words.Join(p.Words()) }

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
	read, err := parse(p.settings().cleared(), string(text))
	if err == nil {
		*p = read
	}
	return err
}

// notations contains the options that have a text form, as they are written and read.
var notations = func() (all []words.Notation[config]) {
	for _, s := range settings {
		all = append(all, s.notation())
	}
	return append(all, words.Of(ofBudget[0].Name, ofBudget[0].Example, formatBudget, parseBudget))
}()

func formatBudget(c *config) (string, bool) {
	if c.budget == nil {
		return "", false
	}
	return c.budget.text(), true
}

func parseBudget(c *config, value, want string) error {
	want += ": capacity, cost, refund, and optionally the tokens that flow in each second"
	parts := strings.Split(value, ",")
	if n := len(parts); n != 3 && n != 4 {
		return fmt.Errorf("%q is not a budget, %s", value, want)
	}
	var x [4]float64
	for i, name := range []string{"capacity", "cost", "refund", "refill"}[:len(parts)] {
		var err error
		if x[i], err = words.ParseNumber(name, parts[i], want); err != nil {
			return err
		}
	}
	if why := budgetWrong(x[0], x[1]); why != "" {
		return errors.New(why)
	}
	if read := NewBudget(x[0], x[1], x[2]).Refill(x[3]); c.budget == nil || c.budget.text() != read.text() {
		c.budget = read
	}
	return nil
}

// Word is a word of a policy's text form that does not belong to the curve. In Go and Sentence, {1}, {2} and so on are
// the parts of the word's value, which commas or colons separate.
type Word struct {
	Name     string // "limit"
	Example  string // a value, "5"; "" if the word has none
	Go       string // an option, "retry.Limit({1})", or a method of the backoff, ".Cap({1})"
	Sentence string // a part of a sentence, "an attempt of {1} or longer restarts the count"
}

// String returns the word with its example, as it stands in the text.
func (w Word) String() string { return backoff.Word{Name: w.Name, Value: w.Example}.String() }

// Words returns the words that may follow the curve's, in the order of the text form: those of the backoff, then the
// options. A word whose value has several forms is there once for each. The caller may change the result.
func Words() []Word {
	all := slices.Clone(ofBackoff)
	for _, s := range settings {
		all = append(all, s.word())
	}
	return append(all, ofBudget...)
}

// Describe returns the Word that has w's name and the form of its value, with w's value as its Example, and with what
// write returns for its parts in Go and Sentence. It reports whether there is one: not for a curve and its parameters.
func Describe(w backoff.Word, write func(part string) string) (Word, bool) {
	for _, found := range Words() {
		if found.Name != w.Name || form(w.Name, found.Example) != form(w.Name, w.Value) {
			continue
		}
		found.Example = w.Value
		if w.Value == "1" {
			found.Sentence = strings.Replace(found.Sentence, "retries", "retry", 1)
		}
		for i, part := range strings.FieldsFunc(w.Value, func(r rune) bool { return r == ',' || r == ':' }) {
			at := fmt.Sprintf("{%d}", i+1)
			for _, text := range []*string{&found.Go, &found.Sentence} {
				if strings.Contains(*text, at) {
					*text = strings.ReplaceAll(*text, at, write(part))
				}
			}
		}
		return found, true
	}
	return Word{}, false
}

// form returns what the values of one form have in common: a jitter's name, or the number of commas.
func form(name, value string) string {
	if name == "jitter" {
		name, _, _ = strings.Cut(value, ":")
		return name
	}
	return strings.Repeat(",", strings.Count(value, ","))
}

// ofBackoff are the words of package backoff.
var ofBackoff = []Word{
	{"plus", "1s", ".Plus({1})", "plus {1}"},
	{"cap", "30s", ".Cap({1})", "at most {1}"},
	{"jitter", "full", ".Jitter(jitter.Full)", "times a random factor from 0 to 1"},
	{"jitter", "equal", ".Jitter(jitter.Equal)", "times a random factor from 0.5 to 1"},
	{"jitter", "default", ".Jitter(jitter.Default)", "times a random factor from 0.85 to 1.15"},
	{"jitter", "deviation:0.3", ".Jitter(jitter.Deviation({2}))", "times a random factor of 1 ± {2}"},
	{"jitter", "uniform:0.5:1.5", ".Jitter(jitter.Uniform({2}, {3}))", "times a random factor from {2} to {3}"},
	{"jitter", "none", ".Jitter(jitter.None)", "without jitter"},
	{"tiled", "", ".Tiled()", "tiled: each operation keeps its place in every wait"},
	{"key", "42", ".Keyed({1})", "placed by the hash of the key {1}"},
	{"ordinal", "3", ".Ordinal({1})", "placed as member {1} of a numbered fleet"},
}

// ofBudget are the two forms of a budget.
var ofBudget = []Word{
	{"budget", "10,1,0.1", "retry.WithBudget(retry.NewBudget({1}, {2}, {3}))", "a budget of {1}: a retry costs {2}, a success refunds {3}"},
	{"budget", "10,1,0.1,2", "retry.WithBudget(retry.NewBudget({1}, {2}, {3}).Refill({4}))", "a budget of {1}: a retry costs {2}, a success refunds {3}, {4} flow in each second"},
}

// setting is an option that is a number. Its field of config is negative if it is not set.
type setting[N int64 | time.Duration] struct {
	option, argument string
	least            N
	field            func(*config) *N
	example          string
	sentence         string
}

var (
	theLimit           = setting[int64]{"Limit", "n", 0, func(c *config) *int64 { return &c.limit }, "5", "at most {1} retries"}
	theWithin          = setting[time.Duration]{"Within", "d", 0, func(c *config) *time.Duration { return &c.within }, "1m", "no retry later than {1} after the first failure"}
	theStopAt          = setting[time.Duration]{"StopAt", "d", 0, func(c *config) *time.Duration { return &c.stopAt }, "10s", "gives up when a wait before jitter would be {1} or more"}
	theAttemptTimeout  = setting[time.Duration]{"AttemptTimeout", "d", 1, func(c *config) *time.Duration { return &c.attemptTimeout }, "2s", "the context of each call ends after {1}"}
	theResetAfter      = setting[time.Duration]{"ResetAfter", "d", 1, func(c *config) *time.Duration { return &c.resetAfter }, "30s", "an attempt of {1} or longer restarts the count"}
	theResetAfterItems = setting[int64]{"ResetAfterItems", "n", 1, func(c *config) *int64 { return &c.resetAfterItems }, "1", "{1} or more delivered values restart the count"}
	theMaxRetryAfter   = setting[time.Duration]{"MaxRetryAfter", "d", 0, func(c *config) *time.Duration { return &c.maxRetryAfter }, "1h", "gives up when a server asks for more than {1}"}
)

// settings contains the options that are numbers, in the order of the text form.
var settings = []interface {
	clear(c *config)
	word() Word
	notation() words.Notation[config]
}{theLimit, theWithin, theStopAt, theAttemptTimeout, theResetAfter, theResetAfterItems, theMaxRetryAfter}

func (s setting[N]) clear(c *config) { *s.field(c) = -1 }

func (s setting[N]) word() Word {
	return Word{strings.ToLower(s.option), s.example, "retry." + s.option + "({1})", s.sentence}
}

// to returns the option that sets n. It panics if n is too small.
func (s setting[N]) to(n N) Option {
	if n < s.least {
		panicf(s.option, "%s is %v, want %s", s.argument, n, [...]string{"at least 0", "more than 0"}[s.least])
	}
	return func(c *config) { *s.field(c) = n }
}

// of returns the number, and whether it is set.
func (s setting[N]) of(p Policy) (N, bool) {
	n := *s.field(p.settings())
	return max(0, n), n >= 0
}

func (s setting[N]) notation() words.Notation[config] {
	name := s.word().Name
	switch field := any(s.field).(type) {
	case func(*config) *time.Duration:
		return words.DurationOf(name, s.example, -1, time.Duration(s.least), field)
	case func(*config) *int64:
		return words.Of(name, s.example, func(c *config) (string, bool) { return fmt.Sprint(*field(c)), *field(c) >= 0 },
			func(c *config, value, _ string) (err error) {
				n := field(c)
				if *n, err = strconv.ParseInt(value, 10, 64); err != nil || *n < int64(s.least) {
					return fmt.Errorf("%s is %q, want a whole number of at least %d", name, value, s.least)
				}
				return nil
			})
	}
	panic("unreachable")
}
