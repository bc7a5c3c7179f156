package permanent_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/retrywhen/retrywhen/internal/permanent"
)

func TestStrip(t *testing.T) {
	plain := errors.New("plain")
	wrapped := fmt.Errorf("outside: %w", permanent.Mark(plain))
	joined := errors.Join(errors.New("other"), permanent.Mark(plain))
	for _, test := range []struct {
		name      string
		err, seen error
		marked    bool
	}{
		{"no mark", plain, plain, false},
		{"a mark at the top", permanent.Mark(plain), plain, true},
		{"a mark below", wrapped, wrapped, true},
		{"a mark beside", joined, joined, true},
		{"two marks", permanent.Mark(permanent.Mark(plain)), plain, true},
	} {
		seen, marked := permanent.Strip(test.err)
		if marked != test.marked || seen != test.seen {
			t.Errorf("%s: got %v, %v; want %v, %v", test.name, seen, marked, test.seen, test.marked)
		}
	}
	if permanent.Mark(nil) != nil {
		t.Error("Mark(nil) is not nil")
	}
}
