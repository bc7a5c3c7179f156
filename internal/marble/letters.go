package marble

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
