package suggest_test

import (
	"errors"
	"testing"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/suggest"
)

func TestNearest(t *testing.T) {
	names := []string{"exponential", "constant", "linear", "cap", "d"}
	for word, want := range map[string]string{
		"expnential": "exponential", "exponentail": "exponential", "constnt": "constant", "liner": "linear", "linear": "linear",
		"cpa": "cap", "caps": "cap", "x": "", "": "", "delay": "", "something else": "",
	} {
		if got := suggest.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

// A third of the word and one letter may differ, but not the whole name. If two names are equally near, the first wins.
func TestNearest_HowNear(t *testing.T) {
	for _, c := range []struct {
		word  string
		names []string
		want  string
	}{
		{"abcdef", []string{"abcuvw"}, "abcuvw"},
		{"abcdef", []string{"abuvwx"}, ""},
		{"abcde", []string{"abcuv"}, "abcuv"},
		{"abcde", []string{"abuvw"}, ""},
		{"abcdef", []string{"abc"}, ""},
		{"abcdefg", []string{"abcd"}, "abcd"},
		{"rat", []string{"cat", "bat"}, "cat"},
		{"rat", []string{"cut", "bat"}, "bat"},
	} {
		if got := suggest.Nearest(c.word, c.names); got != c.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", c.word, c.names, got, c.want)
		}
	}
}

func TestWord(t *testing.T) {
	for text, want := range map[string]string{
		"exponential base=1s FCTOR=2": "factor", "expnential base=1s": "exponential", "linear d=1s unrelated=2": "", "linear d=x": "",
	} {
		_, err := backoff.Parse(text)
		after := ""
		if want != "" {
			after = "; did you mean " + want + "?"
		}
		if got, with := suggest.Word(err), suggest.WithWord(err); got != want || with.Error() != err.Error()+after {
			t.Errorf("%s: %q, %v, want %q", text, got, with, want)
		}
	}
	if got := suggest.Word(errors.ErrUnsupported); got != "" {
		t.Errorf("%q for another error", got)
	}
}
