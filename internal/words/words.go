// Package words reads and writes the words of the text forms of backoffs and policies. Each word is a name or a
// key=value. White space separates them.
package words

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Word is one word of a text.
type Word struct {
	Text       string
	Offset     int // the byte of the text at which it begins
	Key, Value string
	Assigned   bool // there is a = between them
}

// Split splits a text at its white space. Keys are in lower case.
func Split(text string) (all []Word) {
	at := 0
	for field := range strings.FieldsSeq(text) {
		at += strings.Index(text[at:], field)
		w := Word{Text: field, Offset: at}
		w.Key, w.Value, w.Assigned = strings.Cut(field, "=")
		w.Key = strings.ToLower(w.Key)
		all = append(all, w)
		at += len(field)
	}
	return all
}

// Join writes words with spaces between them.
func Join[W fmt.Stringer](all []W) string {
	text := make([]string, len(all))
	for i, w := range all {
		text[i] = w.String()
	}
	return strings.Join(text, " ")
}

// List writes names as "a, b and c".
func List(names []string, and string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + and + " " + names[len(names)-1]
}

// Duration returns d's text without the zeros at its end: 1m, not 1m0s.
func Duration(d time.Duration) string {
	s := d.String()
	for _, end := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, end) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// ParseDuration reads a duration of 0 or more. Its error says what is wrong. If the value is not a duration, the error
// ends with want, such as "want a duration".
func ParseDuration(value, want string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	switch {
	case err == nil && d >= 0:
		return d, nil
	case err == nil:
		return 0, fmt.Errorf("%s is negative, want a duration of at least 0", value)
	case value == "":
		return 0, fmt.Errorf("an empty duration, %s", want)
	}
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return 0, fmt.Errorf("%s has no unit, %s", value, want)
	}
	if _, err := time.ParseDuration(digits.Replace(value)); err == nil { // valid, except that the numbers are too large
		return 0, fmt.Errorf("%s is past the largest duration, %v", value, time.Duration(math.MaxInt64))
	}
	return 0, fmt.Errorf("%q is not a duration, %s", value, want)
}

// digits replaces each digit by 0.
var digits = strings.NewReplacer("1", "0", "2", "0", "3", "0", "4", "0", "5", "0", "6", "0", "7", "0", "8", "0", "9", "0")

// ParseNumber reads a finite number of 0 or more. Its error says what is wrong with the number of that name. If the
// value is not a number, the error ends with want.
func ParseNumber(name, value, want string) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is not a number, %s", value, want)
	}
	return Number(name, x)
}

// Number returns x, and 0 for a negative zero. It fails if x is negative, infinite or NaN.
func Number(name string, x float64) (float64, error) {
	if !(x >= 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("%s is %v, want a finite number >= 0", name, x)
	}
	return x + 0, nil
}
