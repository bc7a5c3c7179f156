package goroutine_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/goroutine"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestCount_OutsideOfABubble(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	goroutine.Count()
}
