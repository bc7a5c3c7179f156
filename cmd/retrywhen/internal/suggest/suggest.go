// Package suggest finds the name that was probably meant.
package suggest

import (
	"errors"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/retrywhen/retrywhen/backoff"
)

// Word returns the name that is most similar to the wrong word of a policy's text, or "" if none is near.
func Word(err error) string {
	wrong, ok := errors.AsType[*backoff.ParseError](err)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(strings.ToLower(wrong.Word), "=")
	return Nearest(name, wrong.Names)
}

// wrong is an error of a policy's text, with another text.
type wrong struct {
	error
	text string
}

func (w wrong) Error() string { return w.text }
func (w wrong) Unwrap() error { return w.error }

// WithWord returns err without the function that it begins with, and with the suggestion of Word, if there is one.
func WithWord(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "retry: Parse: ")
	if near := Word(err); near != "" {
		text += "; did you mean " + near + "?"
	}
	return wrong{err, text}
}

// Nearest returns the name that word most likely means, or "" if none is near.
func Nearest(word string, names []string) string { return Within(len(word)/3+1, word, names) }

// Within returns the name that is nearest to word, at most so many letters away and not all of them, or "".
func Within(most int, word string, names []string) string {
	best, least := "", min(most, len(word)-1)+1
	for _, name := range names {
		if d := levenshtein.ComputeDistance(word, name); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}
