package backoff

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/internal/words"
)

// ParseError is the error of Parse and UnmarshalText.
type ParseError struct {
	Text   string   // the text that was parsed
	Word   string   // the wrong word in it, "" if the text as a whole is wrong
	Offset int      // the byte index in Text at which Word begins
	Reason string   // what is wrong with it, and what would be right
	Names  []string // if Word has an unknown name: the names that are allowed there
}

// Error returns the place, what is wrong there, and what would be right. Columns count characters, from 1.
func (e *ParseError) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("backoff: Parse: %q: %s", e.Text, e.Reason)
	}
	column := utf8.RuneCountInString(e.Text[:e.Offset]) + 1
	return fmt.Sprintf("backoff: Parse: %q at column %d: %s", e.Word, column, e.Reason)
}

// Parse reads a Backoff from its text form, which String returns; see the package comment for the grammar. Words may
// come in any order, separated by any white space, and names may be in upper case. The error is a *ParseError, which
// quotes the wrong word and its place and says what is allowed.
//
// To add words of your own to a text, overwrite them with spaces before you pass the text to Parse: then the places in
// errors are still those of the whole text.
func Parse(s string) (Backoff, error) {
	b, wrong := parse(words.Split(s))
	if wrong != nil {
		wrong.Text = s
		return Backoff{}, wrong
	}
	return b, nil
}

// wrong returns the error for a word.
func wrong(w words.Word, reason string, names ...string) *ParseError {
	return &ParseError{Word: w.Text, Offset: w.Offset, Reason: reason, Names: names}
}

// curveOf returns the index of the word that names the curve.
func curveOf(all []words.Word) (int, *ParseError) {
	at, guess := -1, -1
	oneOf := "want one of " + words.List(curveNames, "or")
	for i, w := range all {
		switch k, is := curveNamed(w.Key); {
		case !is:
			if guess < 0 && !w.Assigned && !slices.Contains(words.Names(modifiers), w.Key) {
				guess = i // a bare word was probably meant as a curve
			}
		case k == function:
			return i, wrong(w, "a func has no text form, "+oneOf)
		case w.Assigned:
			return i, wrong(w, "a curve takes no value, want "+usage(k))
		case at >= 0:
			return i, wrong(w, fmt.Sprintf("a second curve, after %q; want one only", all[at].Text))
		default:
			at = i
		}
	}
	switch {
	case at >= 0:
		return at, nil
	case guess >= 0:
		return -1, wrong(all[guess], "unknown curve, "+oneOf, curveNames...)
	default:
		return -1, &ParseError{Reason: "names no curve, " + oneOf}
	}
}

// parse reads all words.
func parse(all []words.Word) (b Backoff, _ *ParseError) {
	at, err := curveOf(all)
	if err != nil {
		return b, err
	}
	curve, others := all[at], slices.Delete(slices.Clone(all), at, at+1)
	b.kind, _ = curveNamed(curve.Key)
	notations := b.kind.notations()
	var allowed []string // set if a word is unknown
	w, why := words.Read(&b, others, notations, func(w words.Word) error {
		names := words.Names(notations)
		takes := curve.Key + " takes " + words.List(names, "and")
		if w.Key == "" {
			return errors.New("no key before the =; " + takes)
		}
		allowed = names
		return errors.New("unknown word; " + takes)
	})
	if why != nil {
		return b, wrong(w, why.Error(), allowed...)
	}
	for _, name := range curves[b.kind].Parameters {
		if !slices.ContainsFunc(others, func(w words.Word) bool { return w.Key == name }) {
			return b, wrong(curve, "has no "+name+", want "+usage(b.kind))
		}
	}
	return b, nil
}

// usage is an example of the curve's words.
func usage(k kind) string {
	all := []Word{{Name: curves[k].Name}}
	for _, name := range curves[k].Parameters {
		all = append(all, Word{name, parameters[name].Example})
	}
	return strconv.Quote(words.Join(all))
}
