package permanent_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/retrywhen/retrywhen/internal/permanent"
)

func TestIs(t *testing.T) {
	plain := errors.New("plain")
	for _, test := range []struct {
		name   string
		err    error
		marked bool
	}{
		{"nil", nil, false},
		{"no mark", plain, false},
		{"a mark at the top", permanent.Mark(plain), true},
		{"a mark below", fmt.Errorf("outside: %w", permanent.Mark(plain)), true},
		{"a mark in a joined error", errors.Join(errors.New("other"), permanent.Mark(plain)), true},
		{"two marks", permanent.Mark(permanent.Mark(plain)), true},
	} {
		if got := permanent.Is(test.err); got != test.marked {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
	if permanent.Mark(nil) != nil {
		t.Error("Mark(nil) is not nil")
	}
	if once := permanent.Mark(plain); permanent.Mark(once) != once {
		t.Error("a second mark at the top adds something")
	}
	if err := permanent.Mark(plain); !errors.Is(err, plain) {
		t.Error("the mark hides the error")
	}
	if got := fmt.Sprintf("%v", permanent.Mark(plain)); got != "plain" {
		t.Errorf("the text is %q", got)
	}
}
