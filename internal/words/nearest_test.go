package words_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/words"
)

func TestNearest(t *testing.T) {
	names := []string{"exponential", "constant", "linear", "cap", "d"}
	for word, want := range map[string]string{
		"expnential": "exponential", "exponentail": "exponential", "constnt": "constant", "liner": "linear", "linear": "linear",
		"cpa": "cap", "caps": "cap", "x": "", "": "", "delay": "", "something else": "",
	} {
		if got := words.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
