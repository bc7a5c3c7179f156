package ending_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/retrywhen/retrywhen/internal/ending"
)

func TestIsPermanent(t *testing.T) {
	plain := errors.New("plain")
	for _, test := range []struct {
		name   string
		err    error
		marked bool
	}{
		{"nil", nil, false},
		{"no mark", plain, false},
		{"a mark at the top", ending.Permanent(plain), true},
		{"a mark below", fmt.Errorf("outside: %w", ending.Permanent(plain)), true},
		{"a mark in a joined error", errors.Join(errors.New("other"), ending.Permanent(plain)), true},
		{"two marks", ending.Permanent(ending.Permanent(plain)), true},
	} {
		if got := ending.IsPermanent(test.err); got != test.marked {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
	if ending.Permanent(nil) != nil {
		t.Error("Permanent(nil) is not nil")
	}
	if once := ending.Permanent(plain); ending.Permanent(once) != once {
		t.Error("a second mark at the top adds something")
	}
	if err := ending.Permanent(plain); !errors.Is(err, plain) {
		t.Error("the mark hides the error")
	}
	if got := fmt.Sprintf("%v", ending.Permanent(plain)); got != "plain" {
		t.Errorf("the text is %q", got)
	}
}
