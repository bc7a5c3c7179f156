package retry_test

import (
	"math"
	"testing"

	"github.com/retrywhen/retrywhen/retry"
)

func TestBudgetAdd(t *testing.T) {
	b := retry.NewBudget(10, 1, 0)
	for _, step := range []struct{ add, want float64 }{{5, 10}, {-4, 6}, {1.5, 7.5}, {-100, 0}, {100, 10}, {0, 10}} {
		if b.Add(step.add); b.Tokens() != step.want {
			t.Errorf("Add(%v): the budget holds %v, want %v", step.add, b.Tokens(), step.want)
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Add(%v) did not panic", bad)
				}
			}()
			b.Add(bad)
		}()
	}
}
