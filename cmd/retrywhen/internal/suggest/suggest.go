// Package suggest finds the name that was probably meant.
package suggest

import (
	"errors"
	"fmt"
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

// WithWord returns err with the suggestion of Word, if there is one.
func WithWord(err error) error {
	if near := Word(err); near != "" {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
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
