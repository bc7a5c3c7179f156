package marble

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// legend assigns letters to values.
type legend[T any] struct {
	values map[string]T // letters that are given
	found  []meaning[T] // letters that are drawn
}

type meaning[T any] struct {
	letter string
	value  T
}

// row returns the row of events. It continues until an instant, unless it has an end.
func (l *legend[T]) row(events []Event[T], until time.Duration) row {
	r := row{until: until}
	if Over(events) {
		r.until = 0
	}
	for _, e := range events {
		r.glyphs = append(r.glyphs, glyph{e.At, l.symbol(e)})
	}
	return r
}

// symbol returns the character for an event: for a value its own letter, or one that is found.
func (l *legend[T]) symbol(e Event[T]) string {
	switch e.Kind {
	case End:
		return "|"
	case Failure:
		return "#"
	}
	letter := e.letter
	if letter == "" {
		letter = l.letterOf(e.Value)
	}
	if m := (meaning[T]{letter, e.Value}); !slices.ContainsFunc(l.found, m.equal) {
		l.found = append(l.found, m)
	}
	return letter
}

func (m meaning[T]) equal(other meaning[T]) bool {
	return m.letter == other.letter && reflect.DeepEqual(m.value, other.value)
}

// letterOf returns the letter of a value, or a free one.
func (l *legend[T]) letterOf(v T) string {
	for _, m := range l.found {
		if reflect.DeepEqual(m.value, v) {
			return m.letter
		}
	}
	for _, k := range slices.Sorted(maps.Keys(l.values)) {
		if reflect.DeepEqual(l.values[k], v) {
			return k
		}
	}
	free := func(letter string) bool {
		_, given := l.values[letter]
		return !given && !slices.ContainsFunc(l.found, func(m meaning[T]) bool { return m.letter == letter })
	}
	if text := fmt.Sprint(v); isLetter(text) && free(text) {
		return text
	}
	for r := 'A'; r <= 'Z'; r++ {
		if free(string(r)) {
			return string(r)
		}
	}
	return "?"
}

// lines explains the letters whose value is not the letter itself.
func (l *legend[T]) lines() (all []string) {
	for _, m := range l.found {
		if fmt.Sprint(m.value) != m.letter {
			all = append(all, fmt.Sprintf("%s = %s", m.letter, Show(m.value)))
		}
	}
	return all
}

// checkLetters returns an error if a key of the values is not a letter.
func checkLetters[T any](values map[string]T) error {
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if !isLetter(k) {
			return fmt.Errorf("%q is a key of the values, want single letters or digits", k)
		}
	}
	return nil
}

// isLetter reports whether a text is one letter or digit.
func isLetter(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n > 0 && n == len(text) && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// valueOf returns the value of a letter.
func valueOf[T any](letter string, values map[string]T) (T, error) {
	v, ok := values[letter]
	if !ok {
		v, ok = itself(v, letter)
	}
	if ok {
		return v, nil
	}
	only := ""
	if len(values) > 0 {
		only = ", only " + strings.Join(slices.Sorted(maps.Keys(values)), " ")
	}
	hint := ""
	if strings.Contains("0123456789ms", letter) {
		hint = "; a time such as 10ms needs a space, or the diagram's start or end, on both sides"
	}
	return v, fmt.Errorf("the values have no %q%s; without a map[string]%v of values letters stand for themselves in streams of strings, and digits in those of integers%s",
		letter, only, reflect.TypeFor[T](), hint)
}

// itself returns the letter as a value of a string type, or a digit as one of an integer type.
func itself[T any](like T, letter string) (T, bool) {
	v := reflect.ValueOf(&like).Elem()
	switch {
	case v.Kind() == reflect.String:
		v.SetString(letter)
	case v.Kind() == reflect.Interface && v.NumMethod() == 0:
		v.Set(reflect.ValueOf(letter))
	case letter < "0" || letter > "9":
		return like, false
	case v.CanInt():
		v.SetInt(int64(letter[0] - '0'))
	case v.CanUint():
		v.SetUint(uint64(letter[0] - '0'))
	default:
		return like, false
	}
	return like, true
}
