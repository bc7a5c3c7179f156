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
	"unicode"
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
	for at := 0; ; {
		rest := strings.TrimLeftFunc(text[at:], unicode.IsSpace)
		if rest == "" {
			return all
		}
		w := Word{Text: rest, Offset: len(text) - len(rest)}
		if end := strings.IndexFunc(rest, unicode.IsSpace); end >= 0 {
			w.Text = rest[:end]
		}
		w.Key, w.Value, w.Assigned = strings.Cut(w.Text, "=")
		w.Key = strings.ToLower(w.Key)
		all = append(all, w)
		at = w.Offset + len(w.Text)
	}
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
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
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
	small := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '0'
		}
		return r
	}, value)
	if _, err := time.ParseDuration(small); err == nil { // valid, except that the numbers are too large
		return 0, fmt.Errorf("%s is past the largest duration, %v", value, time.Duration(math.MaxInt64))
	}
	return 0, fmt.Errorf("%q is not a duration, %s", value, want)
}

// Number returns x, and 0 for a negative zero. It fails if x is negative, infinite or NaN.
func Number(name string, x float64) (float64, error) {
	if !(x >= 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("%s is %v, want a finite number >= 0", name, x)
	}
	return x + 0, nil
}

// ParseNumber reads a finite number of 0 or more. Its error says what is wrong with the number of that name. If the
// value is not a number, the error ends with want.
func ParseNumber(name, value, want string) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is not a number, %s", value, want)
	}
	return Number(name, x)
}
