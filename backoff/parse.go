package backoff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	return fmt.Sprintf("backoff: Parse: %q at column %d: %s", e.Word, e.Column(), e.Reason)
}

// Column returns the character of Text at which Word begins, counted from 1.
func (e *ParseError) Column() int {
	return utf8.RuneCountInString(e.Text[:e.Offset]) + 1
}

// Parse reads a Backoff from its text form, which String returns; see the package comment for the grammar. Words may
// come in any order, separated by any white space, and names may be in upper case. The error is a *ParseError, which
// quotes the wrong word and its place and says what is allowed.
//
// A language with additional words removes its own words from the text, puts spaces in their place, and passes the rest
// to Parse: then the places in errors are those of the whole text.
func Parse(s string) (Backoff, error) {
	all := words.Split(s)
	at, wrong := curveOf(all)
	if wrong == nil {
		var b Backoff
		if b, wrong = parse(all, at); wrong == nil {
			return b, nil
		}
	}
	wrong.Text = s
	return Backoff{}, wrong
}

// wrong returns the error for a word.
func wrong(w words.Word, reason string, args ...any) *ParseError {
	return &ParseError{Word: w.Text, Offset: w.Offset, Reason: fmt.Sprintf(reason, args...)}
}

// curveOf returns the index of the word that names the curve.
func curveOf(all []words.Word) (at int, _ *ParseError) {
	at = -1
	oneOf := "want one of " + words.List(curveNames, "or")
	for i, w := range all {
		switch k := curveNamed(w.Key); {
		case k == unknown:
		case k == function:
			return i, wrong(w, "a func has no text form, %s", oneOf)
		case w.Assigned:
			return i, wrong(w, "a curve takes no value, want %s", usage(k))
		case at >= 0:
			return i, wrong(w, "a second curve, after %q; want one only", all[at].Text)
		default:
			at = i
		}
	}
	if at >= 0 {
		return at, nil
	}
	for i, w := range all { // a bare word was probably meant as a curve
		if !w.Assigned && !slices.Contains(modifiers, w.Key) {
			err := wrong(w, "unknown curve, %s", oneOf)
			err.Names = curveNames
			return i, err
		}
	}
	return -1, &ParseError{Reason: "names no curve, " + oneOf}
}

// parse reads all words; all[curve] names the curve.
func parse(all []words.Word, curve int) (Backoff, *ParseError) {
	k := curveNamed(all[curve].Key)
	allowed := slices.Concat(curves[k].Parameters, modifiers)
	takes := fmt.Sprintf("%s takes %s", curves[k].Name, words.List(allowed, "and"))
	given := map[string]words.Word{}
	for i, w := range all {
		first, again := given[w.Key]
		bare := notations[w.Key].example == ""
		switch {
		case i == curve:
			continue
		case w.Key == "":
			return Backoff{}, wrong(w, "no key before the =; %s", takes)
		case !slices.Contains(allowed, w.Key):
			err := wrong(w, "unknown word; %s", takes)
			err.Names = allowed
			return Backoff{}, err
		case again:
			return Backoff{}, wrong(w, "a second %s, after %q; want one only", w.Key, first.Text)
		case bare && w.Assigned:
			return Backoff{}, wrong(w, "%s takes no value", w.Key)
		case !bare && w.Value == "":
			return Backoff{}, wrong(w, "%s has no value, want %s", w.Key, form(w.Key))
		}
		given[w.Key] = w
	}
	b := Backoff{kind: k}
	for i, key := range allowed {
		w, ok := given[key]
		if !ok && i < len(curves[k].Parameters) {
			return Backoff{}, wrong(all[curve], "has no %s, want %s", key, usage(k))
		}
		if !ok {
			continue
		}
		if err := notations[key].parse(&b, w.Value, "want "+form(key)); err != nil {
			return Backoff{}, wrong(w, "%v", err)
		}
	}
	return b, nil
}

// usage is an example of the curve's words.
func usage(k kind) string {
	text := []string{curves[k].Name}
	for _, name := range curves[k].Parameters {
		text = append(text, Word{name, notations[name].example}.String())
	}
	return strconv.Quote(strings.Join(text, " "))
}

// form returns an example of a word with a value.
func form(key string) string { return fmt.Sprintf("as in %q", Word{key, notations[key].example}) }
