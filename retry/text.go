package retry

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

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
