package streamtest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// letters says what the letters of diagrams stand for.
type letters[T any] struct {
	values map[string]T // one that is not in it stands for itself
}

// newLetters takes the optional map of values that every function with diagrams has.
func newLetters[T any](values []map[string]T) (letters[T], error) {
	switch {
	case len(values) > 1:
		return letters[T]{}, fmt.Errorf("%d maps of values, want at most 1", len(values))
	case len(values) == 1 && values[0] != nil:
		for _, k := range slices.Sorted(maps.Keys(values[0])) {
			if !isLetter(k) {
				return letters[T]{}, fmt.Errorf("%q is a key of the values, want single letters or digits", k)
			}
		}
		return letters[T]{values[0]}, nil
	}
	var zero T
	if _, ok := itself(zero, "1"); !ok {
		return letters[T]{}, fmt.Errorf("no values: letters stand for themselves in streams of strings only, and digits in those of integers; pass a map[string]%v", reflect.TypeFor[T]())
	}
	return letters[T]{}, nil
}

// isLetter reports whether a text is one letter or digit.
func isLetter(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n > 0 && n == len(text) && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// value returns what a letter stands for.
func (l letters[T]) value(letter string) (T, error) {
	if l.values == nil {
		var zero T
		if v, ok := itself(zero, letter); ok {
			return v, nil
		}
		return zero, fmt.Errorf("%q is no digit; letters need a map[string]%v of values", letter, reflect.TypeFor[T]())
	}
	v, ok := l.values[letter]
	if !ok {
		v, ok = itself(v, letter)
	}
	if !ok {
		hint := ""
		if strings.Contains("0123456789ms", letter) {
			hint = "; a time such as 10ms needs a space, or the diagram's start or end, on both sides"
		}
		return v, fmt.Errorf("the values have no %q, only %s%s", letter, strings.Join(slices.Sorted(maps.Keys(l.values)), " "), hint)
	}
	return v, nil
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

// resolve looks up the values of a diagram's marks; those of other marks are zero.
func resolve[T any](d diagram, l letters[T]) ([]T, error) {
	all := make([]T, len(d.marks))
	for i, m := range d.marks {
		if m.kind != value {
			continue
		}
		v, err := l.value(m.letter)
		if err != nil {
			return nil, (&cursor{text: []rune(d.text)}).errorf(m.column, "%v", err)
		}
		all[i] = v
	}
	return all, nil
}
