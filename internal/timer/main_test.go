package timer_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }
