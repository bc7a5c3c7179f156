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
	Text   string // the text that was parsed
	Word   string // the wrong word in it, "" if the text as a whole is wrong
	Offset int    // the byte index in Text at which Word begins
	Reason string // what is wrong with it, and what would be right
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
	at, reason := curveOf(all)
	if reason != "" {
		return Backoff{}, wrong(s, all, at, reason)
	}
	b := Backoff{kind: curveNamed(all[at].Key)}
	given, at, reason := wordsOf(b.kind, all, at)
	if reason != "" {
		return Backoff{}, wrong(s, all, at, reason)
	}
	for _, key := range slices.Concat(curves[b.kind].keys, modifiers) {
		i, ok := given[key]
		if !ok {
			continue
		}
		if err := notations[key].parse(&b, all[i].Value, "want "+form(key)); err != nil {
			return Backoff{}, wrong(s, all, i, err.Error())
		}
	}
	return b, nil
}

// wrong returns the error for the word with the given index, or for the text if there is no such word.
func wrong(text string, all []words.Word, at int, reason string) error {
	if at < 0 {
		return &ParseError{Text: text, Reason: reason}
	}
	return &ParseError{Text: text, Word: all[at].Text, Offset: all[at].Offset, Reason: reason}
}

// curveOf returns the index of the word that names the curve, or the index of a wrong word and the reason.
func curveOf(all []words.Word) (at int, reason string) {
	at = -1
	for i, w := range all {
		switch k := curveNamed(w.Key); {
		case k == unknown:
		case k == function:
			return i, "a func has no text form, want one of " + words.List(curveNames, "or")
		case w.Assigned:
			return i, "a curve takes no value, want " + usage(k)
		case at >= 0:
			return i, fmt.Sprintf("a second curve, after %q; want one only", all[at].Text)
		default:
			at = i
		}
	}
	if at >= 0 {
		return at, ""
	}
	for i, w := range all { // a bare word was probably meant as a curve
		if !w.Assigned && !slices.Contains(modifiers, w.Key) {
			hint := ", "
			if s := words.Nearest(w.Key, curveNames); s != "" {
				hint = fmt.Sprintf("; did you mean %s? ", s)
			}
			return i, "unknown curve" + hint + "want one of " + words.List(curveNames, "or")
		}
	}
	return -1, "names no curve, want one of " + words.List(curveNames, "or")
}

// wordsOf returns the indices of the words other than the curve's name by their keys, or a wrong word and the reason.
func wordsOf(k kind, all []words.Word, curve int) (given map[string]int, at int, reason string) {
	allowed := slices.Concat(curves[k].keys, modifiers)
	takes := fmt.Sprintf("%s takes %s", curves[k].name, words.List(allowed, "and"))
	given = map[string]int{}
	for i, w := range all {
		first, again := given[w.Key]
		bare := notations[w.Key].example == ""
		switch {
		case i == curve:
			continue
		case w.Key == "":
			return nil, i, "no key before the =; " + takes
		case !slices.Contains(allowed, w.Key):
			hint := ""
			if s := words.Nearest(w.Key, allowed); s != "" {
				hint = fmt.Sprintf("did you mean %s? ", s)
			}
			return nil, i, "unknown word; " + hint + takes
		case again:
			return nil, i, fmt.Sprintf("a second %s, after %q; want one only", w.Key, all[first].Text)
		case bare && w.Assigned:
			return nil, i, w.Key + " takes no value"
		case !bare && w.Value == "":
			return nil, i, fmt.Sprintf("%s has no value, want %s", w.Key, form(w.Key))
		}
		given[w.Key] = i
	}
	for _, key := range curves[k].keys {
		if _, ok := given[key]; !ok {
			return nil, curve, fmt.Sprintf("has no %s, want %s", key, usage(k))
		}
	}
	return given, -1, ""
}

// unknown is the kind that no curve has.
const unknown kind = 255

// curveNamed is the curve of that name.
func curveNamed(name string) kind {
	for k := range curves {
		if curves[k].name == name {
			return kind(k)
		}
	}
	return unknown
}

// curveNames are the names of the curves that can be parsed.
var curveNames = func() (names []string) {
	for _, c := range curves[:function] {
		names = append(names, c.name)
	}
	return names
}()

// usage is an example of the curve's words.
func usage(k kind) string {
	var s strings.Builder
	s.WriteString(curves[k].name)
	for _, key := range curves[k].keys {
		s.WriteString(" " + key + "=" + notations[key].example)
	}
	return strconv.Quote(s.String())
}

// form returns an example of a word with a value.
func form(key string) string { return fmt.Sprintf("as in %q", key+"="+notations[key].example) }
