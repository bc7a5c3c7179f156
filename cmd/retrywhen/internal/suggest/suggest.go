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
func Nearest(word string, names []string) string {
	best, least := "", len(word)/3+2
	for _, name := range names {
		if d := levenshtein.ComputeDistance(word, name); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}
